import { type Infer, v } from "convex/values";

/** What a sweep has seen so far: carried from one of its transactions to the next. */
const vSeen = v.object({
  /** The slot number to go on from. */
  from: v.number(),
  /** How many works were lost. */
  lost: v.number(),
  /** The start of the oldest work without a timeout. */
  oldestStart: v.optional(v.number()),
  /** When the first timeout should be looked at. */
  nextDeadline: v.optional(v.number()),
  shortestTimeoutMs: v.optional(v.number()),
});
export type Seen = Infer<typeof vSeen>;

/** Arguments of the host's registration of `sweepSlots`. */
export const sweepArgs = { generation: v.number(), seen: v.optional(vSeen) };
const vSweepArgs = v.object(sweepArgs);
export type SweepArgs = Infer<typeof vSweepArgs>;

/** Arguments of the host's registration of `lookAtSlots`. */
export const lookArgs = { from: v.number() };

/** What a look at some of the slots gives. */
export const vLook = v.object({
  /** Those whose work seems to be lost: to be confirmed. */
  suspects: v.array(
    v.object({ number: v.number(), slot: v.id("slots"), job: v.id("_scheduled_functions") }),
  ),
  oldestStart: v.optional(v.number()),
  nextDeadline: v.optional(v.number()),
  shortestTimeoutMs: v.optional(v.number()),
  /** The slot number to go on from; null after the last. */
  next: v.union(v.number(), v.null()),
});
export type Look = Infer<typeof vLook>;

/** Arguments of the host's registration of `recoverSlot`. */
export const recoverArgs = { slot: v.id("slots"), job: v.id("_scheduled_functions") };
