/* eslint-disable */
/**
 * Generated `api` utility.
 *
 * THIS CODE IS AUTOMATICALLY GENERATED.
 *
 * To regenerate, run `npx convex dev`.
 * @module
 */
import type * as attempt from "../attempt.js";
import type * as callback from "../callback.js";
import type * as cancel from "../cancel.js";
import type * as cancelAll from "../cancelAll.js";
import type * as cancelMany from "../cancelMany.js";
import type * as complete from "../complete.js";
import type * as config from "../config.js";
import type * as continuations from "../continuations.js";
import type * as counts from "../counts.js";
import type * as enqueue from "../enqueue.js";
import type * as enqueueFields from "../enqueueFields.js";
import type * as events from "../events.js";
import type * as eventsReport from "../eventsReport.js";
import type * as figures from "../figures.js";
import type * as host from "../host.js";
import type * as largeValues from "../largeValues.js";
import type * as lib from "../lib.js";
import type * as log from "../log.js";
import type * as recovery from "../recovery.js";
import type * as report from "../report.js";
import type * as setAside from "../setAside.js";
import type * as settling from "../settling.js";
import type * as startTime from "../startTime.js";
import type * as status from "../status.js";
import type * as tallies from "../tallies.js";
import type * as watchdog from "../watchdog.js";
import type * as views from "../views.js";
import type * as viewsRows from "../viewsRows.js";
import type * as work from "../work.js";
import type * as worker from "../worker.js";

import type { ApiFromModules, FilterApi, FunctionReference } from "convex/server";
import { anyApi, componentsGeneric } from "convex/server";

const fullApi: ApiFromModules<{
  attempt: typeof attempt;
  callback: typeof callback;
  cancel: typeof cancel;
  cancelAll: typeof cancelAll;
  cancelMany: typeof cancelMany;
  complete: typeof complete;
  config: typeof config;
  continuations: typeof continuations;
  counts: typeof counts;
  enqueue: typeof enqueue;
  enqueueFields: typeof enqueueFields;
  events: typeof events;
  eventsReport: typeof eventsReport;
  figures: typeof figures;
  host: typeof host;
  largeValues: typeof largeValues;
  lib: typeof lib;
  log: typeof log;
  recovery: typeof recovery;
  report: typeof report;
  setAside: typeof setAside;
  settling: typeof settling;
  startTime: typeof startTime;
  status: typeof status;
  tallies: typeof tallies;
  watchdog: typeof watchdog;
  views: typeof views;
  viewsRows: typeof viewsRows;
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
