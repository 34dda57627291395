import { type ObjectType, v } from "convex/values";
import type { Doc, Host, HostCtx, HostQueryCtx, MutationCtx } from "./context.js";
import { whichOf } from "./limits/limits.js";
import { findLine } from "./limits/lines.js";
import { leaveQueueCanceled } from "./queue.js";
import { hasRoom, ROOM_TO_COMPLETE } from "./room.js";
import { setAside } from "./set-aside.js";

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
  for (let row = await firstIn(ctx, from, until); row !== null;) {
    if (!(await hasRoom(ctx, ROOM_TO_COMPLETE)))
      return void (await ctx.scheduler.runAfter(0, host.functions.endWaits, { until, andEarlier }));
    await endOne(ctx, host, row);
    row = await firstIn(ctx, from, until);
  }
}

/** A timer that is so late was lost. */
const LATE_MS = 30_000;

/** For the watchdog: has works fail whose timers were lost. */
export async function endLateWaits(ctx: HostCtx, { functions }: Host): Promise<void> {
  const until = Date.now() - LATE_MS;
  if ((await firstIn(ctx, 0, until)) === null) return;
  await ctx.scheduler.runAfter(0, functions.endWaits, { until, andEarlier: true });
}

type Row = Doc<"waiting"> | Doc<"limited">;

async function firstIn(ctx: HostQueryCtx, from: number, to: number): Promise<Row | null> {
  for (const table of ["waiting", "limited"] as const) {
    const row: Row | null = await ctx.db
      .query(table)
      .withIndex("by_until", (q) => q.gte("until", from).lte("until", to))
      .first();
    if (row !== null) return row;
  }
  return null;
}

async function endOne(ctx: HostCtx, host: Host, row: Row): Promise<void> {
  const what = await waitedFor(ctx, row);
  await leaveQueueCanceled(ctx, host, row.work);
  try {
    await host.waitedTooLong(ctx, row.work, what);
  } catch (error) {
    if (!(await hasRoom(ctx, ROOM_TO_COMPLETE))) throw error;
    await setAside(ctx, row.work, error);
  }
}

/** What a work waits for, for a message. */
async function waitedFor(ctx: MutationCtx, row: Row): Promise<string> {
  const line = "lane" in row || row.line === undefined ? null : await findLine(ctx, row.line);
  if (line === null) return "for a slot of the pool";
  const { name, key } = whichOf(line.blockedBy);
  return `for the limit "${name}"${key === undefined ? "" : ` of "${key}"`}`;
}
