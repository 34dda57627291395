import { v } from "convex/values";

/**
 * Works of one kind, enqueued by one call into a pool of so many; both apps have `pools:enqueue`
 * for it.
 */
export const vWorks = v.object({
  kind: v.union(
    v.literal("action"),
    v.literal("busyAction"),
    v.literal("failingAction"),
    v.literal("largeAction"),
    v.literal("settlingAction"),
    v.literal("mutation"),
    v.literal("insertion"),
  ),
  count: v.number(),
  maxParallelism: v.number(),
  /** How long a busy action takes. */
  ms: v.number(),
  /** Of a start that is delayed, for how long. */
  runAfter: v.optional(v.number()),
  /** Of an app with several pools, which one. */
  pool: v.optional(v.string()),
});

/** The text that a large action gets and returns. */
export const largeText = "x".repeat(200_000);

/** How failing actions are retried: the default of both pools. */
export const retry = { maxAttempts: 5, initialBackoffMs: 250, base: 2 };
