import { defineTable } from "convex/server";
import { v } from "convex/values";
import { vLogLevel } from "./log-level.js";
import { vTally } from "./tally.js";

/**
 * The pool's tables. Whoever hosts the pool spreads them into its own schema, so that a work's record and its slot change in one
 * transaction.
 */
export const poolTables = {
  /**
   * One document, read by every enqueue and every completion and rarely written. Open: a slot may be free, and nothing waits.
   * Closed: something waits, or did a moment ago. Written by whoever finds no free slot (closes) or nothing waiting, some time after that
   * (opens); by a change of `maxParallelism`; and as the watchdog comes and goes.
   */
  gate: defineTable({
    open: v.boolean(),
    maxParallelism: v.number(),
    /** How much is logged; here because whoever may have something to log has read the gate. Written when an operator changes it. */
    logLevel: v.optional(vLogLevel),
    /** When an enqueue closed it. It stays closed for a while after that; absent where it may open at once. */
    closedAt: v.optional(v.number()),
    /** Works wait although slots are free, and a drain that goes on in another transaction will start them: nobody passes them. */
    draining: v.optional(v.boolean()),
    /** The watchdog is scheduled. True whenever a slot is held, so that a start need not look into `watch`. */
    watched: v.optional(v.boolean()),
    /** The watchdog is scheduled for what its host wants to have looked after; whether a slot is held or not. */
    looking: v.optional(v.boolean()),
    /** The work whose start has turned the watchdog on, where it started alone: its end may turn it off. */
    woke: v.optional(v.string()),
    /** When such an end last did. */
    restedAt: v.optional(v.number()),
    /** The shortest timeout that the watchdog's next look is early enough for: a start with a shorter one brings the look forward. */
    shortestTimeoutMs: v.optional(v.number()),
    /** When that was written. */
    shortestSince: v.optional(v.number()),
  }),

  /**
   * At most one document: the watchdog's next look. Written when the pool goes from idle to busy, when a timeout comes in that is shorter
   * than those before, when the host has something to look after, and by each look. Read by those, and by an enqueue that joins the line: so completions and starts never touch it.
   */
  watch: defineTable({
    /** Names the one look that counts: any other that is still scheduled does nothing. */
    generation: v.number(),
    at: v.number(),
    /** Absent while nothing runs, and there is nothing else to look after. */
    job: v.optional(v.id("_scheduled_functions")),
    /** When the pool became busy, or last lost a work: the looks come ever less often from then on. */
    since: v.number(),
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
    /** The work's own function has ended, and `job` is one that is to report it. */
    reporting: v.optional(v.boolean()),
    startedAt: v.number(),
    /** By how many ms after its start its function has reported, where that is known. */
    timeoutMs: v.optional(v.number()),
    /** How often the slot was handed to a successor in a row, and since when. Both start anew with a work from the line. */
    handOvers: v.number(),
    heldSince: v.number(),
    /** What has ended here. Written along with the slot by each end; read by whoever makes a report. */
    tally: v.optional(vTally),
  })
    .index("by_number", ["number"])
    // The free slots are those without a work; by their numbers, so that enqueues look at different ones.
    .index("by_work", ["work", "number"]),

  /** The line of works that are due and have no slot. Written by an enqueue; deleted by the completion that starts the work, or by a cancel. */
  waiting: defineTable({
    work: v.string(),
    fn: v.string(),
    /** Null where they are large, or where the host keeps them. */
    args: v.any(),
    /** In the place of `args` where they are large, so that looking along the line stays cheap. */
    largeArgs: v.optional(v.id("largeArgs")),
    timeoutMs: v.optional(v.number()),
    brief: v.optional(v.boolean()),
    /** The order of commits: no row can appear before one that was seen. */
    at: v.commitTs(),
  })
    .index("by_commit", ["at"])
    .index("by_work", ["work"]),

  /** Arguments of waiting works from `INLINE_ARGS_BYTES`. Written and deleted together with the row in `waiting`. */
  largeArgs: defineTable({ args: v.any() }),

  /**
   * Works that the pool could not process, with the error. They hold no slot and stand in no line, and stop nobody. Written by whoever
   * met the error; read and deleted by an operator's retry or cancel.
   */
  setAside: defineTable({ work: v.string(), error: v.string(), at: v.number() }).index("by_work", [
    "work",
  ]),
};
