import { type ObjectType, v } from "convex/values";
import type { Doc, Host, HostCtx, HostQueryCtx, MutationCtx } from "./context.js";
import { whichOf } from "./limits/limits.js";
import { findLine, limitedRow } from "./limits/lines.js";
import { leaveQueueCanceled } from "./queue.js";
import { hasRoom, ROOM_TO_COMPLETE } from "./room.js";
import { setAside } from "./set-aside.js";
import { LATE_MS } from "./times.js";

/* Ends works that have waited for as long as they may: see wait-timers.ts. */

export const endWaitsArgs = {
  until: v.number(),
  /** Also all that waited until an earlier time. */
  andEarlier: v.optional(v.boolean()),
};

/** Fails the works that have waited for as long as they may. */
export async function endWaits(
  ctx: HostCtx,
  host: Host,
  { until, andEarlier = false }: ObjectType<typeof endWaitsArgs>,
): Promise<void> {
  const from = andEarlier ? 0 : until;
  for (let wait = await firstIn(ctx, from, until); wait !== null;) {
    if (!(await hasRoom(ctx, ROOM_TO_COMPLETE)))
      return void (await ctx.scheduler.runAfter(0, host.functions.endWaits, { until, andEarlier }));
    await endOne(ctx, host, wait);
    wait = await firstIn(ctx, from, until);
  }
}

/** Fails the works whose timers were lost. The watchdog calls it. */
export async function endLateWaits(ctx: HostCtx, { functions }: Host): Promise<void> {
  const until = Date.now() - LATE_MS;
  if ((await firstIn(ctx, 0, until)) === null) return;
  await ctx.scheduler.runAfter(0, functions.endWaits, { until, andEarlier: true });
}

async function firstIn(ctx: HostQueryCtx, from: number, to: number): Promise<Doc<"waits"> | null> {
  return await ctx.db
    .query("waits")
    .withIndex("by_until", (q) => q.gte("until", from).lte("until", to))
    .first();
}

async function endOne(ctx: HostCtx, host: Host, { _id, work }: Doc<"waits">): Promise<void> {
  const what = await waitedFor(ctx, work);
  // It takes its row along; without one, this would come to it again and again.
  if ((await leaveQueueCanceled(ctx, host, work)) === null)
    return await ctx.db.delete("waits", _id);
  try {
    await host.waitedTooLong(ctx, work, what);
  } catch (error) {
    if (!(await hasRoom(ctx, ROOM_TO_COMPLETE))) throw error;
    await setAside(ctx, work, error);
  }
}

/** Returns what a work waits for, for a message. */
async function waitedFor(ctx: MutationCtx, work: string): Promise<string> {
  const row = await limitedRow(ctx, work);
  const line = row === null ? null : await findLine(ctx, row.line);
  if (line === null) return "for a slot of the pool";
  const { name, key } = whichOf(line.blockedBy);
  return `for the limit "${name}"${key === undefined ? "" : ` of "${key}"`}`;
}
