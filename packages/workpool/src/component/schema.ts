import { defineSchema, defineTable } from "convex/server";
import { v } from "convex/values";
import { poolTables, vResultKind, vRetryBehavior } from "../core/index.js";
import { vCounts } from "./counts.js";

/** What is enqueued. Queries run in a mutation, as their result has to be recorded. */
export const vWorkKind = v.union(v.literal("action"), v.literal("mutation"), v.literal("query"));

export default defineSchema({
  // gate, slots, waiting, largeArgs: see core/schema.ts.
  ...poolTables,

  /**
   * One document per work that has not ended. Written by the enqueue; patched when an attempt is to be repeated, when its time has come,
   * and when a running work is canceled; deleted by whatever ends the work. A start does not write it: whether the work waits or runs is
   * told by the line and the slots.
   */
  works: defineTable({
    kind: vWorkKind,
    /** The handle of the enqueued function. */
    fn: v.string(),
    /** For messages. */
    name: v.optional(v.string()),
    /** Absent where they are large. */
    args: v.optional(v.any()),
    largeArgs: v.optional(v.id("largeValues")),
    /** Its function is scheduled as it is, and reports its own end; see settling.ts. */
    settles: v.optional(v.boolean()),
    /** By how many ms after its start an attempt has been settled. */
    timeoutMs: v.optional(v.number()),
    /** Attempts that have ended. The number after it is that of the only attempt whose completion counts. */
    attempts: v.number(),
    /** Absent where a failure is not tried again. */
    retry: v.optional(vRetryBehavior),
    onComplete: v.optional(
      v.object({
        fn: v.string(),
        context: v.optional(v.any()),
        largeContext: v.optional(v.id("largeValues")),
        excludeKinds: v.optional(v.array(vResultKind)),
      }),
    ),
    /**
     * Present while the work is delayed or waits for its next attempt: the function that will start it, and when. Of many that are enqueued
     * together, some get that function in a later transaction.
     */
    due: v.optional(v.object({ job: v.optional(v.id("_scheduled_functions")), at: v.number() })),
    /** When its time came, of a work that was delayed or is tried again; ms since the epoch. Default: when it was enqueued. */
    readyAt: v.optional(v.number()),
    /** Canceled while it ran: a failure is not tried again. */
    canceled: v.optional(v.boolean()),
  })
    // For looking at what is delayed, and for the watchdog to find starts that have not come; nothing that runs works reads it.
    .index("by_due", ["due.at"]),

  /**
   * What goes on in further transactions: a page of a `cancelAll`, of a repair, of a large batch that is delayed. Written by the
   * page before; deleted by the last one; read by the watchdog's looks, so that one which is lost goes on.
   */
  continuations: defineTable({
    /** The handle of the function that does a page, and what it begins with. */
    fn: v.string(),
    page: v.any(),
    /** The scheduled function that will do it. Absent only while it is being inserted. */
    job: v.optional(v.id("_scheduled_functions")),
    /** How often in a row that has failed. */
    failures: v.number(),
  }),

  /** Arguments and contexts from 8 kB, so that `works` stays small. Written and deleted together with the work; read when it starts or ends. */
  largeValues: defineTable({ value: v.any() }),

  /**
   * Callbacks that threw. Written by the end of the work, whose callback's own writes are rolled back; read by nothing here: it is for an
   * operator, who may delete it.
   */
  failedCallbacks: defineTable({
    workId: v.string(),
    name: v.optional(v.string()),
    /** The handle of the callback. */
    fn: v.string(),
    resultKind: vResultKind,
    error: v.string(),
  }),

  /** Up to 8 documents that count the works that ended without a slot; those with one are counted in it. Written by their cancel. */
  tallies: defineTable({ shard: v.number(), ...vCounts.fields }).index("by_shard", ["shard"]),

  /**
   * At most one document: the last report. Written once a minute at most, by a completion; read by completions, by each slot's once a
   * minute, and by an operator.
   */
  reports: defineTable({
    at: v.number(),
    /** When the report before was made, or the pool. */
    since: v.number(),
    /** What has ended between the two. */
    counts: vCounts,
    /** What had ended by then, since the pool was made. */
    totals: vCounts,
  }),
});
