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
   * One document, read by every enqueue and every completion, and rarely written. Open: enqueues take free slots, and nothing waits.
   * Closed: enqueues join the queue, and read no slot. See gate.ts and drain.ts for who writes it.
   */
  gate: defineTable({
    open: v.boolean(),
    maxParallelism: v.number(),
    /** How much is logged; here because whoever may have something to log has read the gate. Written when an operator changes it. */
    logLevel: v.optional(vLogLevel),
    /** What the app's class has asked for last. */
    asked: v.optional(
      v.object({ maxParallelism: v.optional(v.number()), logLevel: v.optional(vLogLevel) }),
    ),
    /** When an enqueue closed it. It stays closed for a while after that; absent where it may open at once. */
    closedAt: v.optional(v.number()),
  }),

  /**
   * At most one document: whether a drain runs, which hands free slots to works in the queue. Written when a drain begins and ends, not while it
   * goes on. Read by completions that find little in the queue, and by enqueues while it pauses.
   */
  drain: defineTable({
    on: v.boolean(),
    /** Names the one drain that counts: any other that is still scheduled does nothing. */
    generation: v.number(),
    /** It has found nothing to do, and its next round comes after a pause. */
    pauses: v.optional(v.boolean()),
    /** Its first round. */
    job: v.optional(v.id("_scheduled_functions")),
    // Enqueues read only a drain that pauses: one that begins or ends disturbs none of them.
  }).index("by_pauses", ["pauses"]),

  /**
   * At most one document: the watchdog. Written when the pool goes from idle to busy, when a timeout comes in that is shorter
   * than those before, when the host has something to look after, and by each look. Read by starts in a free slot, and by an enqueue that joins
   * the queue.
   */
  watch: defineTable({
    /** Names the one look that counts: any other that is still scheduled does nothing. */
    generation: v.number(),
    at: v.number(),
    /** The next look. Absent while nothing runs, and there is nothing else to look after. */
    job: v.optional(v.id("_scheduled_functions")),
    /** Schedules the look anew where it has failed or was lost. The look that succeeds cancels it. */
    reserve: v.optional(v.id("_scheduled_functions")),
    /** When the pool became busy, or last lost a work: the looks come ever less often from then on. */
    since: v.number(),
    /** True whenever a slot is held. */
    watched: v.optional(v.boolean()),
    /** The work whose start has turned the watchdog on, where it started alone. */
    woke: v.optional(v.string()),
    /** The next look is for what the host wants to have looked after; whether a slot is held or not. */
    looking: v.optional(v.boolean()),
    /** When the end of a lone work last turned the watchdog off. */
    restedAt: v.optional(v.number()),
    /** The shortest timeout that the next look is early enough for: a start with a shorter one brings the look forward. */
    shortestTimeoutMs: v.optional(v.number()),
    /** When that was written. */
    shortestSince: v.optional(v.number()),
    /** Running works with a timeout, and when a look first saw that their functions had begun. */
    began: v.optional(v.array(v.object({ job: v.id("_scheduled_functions"), at: v.number() }))),
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
    /** The start of this work has turned the watchdog on, and it started alone: its end may turn it off. */
    woke: v.optional(v.boolean()),
    startedAt: v.number(),
    /** By how many ms after its begin its function has reported, where that is known. */
    timeoutMs: v.optional(v.number()),
    /**
     * How often the slot was handed to a successor in a row, and since when; both start anew with a work from the line. Of a free slot, since when
     * it is free.
     */
    handOvers: v.number(),
    heldSince: v.number(),
    /** What has ended here. Written along with the slot by each end; read by whoever makes a report. */
    tally: v.optional(vTally),
  })
    .index("by_number", ["number"])
    // The free slots are those without a work; by their numbers, so that enqueues look at different ones.
    .index("by_work", ["work", "number"]),

  /**
   * The queue: works that are due and have no slot. Written by an enqueue; deleted by the completion or the drain that starts the work, or by a
   * cancel. The rows are small, as a completion reads many of them.
   */
  waiting: defineTable({
    work: v.string(),
    fn: v.string(),
    /** Null where they are large, or where the host keeps them. */
    args: v.any(),
    /** In the place of `args` where they are large. */
    largeArgs: v.optional(v.id("largeArgs")),
    timeoutMs: v.optional(v.number()),
    brief: v.optional(v.boolean()),
    /** The order of commits: no row can appear before one that was seen. */
    at: v.commitTs(),
  })
    .index("by_commit", ["at"])
    .index("by_work", ["work"]),

  /** Arguments of waiting works from `QUEUED_ARGS_BYTES`. Written and deleted together with the row in `waiting`. */
  largeArgs: defineTable({ args: v.any() }),

  /**
   * Works that the pool could not process, with the error. They hold no slot and stand in no line, and stop nobody. Written by whoever
   * met the error; read and deleted by an operator's retry or cancel.
   */
  setAside: defineTable({ work: v.string(), error: v.string(), at: v.number() }).index("by_work", [
    "work",
  ]),
};
