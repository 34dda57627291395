import type { HostMutationCtx, PoolHost } from "./context.js";
import { readDrain, ringDrain } from "./drain.js";
import { addSlots, checkMaxParallelism, ensureGate } from "./gate.js";
import { anyWaits } from "./line.js";
import { keepLooking } from "./watch.js";

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
  const waits = await anyWaits(ctx);
  const open = maxParallelism > 0 && !waits;
  await ctx.db.patch("gate", gate._id, { maxParallelism, open, closedAt: undefined });
  if (!waits || maxParallelism === 0) return;
  await ringDrain(ctx, host, await readDrain(ctx));
  await keepLooking(ctx, host);
}
