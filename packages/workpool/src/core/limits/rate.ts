import { type Infer, v } from "convex/values";
import { checkFields } from "../given.js";
import { isPlain, literalText } from "../literal.js";
import { YEAR_MS } from "../times.js";

/*
 * How often works of a limit start: a token bucket (GCRA). `fullAt` is the time at which the bucket
 * is full again. Each start moves it on by what that start takes to come back.
 */

export const vRate = v.object({
  /** How many works start in each `per`. */
  limit: v.number(),
  /** Ms, or text such as `"1m"`. */
  per: v.union(v.number(), v.string()),
  /** How many may start at once after a quiet time. Default: `limit`. */
  burst: v.optional(v.number()),
  /** With `"works"`, only the first attempt of a work counts. Default: `"attempts"`. */
  count: v.optional(v.union(v.literal("attempts"), v.literal("works"))),
});
/** How many works of a limit start in a time: `{ limit: 500, per: "1m" }`. */
export type Rate = Infer<typeof vRate>;

/**
 * Works that have waited start in groups, so often; a bucket holds at least two of these.
 */
export const ROUND_MS = 250;

/** In ms. */
const UNITS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  second: 1_000,
  m: 60_000,
  minute: 60_000,
  h: 3_600_000,
  hour: 3_600_000,
  d: 86_400_000,
  day: 86_400_000,
  week: 7 * 86_400_000,
};

/** A time in ms; NaN if it is none. */
function msOf(per: number | string): number {
  if (typeof per !== "string") return typeof per === "number" ? per : NaN;
  const [, amount, unit = ""] = /^(\d+(?:\.\d+)?) ?([a-z]+)$/.exec(per) ?? [];
  const single = Object.hasOwn(UNITS, unit) ? unit : unit.replace(/s$/, "");
  return Number(amount) * (UNITS[single] ?? NaN);
}

/** @throws if a number or the time is not allowed. */
export function checkRate(name: string, rate: Rate): void {
  if (!isPlain(rate))
    throw new Error(
      `The rate of the limit "${name}" is ${literalText(rate)}: write { limit: 500, per: "1m" }`,
    );
  checkFields(`The rate of the limit "${name}"`, rate, vRate);
  const { limit = 0, per, burst, count = "works" } = rate;
  if (count !== "attempts" && count !== "works")
    throw new Error(
      `The rate.count of the limit "${name}" is ${literalText(count)}: it must be "attempts" or "works"`,
    );
  for (const [field, value] of Object.entries({ limit, burst }))
    if (value !== undefined && !(Number.isSafeInteger(value) && value > 0))
      throw new Error(
        `The rate.${field} of the limit "${name}" is ${literalText(value)}: it must be a whole number above 0`,
      );
  const ms = msOf(per);
  // Of less, a burst could not be counted.
  if (!(ms >= 1 && ms <= YEAR_MS))
    throw new Error(
      `The rate.per of the limit "${name}" is ${literalText(per)}: it must be a number of ms from 1, or text such as "1m", and a year at most`,
    );
}

/** How long one takes to come back, in ms, and how many there are at most. */
export interface Pace {
  readonly everyMs: number;
  readonly burst: number;
}

export function paceOf({ limit, per, burst = limit }: Rate): Pace {
  const everyMs = msOf(per) / limit;
  return { everyMs, burst: Math.max(burst, Math.ceil((2 * ROUND_MS) / everyMs)) };
}

/** A bucket as it is stored: how many were taken at a time, so that the pace may change. */
export interface Stored {
  readonly taken: number;
  readonly at: number;
}

/**
 * Returns when a bucket is full again; now, if it is. If the clock went back, nothing has come back
 * until the bucket is next written.
 */
export function fullAtOf({ everyMs }: Pace, bucket: Stored | null, now: number): number {
  return bucket === null ? now : Math.max(now, Math.min(bucket.at, now) + bucket.taken * everyMs);
}

/**
 * Returns how many of those that were taken have not come back. It is exact at the moment of a
 * start.
 */
export function takenAt({ everyMs }: Pace, bucket: Stored | null, now: number): number {
  return bucket === null ? 0 : Math.max(0, bucket.taken - Math.max(0, now - bucket.at) / everyMs);
}

/** Fractions of a ms are not exact: a time holds about 0.0002 of one. */
const NEARLY_MS = 0.001;

/**
 * Returns when a start that takes so many may come. One that takes more than there are waits for
 * all.
 */
export function mayStartAt({ everyMs, burst }: Pace, fullAt: number, cost: number): number {
  return fullAt - (burst - Math.min(cost, burst)) * everyMs - NEARLY_MS;
}

/** Returns how many there are now; below zero if more was taken than there were. */
export function leftOf({ everyMs, burst }: Pace, fullAt: number, now: number): number {
  return Math.floor(burst - (fullAt - now) / everyMs + NEARLY_MS);
}
