import { type ObjectType, v } from "convex/values";
import type { Host, HostCtx, HostQueryCtx, QueryCtx, Work } from "../context.js";
import { readGate } from "../gate.js";
import { poolTx } from "../transaction.js";
import { joinedHere, mostWaiting } from "./joined.js";
import { LimitError } from "./limit-error.js";
import { permitOfRate, whichOf } from "./limits.js";
import { lineOf, linesBlockedBy } from "./lines.js";

/*
 * A limit may say how many works wait for it at most, or for one of its keys. Then a start is
 * refused that would have to wait too. Nobody counts them: a stale snapshot is read, and what has
 * joined in the same transaction.
 */

/**
 * Refuses works that were just enqueued, all together, if too many wait.
 * @param started those of them that do not wait. @throws a LimitError if it refuses them.
 */
export async function refuseIfTooManyWait(
  ctx: HostCtx,
  host: Host,
  works: readonly Work[],
  started: readonly Work[],
): Promise<void> {
  if (started.length === works.length) return;
  const gate = poolTx(ctx).gate ?? (await readGate(ctx));
  if (gate === null) return;
  const isStarted = new Set(started.map(({ work }) => work));
  const added = new Map<string, { count: number; lines: Set<string> }>();
  for (const each of works)
    for (const permit of each.permits ?? []) {
      if (isStarted.has(each.work) || mostWaiting(gate, permit) === undefined) continue;
      const { count = 0, lines = new Set<string>() } = added.get(permit) ?? {};
      added.set(permit, { count: count + 1, lines: lines.add(lineOf(gate, each)) });
    }
  for (const [permit, { count, lines }] of added) {
    const most = mostWaiting(gate, permit) ?? Infinity;
    let here = 0;
    for (const line of lines) here += await joinedHere(ctx, line);
    // Those with a priority are not among them.
    const own = Math.max(count, here);
    const args = { permit, lines: [...lines], most: Math.max(0, most - own) + 1 };
    const before = await ctx.runQuery(host.functions.countWaiting, args, {
      useStaleSnapshot: true,
    });
    if (before + own <= most) continue;
    const { name, key } = whichOf(permit);
    throw new LimitError({ limit: name, key, waiting: before + own - count });
  }
}

export const countWaitingArgs = {
  permit: v.string(),
  /** Lines that may wait for another permit meanwhile. */
  lines: v.array(v.string()),
  most: v.number(),
};

/**
 * Lines whose works have gone on, or were canceled, stay for a while: so many are looked at too.
 */
const MOST_EMPTY = 500;

/**
 * Returns how many works wait for a permit: for one of it, its rate, or a slot; `most` at the most.
 */
export async function countWaiting(
  ctx: HostQueryCtx,
  { permit, lines: own, most }: ObjectType<typeof countWaitingArgs>,
): Promise<number> {
  const queries: QueryCtx["db"] = ctx.db;
  const among = new Set(own);
  for (const full of [permit, permitOfRate(permit)])
    for (const { line } of await linesBlockedBy(ctx, full, most + MOST_EMPTY)) among.add(line);
  let count = 0;
  for (const line of among) {
    const inLine = queries.query("limited").withIndex("by_line", (q) => q.eq("line", line));
    count += (await inLine.take(most - count)).length;
    const inQueue = queries.query("waiting").withIndex("by_group", (q) => q.eq("group", line));
    count += (await inQueue.take(most - count)).length;
    if (count >= most) return most;
  }
  return count;
}
