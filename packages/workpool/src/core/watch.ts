import { type Infer, type ObjectType, v } from "convex/values";
import type { Host, HostCtx, HostQueryCtx, MutationCtx, Slot, Watch, Work } from "./context.js";
import { cancelPending } from "./jobs.js";
import { poolTx } from "./transaction.js";

/** The functions of running works with a timeout, and when a sweep first saw them begun. */
export const vBegan = v.array(
  v.object({
    job: v.id("_scheduled_functions"),
    at: v.number(),
    /** When a sweep first saw it overdue. */
    lateAt: v.optional(v.number()),
  }),
);

/** What a sweep learns of the works that run and are not lost. */
const ofRunning = {
  running: v.boolean(),
  /** The start of the oldest work without a timeout. */
  oldestStart: v.optional(v.number()),
  /** When the first timeout is over. */
  nextDeadline: v.optional(v.number()),
  shortestTimeoutMs: v.optional(v.number()),
  began: vBegan,
};

/** What a sweep has seen so far: carried from one of its transactions to the next. */
const vSeen = v.object({ from: v.number(), lost: v.number(), ...ofRunning });
export type Seen = Infer<typeof vSeen>;

export const sweepArgs = {
  generation: v.number(),
  seen: v.optional(vSeen),
  /** It is the one in reserve: it only schedules a sweep. */
  reserve: v.optional(v.boolean()),
};
export type SweepArgs = ObjectType<typeof sweepArgs>;

export const inspectArgs = { from: v.number(), began: v.optional(vBegan) };
export type InspectArgs = ObjectType<typeof inspectArgs>;

export const recoverArgs = {
  slot: v.id("slots"),
  job: v.id("_scheduled_functions"),
  /** Its timeout is over, and its report would have come by now. */
  overdue: v.optional(v.boolean()),
  /** Its carrier has called the function, which has ended without a report. */
  call: v.optional(v.object({ fn: v.string(), error: v.optional(v.string()) })),
};
export type Suspect = ObjectType<typeof recoverArgs>;

/** Says whether there are continuations, and which are lost. */
const vContinued = v.object({ any: v.boolean(), lost: v.array(v.id("continuations")) });
export type Continued = Infer<typeof vContinued>;

/** What inspecting some of the slots gives. */
export const vInspected = v.object({
  /** The slots whose work seems to be lost: to be confirmed. */
  suspects: v.array(v.object({ number: v.number(), ...recoverArgs })),
  ...ofRunning,
  /** The slot number to go on from; null after the last. */
  next: v.union(v.number(), v.null()),
  /** After the last: the continuations, and what the host has added for its `alsoSweep`. */
  continued: v.optional(vContinued),
  added: v.optional(v.any()),
});
export type Inspected = Infer<typeof vInspected>;

/** The first sweep comes so soon by default, each further one after three times as long … */
const FIRST_SWEEP_MS = 30_000;
/** … earlier where what runs takes seconds at most, but no more often than that … */
const SHORTEST_PAUSE_MS = 10_000;
/** … and never longer than this after the one before it. */
export const LONGEST_PAUSE_MS = 540_000;
/** So soon after a work with a timeout has started, a check sees whether it has begun. */
const FIRST_SEEN_MS = 5_000;
/**
 * So long after its time is over, what has to come is taken for lost: the report of a work, a sweep
 * in reserve, the end of an executor. It takes a busy deployment seconds to begin a function.
 */
export const GRACE_MS = 5_000;
/** So long after a sweep there is one in reserve: most never run, and are canceled in time. */
export const RESERVE_MS = 60_000;

/** What is known of a work that was started. */
export type Started = Pick<Work, "timeoutMs" | "isMutation"> & {
  /** Its key, where it starts alone. */
  readonly work?: string;
};

/** The next check: 1, 3, 9, 27 … times the first after `since`, at most 540 s after the last. */
export function nextSweep(host: Host, since: number, now: number): number {
  let at = firstSweep(host);
  while (since + at <= now) at += Math.min(2 * at, LONGEST_PAUSE_MS);
  return since + at;
}

/** How long after a pool has become busy the first sweep comes, in ms. */
const firstSweep = ({ firstSweepMs = FIRST_SWEEP_MS }: Host): number => firstSweepMs;

/**
 * Schedules the watchdog for a work that gets a free slot: it is on while a slot is held, and early
 * enough for the shortest timeout. An overdue one was lost, and is replaced.
 * @returns whether the start of this work, alone, has turned it on.
 */
export async function keepWatch(
  ctx: MutationCtx,
  host: Host,
  { timeoutMs, isMutation, work }: Started,
  watch: Watch | null,
) {
  const now = Date.now();
  const isOn = watch?.watched === true;
  // It may be an attempt of the work that has turned the watchdog on.
  const startedIt = work !== undefined && watch?.startedBy === work;
  if (isOn && covers(watch.shortestTimeoutMs, timeoutMs)) {
    await revive(ctx, host, watch);
    return startedIt;
  }
  const byTimeout = timeoutMs === undefined ? Infinity : now + Math.min(timeoutMs, FIRST_SEEN_MS);
  const shortest = {
    shortestTimeoutMs: least(isOn ? watch.shortestTimeoutMs : undefined, timeoutMs),
    shortestSince: now,
  };
  if (!isOn) {
    // There may be one already for what is the host's.
    const already = watch?.job === undefined || watch.at < now ? Infinity : watch.at;
    const last = watch === null || watch.at > now ? -Infinity : watch.at;
    // Later, if the pool was checked a moment ago.
    const usual = Math.max(now + firstSweep(host), last + FIRST_SWEEP_MS);
    const first = isMutation ? now + Math.min(firstSweep(host), SHORTEST_PAUSE_MS) : usual;
    const at = Math.min(first, byTimeout, already);
    const state = { watched: true, startedBy: work, ...shortest };
    await scheduleSweep(ctx, host, { at, since: now }, watch, state);
    return work !== undefined;
  }
  // A sweep that is going on will see it.
  if (watch.job !== undefined && byTimeout < watch.at)
    await scheduleSweep(ctx, host, { at: byTimeout }, watch, shortest);
  else await ctx.db.patch("watch", watch._id, shortest);
  return startedIt;
}

/**
 * Keeps the watchdog on for a work that gets a slot, unless it is on for the slot's former work, or
 * for one that has started in this transaction: a slot is held then.
 */
export async function keepWatchIn(
  ctx: MutationCtx,
  host: Host,
  before: Slot,
  work: Work,
): Promise<void> {
  const { timeoutMs = Infinity } = work;
  if (before.work !== undefined && covers(before.timeoutMs, timeoutMs)) return;
  const tx = poolTx(ctx);
  if (tx.watchedFor !== undefined && covers(tx.watchedFor, timeoutMs)) return;
  await keepWatch(ctx, host, work, await readWatch(ctx));
  tx.watchedFor = Math.min(tx.watchedFor ?? Infinity, timeoutMs);
}

/** Says whether who is prepared for the one timeout is prepared for the other. */
function covers(known: number | undefined, timeoutMs = Infinity): boolean {
  return (known ?? Infinity) <= timeoutMs;
}

/** Has the watchdog check at once if both its check and the one in reserve were lost. */
async function revive(ctx: MutationCtx, host: Host, watch: Watch | null): Promise<void> {
  if (watch?.watched !== true && watch?.forHost !== true) return;
  const now = Date.now();
  if (watch.at + RESERVE_MS + GRACE_MS < now) await scheduleSweep(ctx, host, { at: now }, watch);
}

/** Does what {@link revive} does, on rare events: a busy pool then depends on no enqueue. */
export async function reviveWatch(ctx: MutationCtx, host: Host): Promise<void> {
  await revive(ctx, host, await readWatch(ctx));
}

/** Has `alsoSweep` called with the next sweep, in 30 s at most, for what the host has scheduled. */
export async function keepSweeping(ctx: HostCtx, host: Host): Promise<void> {
  const watch = await readWatch(ctx);
  if (watch?.watched === true || watch?.forHost === true) return await revive(ctx, host, watch);
  const now = Date.now();
  const next = { at: now + FIRST_SWEEP_MS, since: now };
  await scheduleSweep(ctx, host, next, watch, { forHost: true });
}

/** Has the watchdog sweep at once, even if it was lost, as after a restore from a backup. */
export async function sweepNow(ctx: HostCtx, host: Host): Promise<void> {
  const watch = await readWatch(ctx);
  const state = watch?.watched === true ? {} : { forHost: true };
  await scheduleSweep(ctx, host, { at: Date.now() }, watch, state);
}

/** When to sweep again for the sake of the host, which wants it at `wanted`. */
export function sweepForHost(wanted: number, now: number): number {
  return Math.min(Math.max(wanted, now + SHORTEST_PAUSE_MS), now + LONGEST_PAUSE_MS);
}

export function least(one: number | undefined, other: number | undefined): number | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return Math.min(one, other);
}

/** Schedules a sweep if there is none. An enqueue that joins the queue calls it. */
export async function watchTheWatchdog(ctx: MutationCtx, host: Host, watch: Watch | null) {
  const now = Date.now();
  if (watch?.watched !== true) {
    const at = watch?.job === undefined ? now + FIRST_SWEEP_MS : watch.at;
    await scheduleSweep(ctx, host, { at, since: now }, watch, {
      watched: true,
      startedBy: undefined,
    });
  } else await revive(ctx, host, watch);
}

export async function readWatch(ctx: HostQueryCtx): Promise<Watch | null> {
  return await ctx.db.query("watch").first();
}

/** What of the watchdog's document changes along with its next sweep. */
type WatchState = Partial<
  Pick<
    Watch,
    | "watched"
    | "startedBy"
    | "forHost"
    | "heldUpAt"
    | "shortestTimeoutMs"
    | "shortestSince"
    | "began"
  >
>;

/** Schedules the next sweep, and one in reserve if that is lost. @param seen to go on with. */
export async function scheduleSweep(
  ctx: MutationCtx,
  { functions: { sweep } }: Host,
  { at, since, seen }: { at: number; since?: number; seen?: Seen },
  watch: Watch | null,
  state: WatchState = {},
): Promise<void> {
  await cancelSweep(ctx, watch);
  const generation = (watch?.generation ?? 0) + 1;
  const job = await ctx.scheduler.runAt(at, sweep, { generation, seen });
  const reserve = await ctx.scheduler.runAt(at + RESERVE_MS, sweep, { generation, reserve: true });
  const busySince = since ?? watch?.since ?? Date.now();
  const fields = { generation, at, job, reserve, since: busySince, ...state };
  if (watch === null) await ctx.db.insert("watch", fields);
  else await ctx.db.patch("watch", watch._id, fields);
}

/** Ends the watch. @param state what else is to be written. */
export async function dropSweep(
  ctx: MutationCtx,
  watch: Watch,
  state: WatchState & Pick<Watch, "restedAt">,
): Promise<void> {
  await cancelSweep(ctx, watch);
  await ctx.db.patch("watch", watch._id, { job: undefined, reserve: undefined, ...state });
}

async function cancelSweep(ctx: MutationCtx, watch: Watch | null): Promise<void> {
  for (const job of [watch?.job, watch?.reserve])
    if (job !== undefined) await cancelPending(ctx, job);
}
