import { defineSchema, defineTable } from "convex/server";
import { type Infer, type ObjectType, v } from "convex/values";
import {
  oneOf,
  poolTables,
  vCounts,
  vConfig,
  vFair,
  vResultKind,
  vRetryBehavior,
} from "../core/index.js";

/** What is enqueued. Queries run in a mutation, as their result has to be recorded. */
export const vWorkKind = oneOf("action", "mutation", "query");

export default defineSchema({
  ...poolTables,

  /** One per work that has not ended. Starts do not write it: queue and slots say what runs. */
  works: defineTable({
    kind: vWorkKind,
    fn: v.string(),
    name: v.optional(v.string()),
    /** Absent if they are large. */
    args: v.optional(v.any()),
    largeArgs: v.optional(v.id("largeValues")),
    /** How many bytes these take. */
    largeArgsBytes: v.optional(v.number()),
    /** Its function is scheduled as it is, and reports its own end; see settling.ts. */
    settles: v.optional(v.boolean()),
    /** How long after its start an attempt must have settled, in ms. */
    timeoutMs: v.optional(v.number()),
    /** Attempts that have ended. Only the completion of the next one counts. */
    attempts: v.number(),
    /** The attempts that its retry policy does not count: they have held a limit. */
    uncounted: v.optional(v.number()),
    /** Absent if a failure is not tried again. */
    retry: v.optional(vRetryBehavior),
    /** The names of the permits that each attempt needs; absent if it has no limits. */
    permits: v.optional(v.array(v.string())),
    /** How long each attempt waits at most for a slot and its permits. Default: forever. */
    waitAtMostMs: v.optional(v.number()),
    /** Whose it is, where slots are shared by keys. */
    fairness: v.optional(vFair),
    /** It goes as if it had come so many ms earlier. Default: 0. */
    priorityMs: v.optional(v.number()),
    /** When it first could start, once an attempt has failed: its order does not change. */
    cameAt: v.optional(v.number()),
    /** By limit: where its result says what it has used. */
    spends: v.optional(v.record(v.string(), v.string())),
    onComplete: v.optional(
      v.object({
        fn: v.string(),
        context: v.optional(v.any()),
        largeContext: v.optional(v.id("largeValues")),
        excludeKinds: v.optional(v.array(vResultKind)),
      }),
    ),
    /** Present while the work is delayed or waits for its next attempt: what starts it. */
    due: v.optional(v.object({ job: v.optional(v.id("_scheduled_functions")), at: v.number() })),
    /** When it could start, in ms since the epoch. Default: when it was enqueued. */
    readyAt: v.optional(v.number()),
    /** Canceled while it ran: a failure is not tried again. */
    canceled: v.optional(v.boolean()),
  })
    // For views, and for the watchdog to find starts that were lost.
    .index("by_due", ["due.at"]),

  /** Arguments and contexts from 8 kB. Written and deleted with the work. */
  largeValues: defineTable({ value: v.any() }),

  /** Callbacks that threw. Written by the end of the work; an operator deletes them. */
  failedCallbacks: defineTable({
    workId: v.string(),
    name: v.optional(v.string()),
    fn: v.string(),
    resultKind: vResultKind,
    error: v.string(),
  }),

  /** Up to 8 documents that count the works that ended without a slot. Written by their cancel. */
  counts: defineTable({ shard: v.number(), ...vCounts.fields }).index("by_shard", ["shard"]),

  /** At most one document: the last report. Written by a completion. */
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

// Apart from the functions that use them: those modules import each other while they load.

/** Names an attempt of a work, and the slot that it runs in. */
export const vAttempt = { workId: v.id("works"), attempt: v.number(), slot: v.id("slots") };

export const vOutcome = v.union(
  v.object({ kind: v.literal("success"), returnValue: v.any() }),
  v.object({
    kind: v.literal("failed"),
    error: v.string(),
    /** The data of the `ConvexError` that was thrown. */
    errorData: v.optional(v.any()),
    retryable: v.boolean(),
    /** When it asks to be tried again, and the limit that is held until then. */
    asked: v.optional(v.object({ at: v.number(), holds: v.optional(v.string()) })),
  }),
  /** It could not be begun, as its arguments are gone. */
  v.object({ kind: v.literal("gone"), error: v.string() }),
);
export type Outcome = Infer<typeof vOutcome>;

/** What is reported of an attempt: its outcome, or that its executor gives it back. */
export const vReport = v.union(...vOutcome.members, v.object({ kind: v.literal("notBegun") }));
export type AttemptReport = Infer<typeof vReport>;

/** What works that are enqueued together have in common: all but their arguments. */
export const enqueueFields = {
  kind: vWorkKind,
  fn: v.string(),
  name: v.optional(v.string()),
  /** When to start, in ms since the epoch. Default: at once. */
  runAt: v.optional(v.number()),
  /** Default: a failure is not tried again. */
  retry: v.optional(vRetryBehavior),
  /** The names of the permits that each of them needs, from `permitsFor`. Default: none. */
  permits: v.optional(v.array(v.string())),
  /** How long each attempt waits at most for a slot and its permits. Default: forever. */
  waitAtMostMs: v.optional(v.number()),
  /** Whose they are, where slots are shared by keys. Default: nobody's. */
  fairness: v.optional(vFair),
  /** They go as if they had come so many ms earlier. Default: 0. */
  priorityMs: v.optional(v.number()),
  /** By limit: where their results say what they have used. Default: as was estimated. */
  spends: v.optional(v.record(v.string(), v.string())),
  /** The handle of the mutation to call at the end, its context, and the results to skip. */
  onComplete: v.optional(
    v.object({
      fn: v.string(),
      context: v.optional(v.any()),
      excludeKinds: v.optional(v.array(vResultKind)),
    }),
  ),
  ...vConfig.fields,
};
export type Enqueue = ObjectType<typeof enqueueFields>;
