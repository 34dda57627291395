import { type ObjectType, v } from "convex/values";
import type { Drain, Host, MutationCtx } from "./context.js";
import { cancelPending } from "./jobs.js";
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
  /** It is a look at what is left to executors, in place of a round: see {@link lookLater}. */
  looksAt: v.optional(v.number()),
  /** The work that had waited longest at the look before. */
  sawOldest: v.optional(v.id("waiting")),
  /** It leaves no slot to an owner. */
  leavesNone: v.optional(v.boolean()),
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

/**
 * So often somebody looks at works that are left to executors: if such a one has died, or cannot
 * report, nobody else may come for them. Each look is a call, as long as one of them asks: one that
 * has died seems to for 15 s.
 */
export const LOOKS_EVERY_MS = 3_000;

/**
 * Has somebody look at works that are left to executors. It is a drain's function that looks.
 * @param sawOldest see {@link drainArgs}.
 */
export async function lookLater(
  ctx: MutationCtx,
  { functions }: Host,
  drain: Drain | null,
  ms: number,
  sawOldest?: DrainArgs["sawOldest"],
): Promise<void> {
  const at = Math.ceil(Date.now() + ms);
  const { generation, on } = drain ?? { generation: 0, on: false };
  const args = { generation, looksAt: at, sawOldest };
  const look = { at, job: await ctx.scheduler.runAt(at, functions.drainQueue, args) };
  if (drain === null) await ctx.db.insert("drain", { on, generation, look });
  else await ctx.db.patch("drain", drain._id, { look });
}

/** Does it, unless such a look is to come already. */
export async function keepLooking(ctx: MutationCtx, host: Host): Promise<void> {
  const now = Date.now();
  const drain = await readDrain(ctx);
  const at = drain?.look?.at ?? 0;
  // The clock may have gone back.
  if (at <= now || at > now + LOOKS_EVERY_MS) await lookLater(ctx, host, drain, LOOKS_EVERY_MS);
}
