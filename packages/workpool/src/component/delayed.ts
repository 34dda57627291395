import { cancelPending, isPending, LATE_MS, LONGEST_PAUSE_MS, PAGE } from "../core/index.js";
import { internal } from "./_generated/api.js";
import type { Doc, Id } from "./_generated/dataModel.js";
import type { MutationCtx, QueryCtx } from "./_generated/server.js";

/**
 * How long after works are due the watchdog checks them. It stays on for those that it has to
 * check.
 */
const SWEEP_AFTER_MS = 2 * LATE_MS;
const SOON_MS = LONGEST_PAUSE_MS - SWEEP_AFTER_MS;

type Due = NonNullable<Doc<"works">["due"]>;

/**
 * A work may start so much later than asked, together with one that is due then, and at most by
 * this share of its delay. One scheduled function starts both.
 */
const TOGETHER_MS = 50;
const TOGETHER_SHARE = 0.01;

/** Returns what starts new works at this time, or soon after it with others that are due then. */
export async function shareStart(ctx: MutationCtx, at: number): Promise<Due> {
  const upTo = at + Math.min(TOGETHER_MS, (at - Date.now()) * TOGETHER_SHARE);
  // Many are enqueued at once: only the one that is shared with is a dependency.
  const seen = await ctx.runQuery(
    internal.worker.lastDueIn,
    { at, upTo },
    { useStaleSnapshot: true },
  );
  const other = seen === null ? null : await ctx.db.get("works", seen);
  const due = other?.due;
  const isShared = due !== undefined && due.at >= at && due.at <= upTo;
  if (isShared && !(await isStartLost(ctx, other!))) return due;
  return await scheduleStart(ctx, at);
}

export async function scheduleStart(ctx: MutationCtx, at: number): Promise<Due> {
  return { job: await ctx.scheduler.runAt(at, internal.worker.startDue, { at }), at };
}

/** Cancels the scheduled start of a work, unless others are due at the same time. */
export async function cancelDue(ctx: MutationCtx, { _id, due }: Doc<"works">): Promise<void> {
  if (due?.job === undefined) return;
  const atOnce = await dueAt(ctx, due.at, 2);
  if (atOnce.every((work) => work._id === _id)) await cancelPending(ctx, due.job);
}

/** The works that are due at exactly this time. */
export async function dueAt(ctx: QueryCtx, at: number, most: number): Promise<Doc<"works">[]> {
  return await ctx.db
    .query("works")
    .withIndex("by_due", (q) => q.eq("due.at", at))
    .take(most);
}

/** Starts works whose scheduled start was lost. @returns when to check again. */
export async function startLate(ctx: MutationCtx, idle: boolean, { lost, lastDue }: Delayed) {
  if (lost.length > 0) await ctx.runMutation(internal.recovery.startLost, { lost });
  // That there is none is concluded from the index itself.
  const last = lastDue ?? (idle ? await lastDueSoon(ctx) : null);
  return last === null ? null : last + SWEEP_AFTER_MS;
}

/** Returns when the last of the works is due that are due soon, or late. */
async function lastDueSoon(ctx: QueryCtx): Promise<number | null> {
  const soon = await ctx.db
    .query("works")
    .withIndex("by_due", (q) => q.gt("due.at", undefined).lte("due.at", Date.now() + SOON_MS))
    .order("desc")
    .first();
  return soon?.due?.at ?? null;
}

export interface Delayed {
  /** Late ones that will not start by themselves. */
  readonly lost: Id<"works">[];
  readonly lastDue: number | null;
}

/** Returns what the watchdog reads from a stale snapshot for `PoolHost.alsoSweep`. */
export async function findLostStarts(ctx: QueryCtx): Promise<Delayed> {
  const late = await ctx.db
    .query("works")
    .withIndex("by_due", (q) => q.gt("due.at", undefined).lte("due.at", Date.now() - LATE_MS))
    .take(PAGE);
  const lost: Id<"works">[] = [];
  for (const work of late) if (await isStartLost(ctx, work)) lost.push(work._id);
  return { lost, lastDue: await lastDueSoon(ctx) };
}

/** Says whether a work that waits for its time, or for its next attempt, waits in vain. */
export async function isStartLost(ctx: QueryCtx, { due }: Doc<"works">): Promise<boolean> {
  // While it runs, it is pending still: to all but itself.
  return due !== undefined && !(await isPending(ctx, due.job));
}
