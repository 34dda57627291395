import type { Gate, Host, HostCtx } from "./context.js";
import { readDrain, ringDrain, stopDrain } from "./drain.js";
import { addSlots, checkMaxParallelism, ensureGate } from "./gate.js";
import { ringAllLines } from "./limits/lines.js";
import { numbersOf, pauseOf, POOL } from "./limits/overrides.js";
import { lanesOf } from "./queue.js";
import { OFFERED, slotOf } from "./slots.js";
import { keepSweeping, reviveWatch } from "./watch.js";

/** Says whether an operator's number or pause holds in the place of `maxParallelism`. */
export function isOverridden(gate: Gate | null): boolean {
  return gate?.configured !== undefined;
}

/** The `maxParallelism` of the code, or of `config.update`. */
export const configuredOf = ({ configured, maxParallelism }: Gate): number =>
  configured ?? maxParallelism;

/** Sets it, or what an override or a pause leaves when it ends. @throws if out of range. */
export async function setMaxParallelism(ctx: HostCtx, host: Host, maxParallelism: number) {
  checkMaxParallelism(maxParallelism);
  const gate = await ensureGate(ctx, maxParallelism);
  if (isOverridden(gate))
    return await ctx.db.patch("gate", gate._id, { configured: maxParallelism });
  await setSlots(ctx, host, gate, maxParallelism);
  // While it was 0, nobody came back for those that wait for a rate.
  if (gate.maxParallelism === 0) await ringAllLines(ctx, host);
}

/** Has what was said of the pool hold, or no longer: see limits/overrides.ts. */
export async function applyOverrides(ctx: HostCtx, host: Host, gate: Gate): Promise<void> {
  const [numbers, pause] = [numbersOf(gate, { name: POOL }), pauseOf(gate, { name: POOL })];
  const configured = configuredOf(gate);
  const isSaid = numbers !== undefined || pause !== undefined;
  await ctx.db.patch("gate", gate._id, { configured: isSaid ? configured : undefined });
  const most = pause === undefined ? (numbers?.total ?? configured) : 0;
  await setSlots(ctx, host, gate, most);
}

/**
 * Fills new slots at once; surplus ones are held until their works end, or stay free, and nobody
 * takes them. While many works wait, slots and the queue change all the time: so it reads none of
 * those that there were, and not whether any waits. If the gate is closed, a drain finds that out.
 */
async function setSlots(ctx: HostCtx, host: Host, gate: Gate, maxParallelism: number) {
  if (gate.maxParallelism === maxParallelism) return;
  await addSlots(ctx, gate.maxParallelism, maxParallelism);
  // A callback may have lowered it.
  const offered = await slotOf(ctx, OFFERED);
  if (offered !== null && offered.number >= maxParallelism)
    await ctx.db.delete("slots", offered._id);
  const open = gate.open && maxParallelism > 0;
  // Works that come during a pause are spread as before it.
  const lanes = open ? undefined : lanesOf(gate);
  await ctx.db.patch("gate", gate._id, { maxParallelism, open, closedAt: undefined, lanes });
  const drain = await readDrain(ctx);
  // While one is on, the gate may be open to look whether some wait still.
  if (maxParallelism > 0 && (!open || drain?.on === true)) {
    // One that was lost would be relied on.
    await ringDrain(ctx, host, drain);
    await keepSweeping(ctx, host);
  } else if (drain?.on === true) await stopDrain(ctx, host, drain);
  else await reviveWatch(ctx, host);
}
