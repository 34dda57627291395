import { type GenericId, type Infer, type ObjectType, v } from "convex/values";
import type { Slot } from "./context.js";
import type { GivenBack } from "./limits/wake.js";

/* What an executor reports, and what it is told. */

const vAttemptToRun = v.object({ slot: v.id("slots"), args: v.any() });
/** What has joined the queue to follow a work, and what an executor gets beside. */
export interface Follows {
  readonly row: GenericId<"waiting">;
  readonly with: object;
}
/** A slot whose work has ended in a report, and the permits that were given back. */
export interface Kept {
  readonly slot: Slot;
  readonly next: Follows | undefined;
  readonly permits: readonly string[];
}

/** What was given back. @param running what the executor runs still. */
export const givenBackBy = (kept: readonly Kept[], running: number): GivenBack => ({
  permits: kept.flatMap(({ permits }) => permits),
  running,
  after: kept.findLast(({ slot }) => slot.turn !== undefined)?.slot.turn,
});

export const reportArgs = {
  range: v.number(),
  /** The works that the executor runs and that have not ended. */
  running: v.number(),
  /** How many times in a row it has found nothing. */
  inVain: v.number(),
  lane: v.number(),
  calledAt: v.number(),
  /** Another is to go on in its place. */
  isOver: v.boolean(),
  /** How many works it may have ahead. Default: none. */
  ahead: v.optional(v.number()),
  /** The seats that it holds: see ahead.ts. Default: none. */
  seats: v.optional(v.array(v.id("slots"))),
};
export type Report = ObjectType<typeof reportArgs>;

export const vReported = v.object({
  next: v.array(vAttemptToRun),
  asks: v.boolean(),
  lane: v.number(),
  /** The seats that it holds now. Default: none. */
  seats: v.optional(v.array(v.id("slots"))),
  /** It is to give back what it has not begun. */
  givesBack: v.optional(v.boolean()),
});
export type Reported = Infer<typeof vReported>;
