/* eslint-disable */
/**
 * Generated `api` utility.
 *
 * THIS CODE IS AUTOMATICALLY GENERATED.
 *
 * To regenerate, run `npx convex dev`.
 * @module
 */
import type * as callback from "../callback.js";
import type * as cancel from "../cancel.js";
import type * as complete from "../complete.js";
import type * as config from "../config.js";
import type * as enqueue from "../enqueue.js";
import type * as host from "../host.js";
import type * as largeValues from "../largeValues.js";
import type * as lib from "../lib.js";
import type * as report from "../report.js";
import type * as startTime from "../startTime.js";
import type * as status from "../status.js";
import type * as work from "../work.js";
import type * as worker from "../worker.js";

import type { ApiFromModules, FilterApi, FunctionReference } from "convex/server";
import { anyApi, componentsGeneric } from "convex/server";

const fullApi: ApiFromModules<{
  callback: typeof callback;
  cancel: typeof cancel;
  complete: typeof complete;
  config: typeof config;
  enqueue: typeof enqueue;
  host: typeof host;
  largeValues: typeof largeValues;
  lib: typeof lib;
  report: typeof report;
  startTime: typeof startTime;
  status: typeof status;
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
