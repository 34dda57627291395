import { type Infer, v } from "convex/values";

/**
 * The functions of running works with a timeout, and when a sweep first saw that they had begun.
 */
const vBegan = v.array(v.object({ job: v.id("_scheduled_functions"), at: v.number() }));

/** What a sweep has seen so far: carried from one of its transactions to the next. */
const vSeen = v.object({
  /** The slot number to go on from. */
  from: v.number(),
  /** How many works were lost. */
  lost: v.number(),
  /** The start of the oldest work without a timeout. */
  oldestStart: v.optional(v.number()),
  /** When the first timeout is over. */
  nextDeadline: v.optional(v.number()),
  shortestTimeoutMs: v.optional(v.number()),
  running: v.optional(v.boolean()),
  began: v.optional(vBegan),
});
export type Seen = Infer<typeof vSeen>;

/** Arguments of the host's `sweep`. */
export const sweepArgs = {
  generation: v.number(),
  seen: v.optional(vSeen),
  /** It is the one in reserve: it only schedules a sweep. */
  reserve: v.optional(v.boolean()),
};
const vSweepArgs = v.object(sweepArgs);
export type SweepArgs = Infer<typeof vSweepArgs>;

/** Arguments of the host's `inspect`. */
export const inspectArgs = { from: v.number(), began: v.optional(vBegan) };
const vInspectArgs = v.object(inspectArgs);
export type InspectArgs = Infer<typeof vInspectArgs>;

/** Arguments of the host's `recover`. */
export const recoverArgs = {
  slot: v.id("slots"),
  job: v.id("_scheduled_functions"),
  /** When the function was first seen to have begun. */
  beganAt: v.optional(v.number()),
  /** Its carrier has called the function, which has ended without a report. */
  call: v.optional(v.object({ fn: v.string(), error: v.optional(v.string()) })),
};
const vRecoverArgs = v.object(recoverArgs);
export type Suspect = Infer<typeof vRecoverArgs>;

/** What inspecting some of the slots gives. */
export const vInspected = v.object({
  /** Those whose work seems to be lost: to be confirmed. */
  suspects: v.array(v.object({ number: v.number(), ...recoverArgs })),
  oldestStart: v.optional(v.number()),
  nextDeadline: v.optional(v.number()),
  shortestTimeoutMs: v.optional(v.number()),
  began: vBegan,
  /** Whether a work runs that is not lost. */
  running: v.boolean(),
  /** The slot number to go on from; null after the last. */
  next: v.union(v.number(), v.null()),
  /** What the host has added for its `alsoSweep`. */
  added: v.optional(v.any()),
});
export type Inspected = Infer<typeof vInspected>;
