import type { Doc, Drain, Gate, Host, HostCtx, MutationCtx, Slot, SlotId } from "./context.js";
import {
  type DrainArgs,
  endDrain,
  isDrainLate,
  keepDrainOn,
  PAUSE_MS,
  readDrain,
  ringDrain,
  scheduleDrain,
} from "./drain.js";
import { closeGate, LATE_BEGIN_MS, mayOpen, openGate, readGate } from "./gate.js";
import { anyWaits, leaveQueueAt, seemToWait, seeQueueForAll } from "./queue.js";
import { attemptOf, startOwner, type Taken } from "./starts.js";
import { startQueued } from "./hand-over.js";
import {
  isAsking,
  LOOKS_EVERY_MS,
  ownerOf,
  rangeOf,
  type Ranges,
  rangesOf,
  scheduleLook,
  spanOf,
  sparesExecutors,
} from "./owners.js";
import { hasRoom, ROOM_TO_COMPLETE } from "./room.js";
import { confirmFree, freeSlots, seeFreeSlots } from "./slots.js";

/** After so many rounds in which it found nothing, in a row, a drain opens the gate. */
const QUIET_ROUNDS = 3;

/**
 * One round of a drain: gives free slots to waiting works, and schedules the next round.
 * It ends if no slot is free, as completions then hand theirs over, or opens the gate if nothing
 * waits.
 */
export async function drainQueue(ctx: HostCtx, host: Host, args: DrainArgs) {
  const { generation, quiet = 0, at = Infinity, leavesNone = false } = args;
  const drain = await readDrain(ctx);
  if (args.look !== undefined) return await lookAtLeft(ctx, host, drain, args.look);
  if (
    drain === null ||
    !drain.on ||
    // guard: drain-generation
    drain.generation !== generation
  )
    return;
  const gate = await readGate(ctx);
  if (gate === null || gate.maxParallelism === 0) return await endDrain(ctx, host, drain);
  const again = async (ms: number, rounds: number): Promise<void> => {
    await keepDrainOn(ctx, drain);
    await scheduleDrain(ctx, host, { generation, quiet: rounds }, ms);
  };
  const ranges = await rangesOf(ctx, gate);
  const mine = async (slots: Free) => await slotsToGive(ctx, host, ranges, slots, leavesNone);
  let free: Free = await seeFreeSlots(ctx, host, gate);
  let given = await mine(free);
  // A completion that sees a drain frees its slot: only a serializable read shows that none did.
  if (given.length === 0)
    given = await mine((free = await freeSlots(ctx, 0, gate.maxParallelism, gate.maxParallelism)));
  if (!leavesNone && sparesExecutors(host, ranges)) {
    const left = free.filter(({ number }) => number < ranges.cap).length - given.length;
    if (left > 0 && !(await seemToWait(ctx, host, left + 1))) given = [];
  }
  if (given.length === 0 && (free.length === 0 || (await seemToWait(ctx, host, 1)))) {
    // With the gate open, completions would not hand their slots on.
    if (gate.open && (await anyWaits(ctx))) await closeGate(ctx, gate);
    return await endDrain(ctx, host, drain);
  }
  const started = await handOut(ctx, host, gate, given, ranges);
  if (started.length > 0) return await again(0, 0);
  if (await seemToWait(ctx, host, 1)) return await again(0, 0);
  // What it has seen is from before its wait.
  if (Date.now() > at + LATE_BEGIN_MS && quiet < QUIET_ROUNDS) return await again(0, quiet + 1);
  if (gate.open) {
    // The round before has opened it: what was in the queue by then is served, and nothing joins
    // it.
    if (await anyWaits(ctx)) return await again(0, 0);
    return await endDrain(ctx, host, drain);
  }
  if (mayOpen(gate) && free.length * 4 >= gate.maxParallelism) {
    await openGate(ctx, gate);
    return await again(0, 0);
  }
  if (quiet + 1 < QUIET_ROUNDS && gate.maxParallelism > 1) return await again(PAUSE_MS, quiet + 1);
  if (await anyWaits(ctx)) return await again(0, 0);
  await openGate(ctx, gate);
  await endDrain(ctx, host, drain);
}

type Look = NonNullable<DrainArgs["look"]>;
type Free = readonly Pick<Slot, "_id" | "number" | "fair">[];

/** An owner with room takes the oldest work in this time: it asks every 50 ms. */
const STILL_WAITS_MS = 250;

/**
 * Sees to works that are left to an owner: if the oldest waits on and on, it has died, or cannot
 * report, and a drain begins that leaves nothing to owners.
 */
async function lookAtLeft(ctx: HostCtx, host: Host, drain: Drain | null, look: Look) {
  const { range, sawOldest } = look;
  const owner = await ownerOf(ctx, range);
  const gate = await readGate(ctx);
  if (gate === null || owner?.look?.at !== look.at || !owner.asks) return;
  const asks = isAsking(owner);
  const lookIn = async (ms: number, oldest?: typeof sawOldest) => {
    const next = await scheduleLook(ctx, host, { range, sawOldest: oldest }, ms);
    await ctx.db.patch("executors", owner._id, { look: next });
  };
  const isPaused = gate.maxParallelism === 0;
  // What is full needs no look. One that reads the queue would conflict with those that end.
  if (isPaused || (!gate.open && (await seeFreeSlots(ctx, host, gate, 1)).length === 0))
    return asks ? await lookIn(LOOKS_EVERY_MS) : undefined;
  const oldest: Doc<"waiting"> | null = await ctx.db.query("waiting").first();
  if (oldest === null && !asks && gate.open) return;
  const waitsFor = oldest === null ? 0 : Math.max(0, Date.now() - oldest._creationTime);
  if (asks && waitsFor < LOOKS_EVERY_MS) return await lookIn(LOOKS_EVERY_MS - waitsFor);
  if (drain?.on === true) return await lookIn(LOOKS_EVERY_MS);
  const rings = async () => await ringDrain(ctx, host, drain, 0, { leavesNone: true });
  if (!asks || oldest === null) return await rings();
  if (sawOldest === undefined) return await lookIn(STILL_WAITS_MS, oldest._id);
  if (sawOldest === oldest._id) await rings();
  await lookIn(LOOKS_EVERY_MS);
}

/** The slots that are not left to executors. @param leavesNone none is left to those that ask. */
async function slotsToGive(
  ctx: MutationCtx,
  host: Host,
  { cap }: Ranges,
  slots: Free,
  leavesNone: boolean,
) {
  if (host.executes === undefined) return slots;
  const asked = new Map<number, boolean>();
  const given: Free[number][] = [];
  for (const slot of slots) {
    const range = rangeOf(slot);
    if (!asked.has(range)) asked.set(range, !leavesNone && isAsking(await ownerOf(ctx, range)));
    if (slot.number < cap && asked.get(range) === false) given.push(slot);
  }
  return given;
}

/** Has a carrier do what a late drain should have done. @returns the slots it fills. */
export async function helpDrain(
  ctx: HostCtx,
  host: Host,
  room: number,
): Promise<readonly SlotId[]> {
  const gate = await readGate(ctx);
  if (gate === null || gate.open || !isDrainLate(await readDrain(ctx))) return [];
  const free = await seeFreeSlots(ctx, host, gate);
  return await handOut(ctx, host, gate, free.slice(0, room));
}

/** Gives free slots to waiting works. @param ranges for executors. @returns the slots. */
async function handOut(
  ctx: MutationCtx,
  host: Host,
  gate: Gate,
  free: Free,
  ranges?: Ranges,
): Promise<readonly SlotId[]> {
  const ids = await seeQueueForAll(ctx, host, gate, free);
  // For a lone work an executor is one more function, unless others follow soon.
  const executes = host.executes?.comeFromOutside === true || ids.length > 1 || free.length === 1;
  const together = new Map<number, Taken[]>();
  const filled: SlotId[] = [];
  for (const { _id } of free) {
    if (ids.length === 0 || !(await hasRoom(ctx, ROOM_TO_COMPLETE))) break;
    const slot = await confirmFree(ctx, _id);
    for (let taken = slot === null; !taken && ids.length > 0;) {
      const work = await leaveQueueAt(ctx, host, ids.shift()!);
      if (work === null) continue;
      const args = ranges && executes ? await attemptOf(ctx, host, work) : null;
      if (ranges && args !== null) {
        const range = rangeOf(slot!);
        const of = together.get(range) ?? [];
        together.set(range, [...of, { slot: _id, args, work, held: slot! }]);
      }
      taken = args !== null || (await startQueued(ctx, host, slot!, work));
      if (taken) filled.push(_id);
    }
  }
  for (const [range, works] of together) {
    const { lo, hi } = spanOf(ranges!, range);
    await startOwner(ctx, host, range, works.length < hi - lo, works);
  }
  return filled;
}
