import type { FunctionHandle, SystemDataModel } from "convex/server";
import type { Gate, Host, HostCtx, HostQueryCtx, MutationCtx, Slot, Watch } from "./context.js";
import { isDrainLate, readDrain, ringDrain } from "./drain.js";
import { addSlots } from "./gate.js";
import { isPending } from "./jobs.js";
import { removeFullBuckets } from "./limits/buckets.js";
import { ringAllLines } from "./limits/lines.js";
import { endOverrides } from "./limits/steer.js";
import { completeWork } from "./pool.js";
import { anyWaits } from "./queue.js";
import { HELD_UP_MS, LATER_MS, SCHEDULES_MS } from "./report.js";
import { sweptByHost } from "./rest.js";
import { hasRoom, leaveRoom, ROOM_TO_COMPLETE, ROOM_TO_INSPECT, ROOM_TO_RECOVER } from "./room.js";
import { setAside } from "./set-aside.js";
import { isIdle, seeFreeSlots } from "./slots.js";
import { endLateWaits } from "./waits.js";
import {
  dropSweep,
  GRACE_MS,
  least,
  sweepForHost,
  LONGEST_PAUSE_MS,
  nextSweep,
  readWatch,
  RESERVE_MS,
  scheduleSweep,
  type Inspected,
  type InspectArgs,
  type Seen,
  type Suspect,
  type SweepArgs,
} from "./watch.js";

/**
 * No stale snapshot is older, by far. A work that was seen to be overdue is lost so much later: had
 * its report been held up, it would have come, as that is repeated some ten times meanwhile.
 */
const STALE_MS = 30_000;

type Job = SystemDataModel["_scheduled_functions"]["document"];

/**
 * One sweep of the watchdog: recovers works whose scheduled function will never report, and
 * schedules the next sweep if something runs. It reads a stale snapshot, so it conflicts with no
 * slot.
 */
export async function sweepSlots(
  ctx: HostCtx,
  host: Host,
  { generation, seen: before, reserve = false }: SweepArgs,
): Promise<void> {
  const watch = await readWatch(ctx);
  if (watch?.generation !== generation) return;
  const seen = before ?? { from: 0, lost: 0, running: false, began: [] };
  // If it comes late because nothing could be written, reports are held up too. So they are if the
  // one in reserve is in time, and the one before it has still to come.
  const isBehind =
    Date.now() > watch.at + (reserve ? RESERVE_MS : 0) + GRACE_MS ||
    (reserve && (await isPending(ctx, watch.job)));
  const at = Date.now() + (isBehind ? STALE_MS : 0);
  const late = isBehind ? { heldUpAt: Date.now() } : {};
  if (reserve) {
    // If the watch has ended, it had begun by then: the last sweep has canceled it in vain.
    if (watch.reserve === undefined) return;
    // It must not cancel itself.
    const others = { ...watch, reserve: undefined };
    return await scheduleSweep(ctx, host, { at }, others, late);
  }
  // A running mutation looks pending. Nobody may cancel this one: what it schedules would be lost.
  // One that goes on with further slots may be the first that comes late.
  await ctx.db.patch("watch", watch._id, { job: undefined, ...late });
  if (isBehind && before === undefined)
    return await scheduleSweep(ctx, host, { at, seen }, { ...watch, job: undefined });
  const page = { from: seen.from, began: watch.began ?? [] };
  const found = await ctx.runQuery(host.functions.inspect, page, { useStaleSnapshot: true });
  let lost = seen.lost;
  const soFar = (from: number): Seen => ({
    from,
    lost,
    running: seen.running || found.running,
    oldestStart: least(seen.oldestStart, found.oldestStart),
    nextDeadline: least(seen.nextDeadline, found.nextDeadline),
    shortestTimeoutMs: least(seen.shortestTimeoutMs, found.shortestTimeoutMs),
    began: [...seen.began, ...found.began],
  });
  const goOn = async (from: number) =>
    await scheduleSweep(ctx, host, { at: Date.now(), seen: soFar(from) }, await readWatch(ctx));
  for (const { number, ...suspect } of found.suspects) {
    if (!(await hasRoom(ctx, ROOM_TO_RECOVER))) return await goOn(number);
    if (await recovered(ctx, host, suspect)) lost += 1;
  }
  if (found.next !== null) return await goOn(found.next);
  await finish(ctx, host, soFar(0), found);
}

/** Schedules the next sweep, or none, if a serializable read shows that nothing runs. */
async function finish(ctx: MutationCtx, host: Host, seen: Seen, found: Inspected): Promise<void> {
  // Only that nothing runs has to be sure.
  const wasIdle = !seen.running && (await isIdle(ctx));
  const drains = await drainAlong(ctx, host, wasIdle);
  // After the drain, as that may begin something for the host to check.
  const wanted = await sweptByHost(ctx, host, wasIdle, found);
  const watch = await readWatch(ctx);
  if (watch === null) return;
  const idle = wasIdle && (await isIdle(ctx));
  const now = Date.now();
  // Something that began here may have scheduled a sweep already.
  const already = watch.job === undefined ? Infinity : watch.at;
  const hostAt = least(wanted, drains ? now : undefined);
  const byHost = hostAt === undefined ? Infinity : sweepForHost(hostAt, now);
  if (idle) {
    const forHost = hostAt === undefined ? undefined : true;
    const rest = { watched: false, forHost, shortestTimeoutMs: undefined, began: undefined };
    if (hostAt === undefined) await dropSweep(ctx, watch, rest);
    else {
      const next = { at: Math.min(byHost, already), since: watch.since };
      await scheduleSweep(ctx, host, next, watch, rest);
    }
    return;
  }
  // Works that are lost are seldom lost alone.
  const since = seen.lost > 0 ? now : watch.since;
  const { oldestStart, nextDeadline, shortestTimeoutMs, began } = seen;
  const shortest = stillShortest(watch, shortestTimeoutMs, now);
  const byAge = sweepByAge(host, since, seen.lost > 0 ? now : oldestStart, now);
  const byTimeout = shortest === undefined ? Infinity : now + shortest + GRACE_MS;
  const at = Math.min(byAge, byTimeout, nextDeadline ?? Infinity, byHost, already);
  await scheduleSweep(ctx, host, { at, since }, watch, {
    watched: true,
    shortestTimeoutMs: shortest,
    shortestSince: shortest === watch.shortestTimeoutMs ? watch.shortestSince : now,
    began: began.length === 0 ? undefined : began,
  });
}

/** Begins a drain if one is on and may be lost, or if works wait while slots are free. */
async function drainAlong(ctx: MutationCtx, host: Host, idle: boolean): Promise<boolean> {
  const gate = await endOverrides(ctx, host);
  await endLateWaits(ctx, host);
  if (gate === null || gate.maxParallelism === 0) return false;
  await ringAllLines(ctx, host);
  if (gate.limits !== undefined) await removeFullBuckets(ctx, gate);
  const drain = await readDrain(ctx);
  // One that goes on is left alone: in the place of another it would begin anew.
  if (drain?.on === true && !isDrainLate(drain)) return true;
  if (drain?.on !== true && !(await isLeftBehind(ctx, host, gate, idle))) return false;
  // Somebody may have deleted them: then works would wait for slots that nobody makes.
  if (idle) await addSlots(ctx, 0, gate.maxParallelism);
  await ringDrain(ctx, host, drain);
  return true;
}

/** Says whether works wait that nobody comes for, so far as is known. */
async function isLeftBehind(ctx: MutationCtx, host: Host, gate: Gate, idle: boolean) {
  // With the gate open, works are left to the executor of limits, which may be lost.
  // guard: left-to-lost
  if (gate.open) return gate.limits !== undefined && (await anyWaits(ctx));
  // A stale look lacks the slots that this sweep has freed, and left to an executor that is lost.
  // guard: freed-to-lost
  if (idle) return true;
  return (await seeFreeSlots(ctx, host, gate)).length > 0;
}

/** When to check works without a timeout: as the oldest needs, or `since` if that asks less. */
function sweepByAge(host: Host, since: number, oldestStart: number | undefined, now: number) {
  const latest = now + LONGEST_PAUSE_MS;
  if (oldestStart === undefined) return latest;
  const asTheOldestAsks = Math.min(nextSweep(host, oldestStart, now), latest);
  return Math.max(nextSweep(host, since, now), asTheOldestAsks);
}

/** A timeout that nobody has is given up, once no stale snapshot can lack the start of its work. */
function stillShortest(
  { shortestTimeoutMs: before, shortestSince = 0 }: Watch,
  running: number | undefined,
  now: number,
): number | undefined {
  if (before === undefined || now < shortestSince + STALE_MS) return before;
  return running === undefined ? undefined : Math.max(before, running);
}

/** Recovers a slot, nested: if its host throws, its work is set aside and it is handed over. */
export async function recovered(ctx: MutationCtx, host: Host, suspect: Suspect): Promise<boolean> {
  try {
    return await ctx.runMutation(host.functions.recover, suspect, {
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

/** Tells the host that a slot's work was lost, and hands the slot over. @returns whether it was. */
export async function recoverSlot(ctx: HostCtx, host: Host, suspect: Suspect): Promise<boolean> {
  const slot: Slot | null = await ctx.db.get("slots", suspect.slot);
  if (
    slot?.work === undefined ||
    // guard: suspect
    slot.job !== suspect.job
  )
    return false;
  const job = await ctx.db.system.get("_scheduled_functions", suspect.job);
  const { call } = suspect;
  const why =
    call === undefined ? await lossOf(ctx, job, slot, suspect.overdue) : lossOfCall(call.error);
  if (why === null) return false;
  if (call !== undefined && (await isGone(ctx, call.fn)))
    await host.functionGone(ctx, slot.work, why);
  else await host.lost(ctx, slot.work, slot._id, why);
  const after: Slot | null = await ctx.db.get("slots", slot._id);
  if (after?.work === slot.work && after.job === slot.job)
    await completeWork(ctx, host, { work: slot.work, slot: slot._id });
  return true;
}

/** Inspects held slots and their jobs, as many as one transaction should. Read it stale. */
export async function inspectSlots(
  ctx: HostQueryCtx,
  { from, began: known = [] }: InspectArgs,
): Promise<Inspected> {
  const now = Date.now();
  const found: Inspected = { suspects: [], began: [], running: false, next: null };
  const slots: Slot[] = await ctx.db
    .query("slots")
    .withIndex("by_number", (q) => q.gte("number", from))
    .collect();
  for (const slot of slots) {
    const { _id, number, job: jobId, work, startedAt, timeoutMs } = slot;
    if (work === undefined || jobId === undefined) continue;
    if (number > from && !(await hasRoom(ctx, ROOM_TO_INSPECT))) return { ...found, next: number };
    const job = await ctx.db.system.get("_scheduled_functions", jobId);
    // A function that has not begun has all of its time before it.
    const hasBegun = job?.state.kind === "inProgress" && timeoutMs !== undefined;
    const seen = known.filter(
      (each) => each.job === jobId && each.at === (slot.beganAt ?? each.at),
    );
    const at = hasBegun ? (slot.beganAt ?? seen[0]?.at ?? now) : now;
    let deadline = at + (timeoutMs ?? 0) + GRACE_MS;
    // Others with other timeouts may have begun with it, in one function, and been late after it.
    const late = seen.flatMap(({ lateAt = 0 }) => (lateAt >= deadline ? [lateAt] : []));
    const lateAt = hasBegun && now >= deadline ? Math.min(now, ...late) : undefined;
    if (lateAt !== undefined) deadline = lateAt + STALE_MS;
    const overdue = lateAt !== undefined && now >= deadline;
    if ((await lossOf(ctx, job, slot, overdue)) !== null) {
      found.suspects.push({ number, slot: _id, job: jobId, overdue });
      continue;
    }
    found.running = true;
    if (timeoutMs === undefined) {
      found.oldestStart = least(found.oldestStart, startedAt);
      continue;
    }
    if (hasBegun && (slot.beganAt === undefined || lateAt !== undefined))
      found.began.push({ job: jobId, at, lateAt });
    found.nextDeadline = least(found.nextDeadline, deadline);
    found.shortestTimeoutMs = least(found.shortestTimeoutMs, timeoutMs);
  }
  return found;
}

/** Why a job will never report; null if it may. */
async function lossOf(
  ctx: HostQueryCtx,
  job: Job | null,
  { timeoutMs }: Slot,
  overdue = false,
): Promise<string | null> {
  if (job === null) return "its scheduled function is gone";
  if (job.state.kind === "failed") return `its scheduled function failed: ${job.state.error}`;
  if (job.state.kind === "canceled") return "its scheduled function was canceled";
  if (job.state.kind === "success")
    return (await reportsLater(ctx, job)) ? null : lossOfCall(undefined);
  if (job.state.kind === "inProgress" && overdue)
    return `it has not reported ${timeoutMs} ms after its begin, its timeout`;
  return null;
}

/**
 * Says whether a function ran for so long that it may have scheduled its report at its end. That is
 * repeated when writes are accepted again, which a sweep that came late tells.
 */
async function reportsLater(
  ctx: HostQueryCtx,
  { scheduledTime, completedTime = scheduledTime }: Job,
): Promise<boolean> {
  if (completedTime - scheduledTime < SCHEDULES_MS) return false;
  if (Date.now() < completedTime + LATER_MS) return true;
  const { heldUpAt = 0 } = (await readWatch(ctx)) ?? {};
  return Date.now() < Math.min(heldUpAt, completedTime + HELD_UP_MS) + LATER_MS;
}

function lossOfCall(error: string | undefined): string {
  if (error === undefined) return "its scheduled function ended without reporting";
  return `its scheduled function failed: ${error}`;
}

/** Says whether a function no longer exists: then it cannot be scheduled. */
async function isGone(ctx: MutationCtx, fn: string): Promise<boolean> {
  try {
    await ctx.scheduler.cancel(
      await ctx.scheduler.runAfter(STALE_MS, fn as FunctionHandle<"action">, {}),
    );
    return false;
  } catch {
    return true;
  }
}
