import { type ObjectType, v } from "convex/values";
import type { Drain, Host, MutationCtx } from "./context.js";
import { cancelPending } from "./jobs.js";
import { vLook } from "./owners.js";
import { reviveWatch } from "./watch.js";

/* Enqueues read no slot while the gate is closed: one drain at a time gives them the free ones. */

/** How long a drain that found nothing waits, in ms, unless a work joins the queue. */
export const PAUSE_MS = 20;
export const drainArgs = {
  generation: v.number(),
  /** How many rounds in a row have found nothing to do. Default: 0. */
  quiet: v.optional(v.number()),
  /** When it was to begin. Default: now. */
  at: v.optional(v.number()),
  /** It leaves no slot to an owner. */
  leavesNone: v.optional(v.boolean()),
  /** It is a look at what is left to an owner, in place of a round: {@link vLook}. */
  look: v.optional(vLook),
};
export type DrainArgs = ObjectType<typeof drainArgs>;

/** The drain as the last one has left it; null in a pool that never had one. */
export async function readDrain(ctx: MutationCtx): Promise<Drain | null> {
  return await ctx.db.query("drain").first();
}

/** Schedules a round of a drain. */
export async function scheduleDrain(
  ctx: MutationCtx,
  { functions }: Host,
  args: Omit<DrainArgs, "at">,
  ms: number,
) {
  const at = Date.now() + ms;
  return await ctx.scheduler.runAfter(ms, functions.drainQueue, { ...args, at });
}

/** Begins a drain, in the place of any other. @param ms after how many ms. */
export async function ringDrain(
  ctx: MutationCtx,
  host: Host,
  drain: Drain | null,
  ms = 0,
  how: Pick<DrainArgs, "leavesNone"> = {},
) {
  const generation = (drain?.generation ?? 0) + 1;
  const job = await scheduleDrain(ctx, host, { generation, ...how }, ms);
  const fields = { on: true, generation, job, at: Date.now() + ms };
  if (drain === null) await ctx.db.insert("drain", fields);
  else await ctx.db.patch("drain", drain._id, fields);
}

/** Begins a drain, unless one is on. @param ms after how many ms. */
export async function ringUnlessOn(ctx: MutationCtx, host: Host, ms: number): Promise<void> {
  // guard: drain-is-read
  const drain = await readDrain(ctx);
  if (drain?.on !== true) await ringDrain(ctx, host, drain, ms);
}

/** A drain that is so late has found no place. */
const LATE_MS = 1_000;

/** Says whether a drain is on that waits for a place of the scheduler. */
export function isDrainLate(drain: Drain | null): boolean {
  return drain?.on === true && Date.now() > (drain.at ?? 0) + LATE_MS;
}

/** Tells that a drain goes on. Not each round does: others read its document. */
export async function keepDrainOn(ctx: MutationCtx, drain: Drain): Promise<void> {
  const now = Date.now();
  if (now > (drain.at ?? 0) + LATE_MS / 2) await ctx.db.patch("drain", drain._id, { at: now });
}

export async function stopDrain(ctx: MutationCtx, host: Host, drain: Drain): Promise<void> {
  if (drain.job !== undefined) await cancelPending(ctx, drain.job);
  await endDrain(ctx, host, drain);
}

export async function endDrain(ctx: MutationCtx, host: Host, drain: Drain): Promise<void> {
  await reviveWatch(ctx, host);
  await ctx.db.patch("drain", drain._id, { on: false, job: undefined });
}
