import type { GenericId } from "convex/values";
import type { AttemptToRun, Host, JobId, MutationCtx, Slot, Work } from "./context.js";
import type { Kept } from "./told.js";
import { startQueued } from "./hand-over.js";
import { leaveQueueAt } from "./queue.js";
import { hasRoom, ROOM_TO_COMPLETE } from "./room.js";
import { confirmFree, handOversOf, mayHandOver } from "./slots.js";
import { attemptOf, hold, type Taken } from "./starts.js";

/* How an executor fills slots: with what follows, with what has waited, and from the queue. */

/** Gives slots to what follows in them, unless others have waited long. `freed`: the others. */
export async function follow(
  ctx: MutationCtx,
  host: Host,
  kept: readonly Kept[],
): Promise<{ followed: Taken[]; freed: Slot[] }> {
  const followed: Taken[] = [];
  const freed: Slot[] = [];
  for (const { slot, next } of kept) {
    const goesOn =
      next !== undefined && mayHandOver(slot) && (await hasRoom(ctx, ROOM_TO_COMPLETE));
    const work = goesOn ? await leaveQueueAt(ctx, host, next.row) : null;
    const args = work === null ? null : await attemptOf(ctx, host, work);
    const handOvers = handOversOf(slot);
    if (work !== null && args !== null)
      followed.push({
        slot: slot._id,
        args: { ...args, ...next?.with },
        work,
        held: slot,
        handOvers,
      });
    else if (work === null || !(await startQueued(ctx, host, slot, work, handOvers)))
      freed.push(slot);
  }
  return { followed, freed };
}

/** Gives slots to works that hold their permits. Both lists keep what is left. */
export async function place(
  ctx: MutationCtx,
  host: Host,
  works: Work[],
  slots: Slot[],
): Promise<Taken[]> {
  const taken: Taken[] = [];
  while (works.length > 0 && slots.length > 0) {
    const work = works.shift()!;
    const held = slots[0]!;
    const args = await attemptOf(ctx, host, work);
    const handOvers = handOversOf(held);
    if (args !== null) taken.push({ slot: held._id, args, work, held, handOvers });
    if (args !== null || (await startQueued(ctx, host, held, work, handOvers))) slots.shift();
  }
  return taken;
}

/**
 * Takes works off the queue for slots: those that have just been freed, then other free ones.
 * @returns them, with the freed slots and the works that are left.
 */
export async function take(
  ctx: MutationCtx,
  host: Host,
  rows: readonly GenericId<"waiting">[],
  kept: readonly Slot[],
  free: readonly Slot["_id"][],
): Promise<{ taken: Taken[]; left: Slot[]; rest: GenericId<"waiting">[]; free: Slot["_id"][] }> {
  const taken: Taken[] = [];
  const [ids, left, others] = [[...rows], [...kept], [...free]];
  while (ids.length > 0 && (await hasRoom(ctx, ROOM_TO_COMPLETE))) {
    const [freed] = left;
    const other = freed === undefined ? others.shift() : undefined;
    const slot = freed ?? (other && (await confirmFree(ctx, other)));
    if (slot === undefined) break;
    if (slot === null) continue;
    for (let isHeld = false; !isHeld && ids.length > 0;) {
      const work = await leaveQueueAt(ctx, host, ids.shift()!);
      if (work === null) continue;
      const args = await attemptOf(ctx, host, work);
      if (args !== null) taken.push({ slot: slot._id, args, work, held: slot });
      isHeld = args !== null || (await startQueued(ctx, host, slot, work));
      if (isHeld && freed !== undefined) left.shift();
    }
  }
  return { taken, left, rest: ids, free: others };
}

/** Has a running executor run works. @returns what it gets of them. */
export async function holdAll(
  ctx: MutationCtx,
  host: Host,
  taken: readonly Taken[],
  { job }: { readonly job: JobId },
): Promise<AttemptToRun[]> {
  const by = { job, beganAt: Date.now() };
  for (const each of taken) await hold(ctx, host, each, by);
  const attempts = taken.map(({ slot, args }) => ({ slot, args }));
  return [...((await host.executes?.prepare?.(ctx, attempts)) ?? attempts)];
}
