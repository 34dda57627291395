import type { SystemDataModel } from "convex/server";
import type {
  Doc,
  HostMutationCtx,
  HostQueryCtx,
  PoolHost,
  PoolMutationCtx,
  PoolWatch,
} from "./context.js";
import { readDrain, ringDrain } from "./drain.js";
import { readGate } from "./gate.js";
import { lookedByHost } from "./host-look.js";
import { completeWork } from "./pool.js";
import { hasRoom, leaveRoom, ROOM_TO_COMPLETE, ROOM_TO_LOOK, ROOM_TO_RECOVER } from "./room.js";
import { setAside } from "./set-aside.js";
import { isIdle, seeFreeSlots } from "./slots.js";
import {
  dropLook,
  GRACE_MS,
  least,
  lookForHost,
  LONGEST_PAUSE_MS,
  nextLook,
  readWatch,
  scheduleLook,
} from "./watch.js";
import type { Look, LookArgs, Seen, Suspect, SweepArgs } from "./watch-validators.js";

/** No stale snapshot is older, by far. */
const STALE_MS = 30_000;

type Job = SystemDataModel["_scheduled_functions"]["document"];

/**
 * One look of the watchdog: finds works whose scheduled function will never report, and has them recovered; then schedules the next look,
 * or none if nothing runs. Reads from a stale snapshot first, so that it does not conflict with what goes on in the slots.
 */
export async function sweepSlots(
  ctx: HostMutationCtx,
  host: PoolHost,
  { generation, seen = { from: 0, lost: 0 }, reserve = false }: SweepArgs,
): Promise<void> {
  const watch = await readWatch(ctx);
  if (host.watch === undefined || watch?.generation !== generation) return;
  if (reserve) {
    // It must not cancel itself.
    const others = { ...watch, reserve: undefined };
    return await scheduleLook(ctx, host.watch, { at: Date.now() }, others);
  }
  // A running mutation looks as if it had not begun. Whoever schedules another look meanwhile must not cancel this one: what it schedules
  // from then on would be dropped.
  await ctx.db.patch("watch", watch._id, { job: undefined });
  const began = watch.began ?? [];
  const look = await ctx.runQuery(
    host.watch.look,
    { from: seen.from, began },
    { useStaleSnapshot: true },
  );
  let lost = seen.lost;
  const soFar = (from: number): Seen => ({
    from,
    lost,
    running: seen.running === true || look.running,
    oldestStart: least(seen.oldestStart, look.oldestStart),
    nextDeadline: least(seen.nextDeadline, look.nextDeadline),
    shortestTimeoutMs: least(seen.shortestTimeoutMs, look.shortestTimeoutMs),
    began: [...(seen.began ?? []), ...look.began],
  });
  for (const { number, ...suspect } of look.suspects) {
    if (!(await hasRoom(ctx, ROOM_TO_RECOVER)))
      return await scheduleLook(ctx, host.watch, soFar(number), await readWatch(ctx));
    if (await recovered(ctx, host, host.watch, suspect)) lost += 1;
  }
  if (look.next !== null)
    return await scheduleLook(ctx, host.watch, soFar(look.next), await readWatch(ctx));
  await finish(ctx, host, host.watch, soFar(0));
}

/** Schedules the next look; or ends the watch, if by a serializable read nothing runs, and there is nothing else to look after. */
async function finish(
  ctx: PoolMutationCtx,
  host: PoolHost,
  hooks: PoolWatch,
  seen: Seen,
): Promise<void> {
  const drains = await drainAlong(ctx, host);
  // Only that nothing runs has to be sure.
  const wasIdle = seen.running !== true && (await isIdle(ctx));
  // After that, for what was done there may be something to look after too.
  const wanted = await lookedByHost(ctx, hooks, wasIdle);
  const watch = await readWatch(ctx);
  if (watch === null) return;
  const idle = wasIdle && (await isIdle(ctx));
  const now = Date.now();
  // A work that was started here, or something of the host's that began here, may have scheduled a look already.
  const already = watch.job === undefined ? Infinity : watch.at;
  const forHost = least(wanted, drains ? now : undefined);
  const byHost = forHost === undefined ? Infinity : lookForHost(forHost, now);
  if (idle) {
    const looking = forHost === undefined ? undefined : true;
    const rest = { watched: false, looking, shortestTimeoutMs: undefined, began: undefined };
    if (forHost === undefined) await dropLook(ctx, watch, rest);
    else {
      const next = { at: Math.min(byHost, already), since: watch.since };
      await scheduleLook(ctx, hooks, next, watch, rest);
    }
    return;
  }
  // Works that are lost are seldom lost alone.
  const since = seen.lost > 0 ? now : watch.since;
  const { oldestStart, nextDeadline, shortestTimeoutMs, began = [] } = seen;
  const shortest = stillShortest(watch, shortestTimeoutMs, now);
  const byAge = lookByAge(hooks, since, seen.lost > 0 ? now : oldestStart, now);
  const byTimeout = shortest === undefined ? Infinity : now + shortest + GRACE_MS;
  const at = Math.min(byAge, byTimeout, nextDeadline ?? Infinity, byHost, already);
  await scheduleLook(ctx, hooks, { at, since }, watch, {
    watched: true,
    shortestTimeoutMs: shortest,
    ...(shortest === watch.shortestTimeoutMs ? {} : { shortestSince: now }),
    began: began.length === 0 ? undefined : began,
  });
}

/**
 * Begins a drain anew where one should be on, as it may have been lost or have thrown; and where works wait though slots are free.
 * @returns whether there is one now.
 */
async function drainAlong(ctx: PoolMutationCtx, host: PoolHost): Promise<boolean> {
  const gate = await readGate(ctx);
  if (gate === null || gate.maxParallelism === 0) return false;
  const drain = await readDrain(ctx);
  if (drain?.on !== true) {
    if (gate.open || (await seeFreeSlots(ctx, host, gate)).length === 0) return false;
  }
  await ringDrain(ctx, host, drain);
  return true;
}

/**
 * When to look for the sake of works without a timeout: as the oldest of them asks for, but no more often than a pool is looked at that has
 * been busy since `since`.
 */
function lookByAge(
  hooks: PoolWatch,
  since: number,
  oldestStart: number | undefined,
  now: number,
): number {
  const latest = now + LONGEST_PAUSE_MS;
  if (oldestStart === undefined) return latest;
  const asTheOldestAsks = Math.min(nextLook(hooks, oldestStart, now), latest);
  return Math.max(nextLook(hooks, since, now), asTheOldestAsks);
}

/**
 * The shortest timeout to be prepared for. Short ones demand looks that are close to each other, so one that none of the running works has
 * is given up; but not soon after it came in, as the look may be older than the start of its work.
 */
function stillShortest(
  { shortestTimeoutMs: before, shortestSince = 0 }: Doc<"watch">,
  running: number | undefined,
  now: number,
): number | undefined {
  if (before === undefined || now < shortestSince + STALE_MS) return before;
  return running === undefined ? undefined : Math.max(before, running);
}

/** Recovers one slot in a nested transaction: whatever its host throws, the work is set aside and the slot goes on. */
async function recovered(
  ctx: PoolMutationCtx,
  host: PoolHost,
  hooks: PoolWatch,
  suspect: Suspect,
): Promise<boolean> {
  try {
    return await ctx.runMutation(hooks.recover, suspect, {
      transactionLimits: await leaveRoom(ctx, ROOM_TO_COMPLETE),
    });
  } catch (error) {
    const slot = await ctx.db.get("slots", suspect.slot);
    if (slot?.work === undefined || slot.job !== suspect.job) return false;
    await setAside(ctx, slot.work, error);
    await completeWork(ctx, host, { work: slot.work, slot: slot._id });
    return true;
  }
}

/** Has the host take in that the work of a slot was lost, if it was, and gives the slot on. @returns whether it was. */
export async function recoverSlot(
  ctx: HostMutationCtx,
  host: PoolHost,
  suspect: Suspect,
): Promise<boolean> {
  const slot: Doc<"slots"> | null = await ctx.db.get("slots", suspect.slot);
  if (host.watch === undefined || slot?.work === undefined || slot.job !== suspect.job)
    return false;
  const job = await ctx.db.system.get("_scheduled_functions", suspect.job);
  const why = lossOf(job, slot, suspect.beganAt);
  if (why === null) return false;
  await host.watch.lost(ctx, slot.work, slot._id, why);
  const after: Doc<"slots"> | null = await ctx.db.get("slots", slot._id);
  if (after?.work === slot.work && after.job === slot.job)
    await completeWork(ctx, host, { work: slot.work, slot: slot._id });
  return true;
}

/**
 * Looks at held slots and the state of their jobs, as far as one transaction should: a job's state is read together with its arguments.
 * To be read from a stale snapshot.
 */
export async function lookAtSlots(
  ctx: HostQueryCtx,
  { from, began: known = [] }: LookArgs,
): Promise<Look> {
  const now = Date.now();
  const look: Look = { suspects: [], began: [], running: false, next: null };
  const beganAt = new Map(known.map(({ job, at }) => [job, at]));
  const slots: Doc<"slots">[] = await ctx.db
    .query("slots")
    .withIndex("by_number", (q) => q.gte("number", from))
    .collect();
  for (const slot of slots) {
    const { _id, number, job: jobId, work, startedAt, timeoutMs } = slot;
    if (work === undefined || jobId === undefined) continue;
    if (number > from && !(await hasRoom(ctx, ROOM_TO_LOOK))) return { ...look, next: number };
    const job = await ctx.db.system.get("_scheduled_functions", jobId);
    const at = beganAt.get(jobId);
    if (lossOf(job, slot, at) !== null) {
      look.suspects.push({
        number,
        slot: _id,
        job: jobId,
        ...(at === undefined ? {} : { beganAt: at }),
      });
      continue;
    }
    look.running = true;
    if (timeoutMs === undefined) {
      look.oldestStart = least(look.oldestStart, startedAt);
      continue;
    }
    // A function that has not begun has all of its time before it.
    const since = job?.state.kind === "inProgress" ? (at ?? now) : now;
    if (job?.state.kind === "inProgress") look.began.push({ job: jobId, at: since });
    look.nextDeadline = least(look.nextDeadline, since + timeoutMs + GRACE_MS);
    look.shortestTimeoutMs = least(look.shortestTimeoutMs, timeoutMs);
  }
  return look;
}

/**
 * Why a job will never report, or null if it still may. A running mutation looks as if it were pending.
 * @param beganAt when it was first seen to have begun: its timeout counts from then, as it may have waited for the scheduler before.
 */
function lossOf(
  job: Job | null,
  { timeoutMs = Infinity }: Doc<"slots">,
  beganAt = Infinity,
): string | null {
  if (job === null) return "its scheduled function is gone";
  if (job.state.kind === "failed") return `its scheduled function failed: ${job.state.error}`;
  if (job.state.kind === "canceled") return "its scheduled function was canceled";
  if (job.state.kind === "success") return "its scheduled function ended without reporting";
  if (job.state.kind === "inProgress" && Date.now() >= beganAt + timeoutMs + GRACE_MS)
    return `it has not reported ${timeoutMs} ms after its begin, its timeout`;
  return null;
}
