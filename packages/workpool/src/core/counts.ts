import { type GenericId, type Infer, v } from "convex/values";
import type { HostCtx } from "./context.js";

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

/** Counts for this transaction's next write of a slot, by its database and the slot. */
const pending = new WeakMap<object, Map<GenericId<"slots">, SlotCounts>>();

/** Has the next write of the slot take the counts along: a write of its own would cost too much. */
export function countAlong(ctx: HostCtx, slot: GenericId<"slots">, counts: SlotCounts) {
  const ofSlots = pending.get(ctx.db) ?? new Map<GenericId<"slots">, SlotCounts>();
  pending.set(ctx.db, ofSlots.set(slot, counts));
}

export function takeCounts(ctx: HostCtx, slot: GenericId<"slots">) {
  const counts = pending.get(ctx.db)?.get(slot);
  pending.get(ctx.db)?.delete(slot);
  return counts === undefined ? {} : { counts };
}
