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
export type Counted = keyof Counts;

export const NOTHING_COUNTED: Counts = { succeeded: 0, failed: 0, retries: 0, canceled: 0 };

const combined = (count: (what: Counted) => number): Counts =>
  // These are all of them.
  Object.fromEntries(
    Object.keys(NOTHING_COUNTED).map((what) => [what, count(what as Counted)]),
  ) as Counts;

export const sumOf = (a: Counts, b: Counts): Counts => combined((what) => a[what] + b[what]);

/**
 * Returns what was added since `before`. Not negative: a slot that is removed takes its counts
 * along.
 */
export const countsSince = (before: Counts, after: Counts): Counts =>
  combined((what) => Math.max(0, after[what] - before[what]));

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
  const all = { ...sumOf(counts, before ?? NOTHING_COUNTED), askedAt: (before ?? counts).askedAt };
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
