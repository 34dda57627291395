import type { Executor, Host, HostCtx, JobId, MutationCtx, Slot } from "../context.js";
import { PAUSE_MS, ringUnlessOn } from "../drain.js";
import { holdAll, place, take } from "../fill-slots.js";
import { knownGate } from "../gate.js";
import { isAsking, OF_LIMITS, own, WIDTH } from "../owners.js";
import { anyWaits } from "../queue.js";
import { freeSlot } from "../slots.js";
import { isShort, startOwner, startWoken } from "../starts.js";
import { type Kept, type Report, type Reported } from "../told.js";
import { type GivenBack, wakeLines } from "./wake.js";

/**
 * With the gate open: goes on with what has waited for permits that are given back, and with what
 * others have left in the queue to the executor of limits.
 * @param ofLimits that executor's document.
 */
export async function goOnOpen(
  ctx: HostCtx,
  host: Host,
  me: JobId,
  ofLimits: Executor | null,
  { running, lane, isOver }: Report,
  { kept, given }: { readonly kept: readonly Kept[]; readonly given: GivenBack },
): Promise<Reported> {
  const { maxParallelism } = await knownGate(ctx);
  const slots: Slot[] = [];
  for (const { slot } of kept)
    if (slot.number < maxParallelism) slots.push(slot);
    else await ctx.db.delete("slots", slot._id);
  const owner = ofLimits?.job === me ? ofLimits : null;
  const room = owner === null && isAsking(ofLimits) ? 0 : Infinity;
  const woken = await wakeLines(ctx, host, given, room);
  const mine = await place(ctx, host, woken, slots);
  await startWoken(ctx, host, woken);
  const wasAsking = owner?.asks === true;
  const count = wasAsking ? Math.max(0, WIDTH - running - mine.length) : 0;
  const rows = wasAsking ? await seeLeft(ctx, host, maxParallelism, count, slots.length) : null;
  const { taken: others, left } = await take(ctx, host, rows?.rows ?? [], slots, rows?.free ?? []);
  for (const { _id } of left) await freeSlot(ctx, _id);
  const taken = [...mine, ...others];
  const holds = running + taken.length;
  const isPrompt = others.length > 0 || kept.some(({ slot }) => isShort(slot));
  const goesOn = isOver && taken.length > 0;
  const asks = owner !== null && !isOver && holds > 0 && holds < WIDTH && isPrompt;
  if (goesOn) await startOwner(ctx, host, OF_LIMITS, isPrompt, taken);
  else if (owner !== null && (asks !== owner.asks || holds === 0))
    await own(ctx, host, owner, OF_LIMITS, { job: holds === 0 ? undefined : me, asks });
  const areMore = (rows?.rows.length ?? 0) > others.length;
  // Works may have been left to one whose document this has overwritten, too.
  const wasLeftTo = wasAsking || (goesOn && ofLimits?.asks === true);
  if (wasLeftTo && (areMore || (!asks && (await anyWaits(ctx)))))
    await ringUnlessOn(ctx, host, PAUSE_MS);
  return { next: goesOn ? [] : await holdAll(ctx, host, taken, { job: me }), asks, lane };
}

/** What was left to the executor of limits, and free slots for it. */
async function seeLeft(ctx: MutationCtx, host: Host, hi: number, count: number, kept: number) {
  const anywhere = { lo: 0, hi, first: 0, end: 0, lane: 0, shares: false };
  const args = { ...anywhere, count, kept, more: 0 };
  return await ctx.runQuery(host.functions.seeForOwner, args, { useStaleSnapshot: true });
}
