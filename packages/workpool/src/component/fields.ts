import { type Infer, v } from "convex/values";
import { vLogLevel, vResultKind, vRetryBehavior } from "../core/index.js";
import { vWorkKind } from "./schema.js";

// Apart from the functions that use them: those modules import each other while they load.

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

/** What works that are enqueued together have in common: all but their arguments. */
export const enqueueFields = {
  kind: vWorkKind,
  /** The handle of the function to run. */
  fn: v.string(),
  /** Names the work in messages. */
  name: v.optional(v.string()),
  /** When to start, in ms since the epoch. Default: at once. */
  runAt: v.optional(v.number()),
  /** Default: a failure is not tried again. */
  retry: v.optional(vRetryBehavior),
  /** The handle of the mutation to call at the end, its context, and the results it is not called for. */
  onComplete: v.optional(
    v.object({
      fn: v.string(),
      context: v.optional(v.any()),
      excludeKinds: v.optional(v.array(vResultKind)),
    }),
  ),
  /** The class's own options: applied if they differ from those that the class gave last. */
  maxParallelism: v.optional(v.number()),
  logLevel: v.optional(vLogLevel),
};
const vEnqueue = v.object(enqueueFields);
export type Enqueue = Infer<typeof vEnqueue>;
