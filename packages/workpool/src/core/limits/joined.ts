import type { Gate, MutationCtx, QueryCtx, Work } from "../context.js";
import { knownGate } from "../gate.js";
import { whichOf } from "./limits.js";

/*
 * If a limit says how many works wait for it at most, those of one transaction count each other,
 * whatever calls they came in. A row that has no time yet is of this transaction, and comes after
 * all others. So a look at these conflicts with nobody, though others join the same line.
 */

/** What the time of a commit counts as before the commit. */
const NOT_YET = 2n ** 63n - 1n;

/** The most works that wait for a permit; undefined if there may be any number. */
export function mostWaiting({ limits = {} }: Gate, permit: string): number | undefined {
  const { name, key } = whichOf(permit);
  const limit = limits[name];
  return (limit?.perKey === undefined) === (key === undefined) ? limit?.maxWaiting : undefined;
}

async function lastInLine(ctx: QueryCtx, line: string): Promise<number> {
  const own = ctx.db
    .query("limited")
    .withIndex("by_line", (q) => q.eq("line", line).gte("at", NOT_YET));
  return (await own.order("desc").first())?.nth ?? 0;
}

async function lastInQueue(ctx: QueryCtx, line: string): Promise<number> {
  const own = ctx.db
    .query("waiting")
    .withIndex("by_group", (q) => q.eq("group", line).gte("at", NOT_YET));
  return (await own.order("desc").first())?.nth ?? 0;
}

/** How many works have joined a line in this transaction, or the queue for it. */
export async function joinedHere(ctx: QueryCtx, line: string): Promise<number> {
  return (await lastInLine(ctx, line)) + (await lastInQueue(ctx, line));
}

/** Returns the number of a work in its line in this transaction, from 1, if that must be known. */
export async function nthHere(
  ctx: MutationCtx,
  { permits = [], at }: Work,
  line: string,
  isInQueue: boolean,
): Promise<number | undefined> {
  // With a priority it has a time, as those of other transactions have.
  if (permits.length === 0 || at !== undefined) return undefined;
  const gate = await knownGate(ctx);
  if (permits.every((permit) => mostWaiting(gate, permit) === undefined)) return undefined;
  return 1 + (await (isInQueue ? lastInQueue : lastInLine)(ctx, line));
}
