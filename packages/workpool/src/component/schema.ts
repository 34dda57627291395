import { defineSchema, defineTable } from "convex/server";
import { v } from "convex/values";
import { poolTables, vResultKind, vRetryBehavior } from "../core/index.js";

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
    /** Present while the work is delayed or waits for its next attempt: the function that will start it, and when. */
    due: v.optional(v.object({ job: v.id("_scheduled_functions"), at: v.number() })),
    /** Canceled while it ran: a failure is not tried again. */
    canceled: v.optional(v.boolean()),
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

  /**
   * At most one document: the `maxParallelism` that the `Workpool` class gave last. Read by every enqueue of a class that gives one, and
   * written only when that differs: so a value set through `config.update`, a pause above all, stands until the class's own value changes.
   */
  classConfig: defineTable({ maxParallelism: v.number() }),
});
