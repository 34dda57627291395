/* eslint-disable */
/**
 * Generated `api` utility.
 *
 * THIS CODE IS AUTOMATICALLY GENERATED.
 *
 * To regenerate, run `npx convex dev`.
 * @module
 */
import type * as bulk from "../bulk.js";
import type * as config from "../config.js";
import type * as engine_entry from "../engine/entry.js";
import type * as events from "../events.js";
import type * as executor from "../executor.js";
import type * as features_childPages from "../features/childPages.js";
import type * as features_children from "../features/children.js";
import type * as features_collecting from "../features/collecting.js";
import type * as features_concurrency from "../features/concurrency.js";
import type * as features_deadlines from "../features/deadlines.js";
import type * as features_ending from "../features/ending.js";
import type * as features_failing from "../features/failing.js";
import type * as features_iterations from "../features/iterations.js";
import type * as features_lost from "../features/lost.js";
import type * as features_passTurn from "../features/passTurn.js";
import type * as features_pause from "../features/pause.js";
import type * as features_repair from "../features/repair.js";
import type * as features_replacing from "../features/replacing.js";
import type * as features_restart from "../features/restart.js";
import type * as features_retention from "../features/retention.js";
import type * as lib from "../lib.js";
import type * as limits from "../limits.js";
import type * as listing from "../listing.js";
import type * as settle from "../settle.js";
import type * as steering from "../steering.js";
import type * as views from "../views.js";
import type * as waits from "../waits.js";
import type * as watchdog from "../watchdog.js";

import type { ApiFromModules, FilterApi, FunctionReference } from "convex/server";
import { anyApi, componentsGeneric } from "convex/server";

const fullApi: ApiFromModules<{
  bulk: typeof bulk;
  config: typeof config;
  "engine/entry": typeof engine_entry;
  events: typeof events;
  executor: typeof executor;
  "features/childPages": typeof features_childPages;
  "features/children": typeof features_children;
  "features/collecting": typeof features_collecting;
  "features/concurrency": typeof features_concurrency;
  "features/deadlines": typeof features_deadlines;
  "features/ending": typeof features_ending;
  "features/failing": typeof features_failing;
  "features/iterations": typeof features_iterations;
  "features/lost": typeof features_lost;
  "features/passTurn": typeof features_passTurn;
  "features/pause": typeof features_pause;
  "features/repair": typeof features_repair;
  "features/replacing": typeof features_replacing;
  "features/restart": typeof features_restart;
  "features/retention": typeof features_retention;
  lib: typeof lib;
  limits: typeof limits;
  listing: typeof listing;
  settle: typeof settle;
  steering: typeof steering;
  views: typeof views;
  waits: typeof waits;
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
