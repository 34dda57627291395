import { defineTable } from "convex/server";
import { v } from "convex/values";

/**
 * The pool's tables. Whoever hosts the pool spreads them into its own schema, so that a work's record and its slot change in one
 * transaction.
 */
export const poolTables = {
  /**
   * One document, read by every enqueue and every completion and rarely written. Open: a slot may be free, and nothing waits.
   * Closed: something waits, or did a moment ago. Written by whoever finds no free slot (closes) or nothing waiting (opens).
   */
  gate: defineTable({
    open: v.boolean(),
    maxParallelism: v.number(),
  }),

  /**
   * One document per unit of `maxParallelism`. Written by the work that holds it, when it takes it and when it hands it on. A slot
   * without a `work` is free.
   */
  slots: defineTable({
    number: v.number(),
    /** The key of the work that runs here. */
    work: v.optional(v.string()),
    /** The scheduled function that runs it, in this component's `_scheduled_functions`. */
    job: v.optional(v.id("_scheduled_functions")),
    startedAt: v.number(),
    /** How often the slot was handed to a successor in a row, and since when. Both start anew with a work from the line. */
    handOvers: v.number(),
    heldSince: v.number(),
  })
    .index("by_number", ["number"])
    .index("by_work", ["work"]),

  /** The line of works that are due and have no slot. Written by an enqueue; deleted by the completion that starts the work, or by a cancel. */
  waiting: defineTable({
    work: v.string(),
    fn: v.string(),
    /** Null where they are large, or where the host keeps them. */
    args: v.any(),
    /** In the place of `args` where they are large, so that looking along the line stays cheap. */
    largeArgs: v.optional(v.id("largeArgs")),
    /** The order of commits: no row can appear before one that was seen. */
    at: v.commitTs(),
  })
    .index("by_commit", ["at"])
    .index("by_work", ["work"]),

  /** Arguments of waiting works from `INLINE_ARGS_BYTES`. Written and deleted together with the row in `waiting`. */
  largeArgs: defineTable({ args: v.any() }),
};
