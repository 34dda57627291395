import { internal } from "./_generated/api.js";
import type { Doc, Id } from "./_generated/dataModel.js";
import type { MutationCtx, QueryCtx } from "./_generated/server.js";

/** A delayed start that is so late was lost, or the scheduler is behind: its job tells which. */
const LATE_MS = 10_000;
const PAGE = 100;
/** The watchdog stays on for works that are due this soon, and checks them so long after that. */
const SOON_MS = 510_000;
const SWEEP_AFTER_MS = 30_000;

/** Starts works whose scheduled start was lost. @returns when to check again. */
export async function startLate(ctx: MutationCtx, idle: boolean, { lost, lastDue }: Delayed) {
  if (lost.length > 0) await ctx.runMutation(internal.recovery.startLost, { lost });
  // That there is none is concluded from the index itself.
  const last = lastDue ?? (idle ? await lastDueSoon(ctx) : null);
  return last === null ? null : last + SWEEP_AFTER_MS;
}

/** When the last of the works is due that are due soon, or late. */
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

/** What the watchdog reads from a stale snapshot for `PoolHost.alsoSweep`. */
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
  if (due === undefined) return false;
  const job =
    due.job === undefined ? null : await ctx.db.system.get("_scheduled_functions", due.job);
  return job === null || !["pending", "inProgress"].includes(job.state.kind);
}
