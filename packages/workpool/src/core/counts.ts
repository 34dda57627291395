import { type Infer, v } from "convex/values";
import type { HostCtx, SlotId } from "./context.js";
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

/** The counts that the next write of a slot takes along, once. */
export function takeCounts(ctx: HostCtx, slot: SlotId): { counts?: SlotCounts } {
  const { counts: ofSlots } = poolTx(ctx);
  const counts = ofSlots.get(slot);
  ofSlots.delete(slot);
  return counts === undefined ? {} : { counts };
}
