import { type Infer, v } from "convex/values";
import type { HostCtx, MutationCtx, Slot, SlotId } from "./context.js";
import { poolTx } from "./transaction.js";

export const vCounts = v.object({
  succeeded: v.number(),
  /** Failed for good. */
  failed: v.number(),
  /** Failed, and to be tried again. */
  retries: v.number(),
  canceled: v.number(),
});
export type Counts = Infer<typeof vCounts>;

/** The counts of a slot, which completions write anyway. */
export const vSlotCounts = v.object({
  ...vCounts.fields,
  /** When an end in this slot last asked whether a report is due; ms since the epoch. */
  askedAt: v.number(),
});
export type SlotCounts = Infer<typeof vSlotCounts>;

/** Adds what was counted in a slot to what is counted in another. */
export async function addCounts(ctx: MutationCtx, to: Slot, counts: SlotCounts): Promise<void> {
  const { counts: ofSlots } = poolTx(ctx);
  const before = ofSlots.get(to._id) ?? to.counts;
  const sum = (what: keyof Counts) => counts[what] + (before?.[what] ?? 0);
  const all = {
    succeeded: sum("succeeded"),
    failed: sum("failed"),
    retries: sum("retries"),
    canceled: sum("canceled"),
    askedAt: before?.askedAt ?? counts.askedAt,
  };
  // A write of the slot that is still to come takes them along.
  if (ofSlots.has(to._id)) ofSlots.set(to._id, all);
  else await ctx.db.patch("slots", to._id, { counts: all });
}

/** The counts that the next write of a slot takes along, once. */
export function takeCounts(ctx: HostCtx, slot: SlotId): { counts?: SlotCounts } {
  const { counts: ofSlots } = poolTx(ctx);
  const counts = ofSlots.get(slot);
  ofSlots.delete(slot);
  return counts === undefined ? {} : { counts };
}
