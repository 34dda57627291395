/* eslint-disable */
/**
 * Generated `api` utility.
 *
 * THIS CODE IS AUTOMATICALLY GENERATED.
 *
 * To regenerate, run `npx convex dev`.
 * @module
 */
import type * as children from "../children.js";
import type * as config from "../config.js";
import type * as deadlines from "../deadlines.js";
import type * as ending from "../ending.js";
import type * as entering from "../entering.js";
import type * as events from "../events.js";
import type * as folding from "../folding.js";
import type * as forgetting from "../forgetting.js";
import type * as inserting from "../inserting.js";
import type * as lib from "../lib.js";
import type * as line from "../line.js";
import type * as listing from "../listing.js";
import type * as looking from "../looking.js";
import type * as pausing from "../pausing.js";
import type * as removing from "../removing.js";
import type * as repairing from "../repairing.js";
import type * as reporting from "../reporting.js";
import type * as restarting from "../restarting.js";
import type * as retention from "../retention.js";
import type * as steering from "../steering.js";
import type * as stranded from "../stranded.js";
import type * as timeline from "../timeline.js";
import type * as tolerance from "../tolerance.js";
import type * as views from "../views.js";
import type * as waking from "../waking.js";
import type * as watchdog from "../watchdog.js";

import type { ApiFromModules, FilterApi, FunctionReference } from "convex/server";
import { anyApi, componentsGeneric } from "convex/server";

const fullApi: ApiFromModules<{
  children: typeof children;
  config: typeof config;
  deadlines: typeof deadlines;
  ending: typeof ending;
  entering: typeof entering;
  events: typeof events;
  folding: typeof folding;
  forgetting: typeof forgetting;
  inserting: typeof inserting;
  lib: typeof lib;
  line: typeof line;
  listing: typeof listing;
  looking: typeof looking;
  pausing: typeof pausing;
  removing: typeof removing;
  repairing: typeof repairing;
  reporting: typeof reporting;
  restarting: typeof restarting;
  retention: typeof retention;
  steering: typeof steering;
  stranded: typeof stranded;
  timeline: typeof timeline;
  tolerance: typeof tolerance;
  views: typeof views;
  waking: typeof waking;
  watchdog: typeof watchdog;
}> = anyApi as any;

/**
 * A utility for referencing Convex functions in your app's public API.
 */
export const api: FilterApi<typeof fullApi, FunctionReference<any, "public">> = anyApi as any;

/**
 * A utility for referencing Convex functions in your app's internal API.
 */
export const internal: FilterApi<
  typeof fullApi,
  FunctionReference<any, "internal">
> = anyApi as any;

export const components = componentsGeneric() as unknown as {};
