/* eslint-disable */
/**
 * Generated `api` utility.
 *
 * THIS CODE IS AUTOMATICALLY GENERATED.
 *
 * To regenerate, run `npx convex dev`.
 * @module
 */
import {
  anyApi,
  type ApiFromModules,
  componentsGeneric,
  type FilterApi,
  type FunctionReference,
} from "convex/server";
import type * as cancelAll from "../cancelAll.js";
import type * as complete from "../complete.js";
import type * as config from "../config.js";
import type * as continuations from "../continuations.js";
import type * as delayed from "../delayed.js";
import type * as enqueue from "../enqueue.js";
import type * as events from "../events.js";
import type * as host from "../host.js";
import type * as lib from "../lib.js";
import type * as limits from "../limits.js";
import type * as recovery from "../recovery.js";
import type * as reports from "../reports.js";
import type * as executor from "../executor.js";
import type * as fields from "../schema.js";
import type * as setAside from "../setAside.js";
import type * as settling from "../settling.js";
import type * as views from "../views.js";
import type * as watchdog from "../watchdog.js";
import type * as work from "../work.js";
import type * as worker from "../worker.js";

const fullApi: ApiFromModules<{
  cancelAll: typeof cancelAll;
  complete: typeof complete;
  config: typeof config;
  continuations: typeof continuations;
  delayed: typeof delayed;
  enqueue: typeof enqueue;
  events: typeof events;
  executor: typeof executor;
  host: typeof host;
  lib: typeof lib;
  limits: typeof limits;
  recovery: typeof recovery;
  reports: typeof reports;
  setAside: typeof setAside;
  settling: typeof settling;
  watchdog: typeof watchdog;
  views: typeof views;
  work: typeof work;
  worker: typeof worker;
}> = anyApi as any;

/**
 * A utility for referencing Convex functions in your app's public API.
 *
 * Usage:
 * ```js
 * const myFunctionReference = api.myModule.myFunction;
 * ```
 */
export const api: FilterApi<typeof fullApi, FunctionReference<any, "public">> = anyApi as any;

/**
 * A utility for referencing Convex functions in your app's internal API.
 *
 * Usage:
 * ```js
 * const myFunctionReference = internal.myModule.myFunction;
 * ```
 */
export const internal: FilterApi<
  typeof fullApi,
  FunctionReference<any, "internal">
> = anyApi as any;

export const components = componentsGeneric() as unknown as {};
