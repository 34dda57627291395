import { type Infer, v } from "convex/values";

// Apart from the functions that use them: those modules import each other, and a validator is needed while they load.

/** Names an attempt of a work, and the slot that it runs in. */
export const vAttempt = {
  workId: v.id("works"),
  attempt: v.number(),
  slot: v.id("slots"),
};

/** How an attempt ended. */
export const vOutcome = v.union(
  v.object({ kind: v.literal("success"), returnValue: v.any() }),
  v.object({ kind: v.literal("failed"), error: v.string(), retryable: v.boolean() }),
);
export type Outcome = Infer<typeof vOutcome>;
