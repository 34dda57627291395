import type { Doc, HostMutationCtx, PoolHost, SlotId, Work } from "./context.js";
import { ensureGate } from "./gate.js";
import { joinLine, leaveLineNearFirst } from "./line.js";
import { passToLine } from "./pass.js";
import { findFreeSlot, freeSlot, freeSlots, startInSlot } from "./slots.js";

/** While others wait, a slot is handed to a successor at most so often in a row … */
const MAX_HAND_OVERS = 10;
/** … and for at most so long, in ms; then the successor queues. */
const MAX_HELD_MS = 2_000;

/**
 * Starts a work if a slot is free, else puts it in line.
 *
 * Gate open: takes a free slot; nothing else runs for it. None: the work waits, *and the gate is written closed*. Gate closed: the
 * work waits. A completion that at the same moment finds nothing waiting writes the gate open, so the two conflict and one of them
 * runs again: no wake-up is lost.
 *
 * @throws where the work's function does not exist.
 */
export async function enqueueWork(
  ctx: HostMutationCtx,
  work: Work,
): Promise<"started" | "waiting"> {
  const gate = await ensureGate(ctx);
  if (gate.open) {
    const slot = await findFreeSlot(ctx, gate.maxParallelism, work.work);
    if (slot !== null) {
      await startInSlot(ctx, slot._id, work, { count: 0, since: Date.now() });
      return "started";
    }
    await ctx.db.patch("gate", gate._id, { open: false });
  }
  await joinLine(ctx, work);
  return "waiting";
}

/**
 * Starts as many of the works, in their order, as there are free slots, and puts the others in line. The same as `enqueueWork` for
 * each, but it looks at the gate and for slots once.
 * @throws where a work's function does not exist.
 */
export async function enqueueWorks(ctx: HostMutationCtx, works: readonly Work[]): Promise<void> {
  const gate = await ensureGate(ctx);
  const free = gate.open ? await freeSlots(ctx, works.length) : [];
  for (const [index, work] of works.entries()) {
    const slot = free[index];
    if (slot === undefined) await joinLine(ctx, work);
    else await startInSlot(ctx, slot._id, work, { count: 0, since: Date.now() });
  }
  if (gate.open && free.length < works.length)
    await ctx.db.patch("gate", gate._id, { open: false });
}

/**
 * Ends a work's hold on its slot, and starts its successor if it has one: in the same slot, unless others have waited too long.
 * A slot that the work does not hold (any more) is left alone.
 */
export async function completeWork(
  ctx: HostMutationCtx,
  host: PoolHost,
  ended: { work: string; slot: SlotId | undefined },
  successor?: Work,
): Promise<void> {
  const slot = ended.slot === undefined ? null : await ctx.db.get("slots", ended.slot);
  if (slot === null || slot.work !== ended.work) {
    if (successor !== undefined) await enqueueWork(ctx, successor);
    return;
  }
  const gate = await ensureGate(ctx);
  const surplus = slot.number >= gate.maxParallelism;
  if (successor !== undefined && !surplus && (gate.open || mayHandOver(slot))) {
    await startInSlot(ctx, slot._id, successor, {
      count: slot.handOvers + 1,
      since: slot.heldSince,
    });
    return;
  }
  // The successor stands in line before the slot is given away, so that it is found if nobody else waits.
  if (successor !== undefined) await joinLine(ctx, successor);
  if (surplus) await ctx.db.delete("slots", slot._id);
  else if (gate.open) await freeSlot(ctx, slot._id);
  else
    await passToLine(ctx, host, gate, slot._id, () =>
      leaveLineNearFirst(ctx, host, gate.maxParallelism),
    );
}

function mayHandOver(slot: Doc<"slots">): boolean {
  return slot.handOvers < MAX_HAND_OVERS && Date.now() - slot.heldSince < MAX_HELD_MS;
}
