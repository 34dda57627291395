import { type GenericId, type ObjectType, v } from "convex/values";
import { applyConfig, changedFor, type Config } from "./config.js";
import type { Gate, Host, HostCtx, HostQueryCtx, MutationCtx, Work } from "./context.js";
import { readDrain, ringDrain, wakeDrain } from "./drain.js";
import { closeGate, ensureGate, lacksPlaces, noteGate, readGate } from "./gate.js";
import { startQueued } from "./hand-over.js";
import { cancelPending } from "./jobs.js";
import { anyWaits, joinQueue, leaveQueueAt, queueHead } from "./queue.js";
import { claimable, freeSlots } from "./slots.js";
import { readWatch, watchTheWatchdog } from "./watch.js";

/*
 * In a burst, most transactions wait for their turn with the snapshot that they had before. By then
 * the first have changed the pool, so whoever looks at it conflicts with them. So those that have
 * waited look at nothing: they queue their works, and schedule a function that looks for them.
 */

/** A transaction has waited for its turn if its code began so many ms after its snapshot. */
const WAITED_MS = 10;
/** So much later the function comes again, if the first was lost. */
const LOST_AFTER_MS = 30_000;

/** The gate as an enqueue has found it. If it `waited`, nothing depends on it. */
export type FoundGate = Gate & { readonly waited?: true };

/** Applies the config. @param waitedMs how long this transaction waited before its code began. */
export async function findGate(
  ctx: HostCtx,
  host: Host,
  config: Config,
  waitedMs: number,
): Promise<FoundGate> {
  if (waitedMs > WAITED_MS) {
    const { gate } = await ctx.runQuery(host.functions.look, {}, { useStaleSnapshot: true });
    if (gate?.open === true && Object.keys(changedFor(gate, config)).length === 0) {
      noteGate(ctx, gate);
      return { ...gate, waited: true };
    }
  }
  return (await applyConfig(ctx, host, config)) ?? (await ensureGate(ctx));
}

/** Queues works without a look. A function looks after them, unless works need its place. */
export async function joinUnseen(ctx: MutationCtx, host: Host, gate: Gate, works: readonly Work[]) {
  const rows: GenericId<"waiting">[] = [];
  for (const work of works) rows.push(await joinQueue(ctx, work));
  const { ring } = host.functions;
  const first = rows[0]!;
  const check = await ctx.scheduler.runAfter(LOST_AFTER_MS, ring, { first });
  if (await lacksPlaces(ctx)) {
    await closeGate(ctx, gate);
    await ringDrain(ctx, host, await readDrain(ctx));
  } else await ctx.scheduler.runAfter(0, ring, { first, check });
}

/** The gate, and whether this work and those behind it are looked after. Read it stale. */
export async function look(ctx: HostQueryCtx, { first }: { first?: GenericId<"waiting"> }) {
  const gate = await readGate(ctx);
  // The work has left the queue, or the snapshot is too old to have it.
  const row = first === undefined ? null : await ctx.db.get("waiting", first);
  if (gate === null || row === null) return { gate, isServed: false };
  if (gate.open) return { gate, isServed: (await queueHead(ctx, { count: 1 }))[0] !== first };
  const drain = await readDrain(ctx);
  const watch = await readWatch(ctx);
  const isServed = gate.maxParallelism === 0 || (drain?.pauses !== true && watch?.watched === true);
  return { gate, isServed };
}

export const ringArgs = {
  first: v.id("waiting"),
  check: v.optional(v.id("_scheduled_functions")),
};
type RingArgs = ObjectType<typeof ringArgs>;

/** Looks after works that joined the queue unseen. Of many of them, the oldest work's does it. */
export async function ringQueue(ctx: HostCtx, host: Host, { first, check }: RingArgs) {
  if (check !== undefined) await cancelPending(ctx, check);
  const stale = { useStaleSnapshot: true };
  const { isServed } = await ctx.runQuery(host.functions.look, { first }, stale);
  if (isServed) return;
  const gate = await ensureGate(ctx);
  if (gate.open && (await startAlone(ctx, host, gate, first))) return;
  if (!gate.open || (await anyWaits(ctx))) await serve(ctx, host, gate);
}

/** Starts a work in a free slot if no other waits, as its enqueue would have done. */
async function startAlone(ctx: MutationCtx, host: Host, gate: Gate, id: GenericId<"waiting">) {
  const [row, other] = await ctx.db.query("waiting").withIndex("by_commit").take(2);
  if (row?._id !== id || other !== undefined) return false;
  const [slot] = (await claimable(ctx, host, gate, 1)).slots;
  const work = slot === undefined ? null : await leaveQueueAt(ctx, id);
  return slot !== undefined && work !== null && (await startQueued(ctx, host, slot, work));
}

/** Closes the gate if it is open, and begins a drain, which hands out the slots that are left. */
export async function serve(ctx: MutationCtx, host: Host, gate: Gate, started = 0, busy = true) {
  if (gate.open) {
    await closeGate(ctx, gate);
    const noneIsLeft =
      started === gate.maxParallelism || (!busy && (await freeSlots(ctx, 0, 1)).length === 0);
    if (!noneIsLeft) await ringDrain(ctx, host, await readDrain(ctx));
  } else await wakeDrain(ctx, host);
  if (started === 0) await watchTheWatchdog(ctx, host, gate);
}
