import type { HostMutationCtx, PoolHost } from "./context.js";
import { addSlots, checkMaxParallelism, ensureGate } from "./gate.js";
import { leaveLineFirst } from "./line.js";
import { passToLine } from "./pass.js";
import { hasRoom, ROOM_TO_COMPLETE } from "./room.js";
import { freeSlots } from "./slots.js";
import { keepLooking, watchTheWatchdog } from "./watch.js";

/**
 * Sets how many works run at once. Raised: waiting works start in the new slots at once. Lowered: works that run go on, and their slots
 * disappear as they end. 0 pauses: nothing starts, completions are still taken in.
 * @throws where it is not a whole number from 0 to 200.
 */
export async function setMaxParallelism(
  ctx: HostMutationCtx,
  host: PoolHost,
  maxParallelism: number,
): Promise<void> {
  checkMaxParallelism(maxParallelism);
  const gate = await ensureGate(ctx, maxParallelism);
  if (gate.maxParallelism === maxParallelism) return;
  const slots = await ctx.db.query("slots").withIndex("by_number").collect();
  for (const slot of slots) {
    if (slot.number >= maxParallelism && slot.work === undefined)
      await ctx.db.delete("slots", slot._id);
  }
  const kept = new Set(slots.map((slot) => slot.number));
  for (let number = 0; number < maxParallelism; number++)
    if (!kept.has(number)) await addSlots(ctx, number, number + 1);
  await ctx.db.patch("gate", gate._id, {
    maxParallelism,
    open: false,
    closedAt: undefined,
    draining: undefined,
  });
  await drainLine(ctx, host);
  const changed = await ensureGate(ctx);
  if (changed.watched === true) await watchTheWatchdog(ctx, host, changed);
}

/**
 * Starts waiting works in the slots that are free, oldest first, and opens the gate where less waits than is free. Where none is free, a
 * completion will open it. Needed only after a change of `maxParallelism`: no work waits while a slot is free otherwise.
 *
 * One transaction starts as many as fit into it, and has the rest started by the next. Two that run at once do no harm. Each look of the
 * watchdog is one, and there are looks until a drain has come to its end: so one that is lost, or throws, is made up for.
 */
export async function drainLine(ctx: HostMutationCtx, host: PoolHost): Promise<void> {
  const gate = await ensureGate(ctx);
  if (gate.open || gate.maxParallelism === 0) return;
  for (const slot of await freeSlots(ctx, gate.maxParallelism)) {
    if (host.drainLine !== undefined && !(await hasRoom(ctx, ROOM_TO_COMPLETE))) {
      await ctx.scheduler.runAfter(0, host.drainLine, {});
      if (gate.draining !== true) await ctx.db.patch("gate", gate._id, { draining: true });
      await keepLooking(ctx, host);
      return;
    }
    if (!(await passToLine(ctx, host, gate, slot._id, () => leaveLineFirst(ctx), true))) return;
  }
  if (gate.draining === true) await ctx.db.patch("gate", gate._id, { draining: undefined });
}
