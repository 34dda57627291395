import type { Gate, Host, HostCtx, MutationCtx, Slot } from "./context.js";
import { type DrainArgs, endDrain, PAUSE_MS, readDrain } from "./drain.js";
import { closeGate, mayOpen, openGate, readGate } from "./gate.js";
import { anyWaits, leaveQueueAt, seemToWait, seeQueueForAll } from "./queue.js";
import { startQueued } from "./hand-over.js";
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
  const { generation, quiet = 0 } = args;
  const drain = await readDrain(ctx);
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
    await ctx.scheduler.runAfter(ms, host.functions.drainQueue, { generation, quiet: rounds });
  };
  const seen = await seeFreeSlots(ctx, host, gate);
  // A completion that sees a drain frees its slot: only a serializable read shows that none did.
  const free = seen.length > 0 ? seen : await freeSlots(ctx, 0, gate.maxParallelism);
  if (free.length === 0) {
    // With the gate open, completions would not hand their slots on.
    if (gate.open && (await anyWaits(ctx))) await closeGate(ctx, gate);
    return await endDrain(ctx, host, drain);
  }
  const started = await handOut(ctx, host, gate, free);
  if (started > 0) return await again(0, 0);
  if (await seemToWait(ctx, host, 1)) return await again(0, 0);
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

/** Gives free slots to waiting works. @returns to how many. */
async function handOut(
  ctx: MutationCtx,
  host: Host,
  gate: Gate,
  free: readonly Pick<Slot, "_id" | "number">[],
): Promise<number> {
  const ids = await seeQueueForAll(ctx, host, gate, free);
  let started = 0;
  for (const { _id } of free) {
    if (ids.length === 0 || !(await hasRoom(ctx, ROOM_TO_COMPLETE))) break;
    const slot = await confirmFree(ctx, _id);
    for (let taken = slot === null; !taken && ids.length > 0;) {
      const work = await leaveQueueAt(ctx, ids.shift()!);
      taken = work !== null && (await startQueued(ctx, host, slot!, work));
      if (taken) started += 1;
    }
  }
  return started;
}
