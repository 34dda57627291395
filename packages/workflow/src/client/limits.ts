import { type SteeredName, timeOf } from "@stepwise/workpool/core";
import type { Registered } from "../definition/limits.js";
import { type Duration, durationMs } from "../rules.js";

/**
 * A limit of the app's config, or `"maxParallelism"` for the whole app. Without a config, any
 * string.
 */
export type SteeredLimit = string extends keyof Registered & string
  ? string
  : SteeredName<Registered>;

/** A date, ms since the epoch, or a string such as `"7 days"`, which counts from now. */
export type Until = Date | Duration;

export function untilTime(until: Until): number {
  return typeof until === "string" ? Date.now() + durationMs(until, "until") : timeOf(until);
}
