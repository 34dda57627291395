import type { SystemDataModel } from "convex/server";
import type {
  Doc,
  HostMutationCtx,
  HostQueryCtx,
  JobId,
  PoolHost,
  PoolMutationCtx,
  PoolWatch,
  SlotId,
} from "./context.js";
import { readGate } from "./gate.js";
import { lookedByHost } from "./host-look.js";
import { messageOf } from "./non-retryable.js";
import { drainLine } from "./parallelism.js";
import { completeWork } from "./pool.js";
import { hasRoom, leaveRoom, ROOM_TO_COMPLETE, ROOM_TO_LOOK, ROOM_TO_RECOVER } from "./room.js";
import { setAside } from "./set-aside.js";
import { isIdle } from "./slots.js";
import {
  GRACE_MS,
  least,
  lookForHost,
  LONGEST_PAUSE_MS,
  nextLook,
  readWatch,
  scheduleLook,
} from "./watch.js";
import type { Look, Seen, SweepArgs } from "./watch-validators.js";

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
  { generation, seen = { from: 0, lost: 0 } }: SweepArgs,
): Promise<void> {
  const watch = await readWatch(ctx);
  if (host.watch === undefined || watch?.generation !== generation) return;
  // A running mutation looks as if it had not begun. Whoever schedules another look meanwhile must not cancel this one: what it schedules
  // from then on would be dropped.
  await ctx.db.patch("watch", watch._id, { job: undefined });
  const look = await ctx.runQuery(host.watch.look, { from: seen.from }, { useStaleSnapshot: true });
  let lost = seen.lost;
  const soFar = (from: number): Seen => ({
    from,
    lost,
    oldestStart: least(seen.oldestStart, look.oldestStart),
    nextDeadline: least(seen.nextDeadline, look.nextDeadline),
    shortestTimeoutMs: least(seen.shortestTimeoutMs, look.shortestTimeoutMs),
  });
  for (const { number, ...suspect } of look.suspects) {
    if (!(await hasRoom(ctx, ROOM_TO_RECOVER)))
      return await scheduleLook(ctx, host.watch, soFar(number));
    if (await recovered(ctx, host, host.watch, suspect)) lost += 1;
  }
  if (look.next !== null) return await scheduleLook(ctx, host.watch, soFar(look.next));
  await finish(ctx, host, host.watch, soFar(0));
}

/** Schedules the next look; or ends the watch, if by a serializable read nothing runs, and there is nothing else to look after. */
async function finish(
  ctx: PoolMutationCtx,
  host: PoolHost,
  hooks: PoolWatch,
  seen: Seen,
): Promise<void> {
  await drainAlong(ctx, host);
  // After that, for what was done there may be something to look after too.
  const wanted = await lookedByHost(ctx, hooks);
  const gate = await readGate(ctx);
  const watch = await readWatch(ctx);
  if (gate === null || watch === null) return;
  const idle = await isIdle(ctx);
  const now = Date.now();
  // A work that was started here, or something of the host's that began here, may have scheduled a look already.
  const already = watch.job === undefined ? Infinity : watch.at;
  const forHost = least(wanted, gate.draining === true ? now : undefined);
  const byHost = forHost === undefined ? Infinity : lookForHost(forHost, now);
  if (idle) {
    await watchForHostOnly(ctx, gate, forHost !== undefined);
    if (forHost === undefined) await ctx.db.patch("watch", watch._id, { job: undefined });
    else await scheduleLook(ctx, hooks, { at: Math.min(byHost, already), since: watch.since });
    return;
  }
  // Works that are lost are seldom lost alone.
  const since = seen.lost > 0 ? now : watch.since;
  const { oldestStart, nextDeadline, shortestTimeoutMs } = seen;
  const shortest = stillShortest(gate, shortestTimeoutMs, now);
  if (shortest !== gate.shortestTimeoutMs)
    await ctx.db.patch("gate", gate._id, { shortestTimeoutMs: shortest, shortestSince: now });
  if (gate.watched !== true) await ctx.db.patch("gate", gate._id, { watched: true });
  const byAge = lookByAge(hooks, since, seen.lost > 0 ? now : oldestStart, now);
  const byTimeout = shortest === undefined ? Infinity : now + shortest + GRACE_MS;
  const at = Math.min(byAge, byTimeout, nextDeadline ?? Infinity, byHost, already);
  await scheduleLook(ctx, hooks, { at, since });
}

/** Nothing runs: a start has to see to the watchdog again, though one be scheduled for the host. */
async function watchForHostOnly(
  ctx: PoolMutationCtx,
  { _id, watched, looking = false }: Doc<"gate">,
  forHost: boolean,
): Promise<void> {
  if (watched !== true && looking === forHost) return;
  await ctx.db.patch("gate", _id, {
    watched: false,
    looking: forHost ? true : undefined,
    shortestTimeoutMs: undefined,
  });
}

/**
 * Starts what waits though slots are free: not needed where no slot was lost, and no drain was; it costs little, and is the last to notice.
 * It also opens the gate at last. In a nested transaction, where its host has registered one, so that the look goes on if it throws.
 */
async function drainAlong(ctx: PoolMutationCtx, host: PoolHost): Promise<void> {
  if (host.drainLine === undefined) return await drainLine(ctx, host);
  const gate = await readGate(ctx);
  if (gate === null || gate.open || gate.maxParallelism === 0) return;
  try {
    await ctx.runMutation(
      host.drainLine,
      {},
      { transactionLimits: await leaveRoom(ctx, ROOM_TO_COMPLETE) },
    );
  } catch (error) {
    console.error(`The pool could not start all that waits: ${messageOf(error)}`);
  }
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
  { shortestTimeoutMs: before, shortestSince = 0 }: Doc<"gate">,
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
  suspect: { slot: SlotId; job: JobId },
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
  suspect: { slot: SlotId; job: JobId },
): Promise<boolean> {
  const slot: Doc<"slots"> | null = await ctx.db.get("slots", suspect.slot);
  if (host.watch === undefined || slot?.work === undefined || slot.job !== suspect.job)
    return false;
  const why = lossOf(await ctx.db.system.get("_scheduled_functions", suspect.job), slot);
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
export async function lookAtSlots(ctx: HostQueryCtx, { from }: { from: number }): Promise<Look> {
  const now = Date.now();
  const look: Look = { suspects: [], next: null };
  const slots: Doc<"slots">[] = await ctx.db
    .query("slots")
    .withIndex("by_number", (q) => q.gte("number", from))
    .collect();
  for (const slot of slots) {
    const { _id, number, job: jobId, work, startedAt, timeoutMs } = slot;
    if (work === undefined || jobId === undefined) continue;
    if (number > from && !(await hasRoom(ctx, ROOM_TO_LOOK))) return { ...look, next: number };
    const job = await ctx.db.system.get("_scheduled_functions", jobId);
    if (lossOf(job, slot) !== null) {
      look.suspects.push({ number, slot: _id, job: jobId });
    } else if (timeoutMs === undefined) {
      look.oldestStart = least(look.oldestStart, startedAt);
    } else {
      // A function that has not begun when its time is up has all of it before it.
      const due = startedAt + timeoutMs + GRACE_MS;
      const nextDeadline = due > now ? due : now + timeoutMs + GRACE_MS;
      look.nextDeadline = least(look.nextDeadline, nextDeadline);
      look.shortestTimeoutMs = least(look.shortestTimeoutMs, timeoutMs);
    }
  }
  return look;
}

/** Why a job will never report, or null if it still may. A running mutation looks as if it were pending. */
function lossOf(job: Job | null, { startedAt, timeoutMs = Infinity }: Doc<"slots">): string | null {
  if (job === null) return "its scheduled function is gone";
  if (job.state.kind === "failed") return `its scheduled function failed: ${job.state.error}`;
  if (job.state.kind === "canceled") return "its scheduled function was canceled";
  if (job.state.kind === "success") return "its scheduled function ended without reporting";
  if (job.state.kind === "inProgress" && Date.now() >= startedAt + timeoutMs + GRACE_MS)
    return `it has not reported ${timeoutMs} ms after its start, its timeout`;
  return null;
}
