import { defineTable } from "convex/server";
import { v } from "convex/values";
import { vConfig } from "./config.js";
import { vFair } from "./fair.js";
import { vLimits } from "./limits/limits.js";
import { vHeld } from "./limits/permits.js";
import { vLogLevel } from "./log.js";
import { vSlotCounts } from "./counts.js";
import { vBegan } from "./watch.js";

/** What is kept of a work that waits. */
const queuedFields = {
  work: v.string(),
  /** Absent where the host's `runner` runs it. */
  fn: v.optional(v.string()),
  /** Absent, or null in rows of earlier versions, where they are large or the host keeps them. */
  args: v.optional(v.any()),
  /** In the place of `args` where they are large. */
  largeArgs: v.optional(v.id("largeArgs")),
  timeoutMs: v.optional(v.number()),
  isMutation: v.optional(v.boolean()),
  /** What it is found by while it waits in the queue: its line if it has limits, or its group. */
  group: v.optional(v.string()),
  /** The names of the permits that it needs to start. */
  permits: v.optional(v.array(v.string())),
  /** Whose it is, where slots are shared by keys. */
  fair: v.optional(vFair),
  /** The row that says when it fails if it still waits. Absent if it may wait for ever. */
  wait: v.optional(v.id("waits")),
  /** It has had an attempt: rates may count works. */
  isAgain: v.optional(v.boolean()),
  /** The so-manyth that joined its line in one transaction, where only so many may wait. */
  nth: v.optional(v.number()),
  /** The order of commits: no row can appear before one that was seen. */
  at: v.commitTs(),
};

/** The pool's tables: a work and its slot change together in its host's transaction. */
export const poolTables = {
  /**
   * One document, read by every enqueue and completion, rarely written. Open: enqueues take free
   * slots, and nothing waits. Closed: enqueues join the queue, and read no slot.
   */
  gate: defineTable({
    open: v.boolean(),
    maxParallelism: v.number(),
    /** How much is logged; here because whoever logs something has read the gate. */
    logLevel: v.optional(vLogLevel),
    /** How many works of a name, or of a key, run at once: see limits/limits.ts. */
    limits: v.optional(vLimits),
    /**
     * What an operator has said of limits and keys: each an `Override`, which limits/steer.ts has
     * checked. A type of its own would be instantiated in each app that checks its types.
     */
    overrides: v.optional(v.array(v.any())),
    /** What `maxParallelism` would be without an override or a pause of it. */
    configured: v.optional(v.number()),
    /** What the app's class has asked for last. */
    asked: v.optional(vConfig),
    /** The lanes of the queue, if `maxParallelism` was lowered while works waited in more. */
    lanes: v.optional(v.number()),
    /** Works with a key of fairness have joined the queue since it was closed: see fair.ts. */
    fair: v.optional(v.boolean()),
    /** When an enqueue closed it: it stays closed for a while. Absent if it may open at once. */
    closedAt: v.optional(v.number()),
    /** When it was opened last; absent until then. */
    openedAt: v.optional(v.number()),
  }),

  /**
   * At most one document: whether a drain gives free slots to works in the queue. Written when one
   * begins, pauses and ends. Read by completions that find little in the queue, and by enqueues.
   */
  drain: defineTable({
    on: v.boolean(),
    /** Names the one drain that counts: any other that is still scheduled does nothing. */
    generation: v.number(),
    job: v.optional(v.id("_scheduled_functions")),
    /** When a round was last due, by the second. */
    at: v.optional(v.number()),
  }),

  /**
   * At most one document: the watchdog. Written when the pool gets busy, by a shorter timeout than
   * before, and by each sweep. Read by starts in a free slot, and by enqueues that join the queue.
   */
  watch: defineTable({
    /** Names the one sweep that counts: any other that is still scheduled does nothing. */
    generation: v.number(),
    at: v.number(),
    /** The next sweep. Absent while there is nothing to watch. */
    job: v.optional(v.id("_scheduled_functions")),
    /** Schedules a sweep that has failed or was lost again. A sweep that succeeds cancels it. */
    reserve: v.optional(v.id("_scheduled_functions")),
    /** When the pool became busy, or last lost a work: sweeps come ever less often from then on. */
    since: v.number(),
    /** True whenever a slot is held. */
    watched: v.optional(v.boolean()),
    /** The work whose start has turned the watchdog on, if it started alone. */
    startedBy: v.optional(v.string()),
    /** The next sweep is for what the host has scheduled, whether a slot is held or not. */
    forHost: v.optional(v.boolean()),
    /** When the end of a lone work last turned the watchdog off. */
    restedAt: v.optional(v.number()),
    /** When a sweep last came late, as nothing could be written for a while. */
    heldUpAt: v.optional(v.number()),
    /** The shortest timeout that the next sweep is early enough for. */
    shortestTimeoutMs: v.optional(v.number()),
    shortestSince: v.optional(v.number()),
    /** Running works with a timeout, and when a sweep first saw that their functions had begun. */
    began: v.optional(vBegan),
  }),

  /** One document per unit of `maxParallelism`, written by its work. Without `work` it is free. */
  slots: defineTable({
    number: v.number(),
    work: v.optional(v.string()),
    /** The scheduled function that runs it, in this component's `_scheduled_functions`. */
    job: v.optional(v.id("_scheduled_functions")),
    /** The work's own function has ended, and `job` is one that is to report it. */
    reporting: v.optional(v.boolean()),
    /** `job` is a carrier of this work; until it begins, others may take the work: carrier.ts. */
    mayTake: v.optional(v.boolean()),
    /** `job` is an executor, which runs other works too: executors.ts. */
    shared: v.optional(v.boolean()),
    /** The key of fairness of its work, or of the one that it had last. */
    fair: v.optional(v.string()),
    /** What its work holds of its limits: given back with the slot. */
    permits: v.optional(v.array(v.union(v.id("permits"), vHeld))),
    /** The turn of its work's line, if it has limits: see limits/lines.ts. */
    turn: v.optional(v.number()),
    /** When another carrier has begun the work. */
    beganAt: v.optional(v.number()),
    /** The start of this work alone has turned the watchdog on: its end may turn it off. */
    startedTheWatch: v.optional(v.boolean()),
    startedAt: v.number(),
    /** By how many ms after its begin its function has reported. */
    timeoutMs: v.optional(v.number()),
    /** How often it was handed over in a row, and since when; since when a free slot is free. */
    handOvers: v.number(),
    heldSince: v.number(),
    /** What has ended here: written along with the slot by each end, read for reports. */
    counts: v.optional(vSlotCounts),
  })
    .index("by_number", ["number"])
    .index("by_fair", ["fair", "number"])
    .index("by_may_take", ["mayTake", "number"])
    // By number, so that enqueues read different free slots.
    .index("by_work", ["work", "number"]),

  /** At most one document per range of slots: the executor that takes works for it. */
  executors: defineTable({
    range: v.number(),
    job: v.optional(v.id("_scheduled_functions")),
    /** Free slots of its range are left to it. */
    asks: v.boolean(),
    /** When it gives the range to another, unless it has died. */
    until: v.number(),
    /** A work was canceled that it may not have begun: see ahead.ts. */
    asksBack: v.optional(v.boolean()),
    /** While it asks, somebody looks whether it takes what is left to it. */
    look: v.optional(v.object({ at: v.number(), job: v.id("_scheduled_functions") })),
  }).index("by_range", ["range"]),

  /** The queue: works that are due and have no slot. Small rows, as completions read many. */
  waiting: defineTable({
    ...queuedFields,
    /**
     * A random part of the queue, or of its key's, so that ends of one moment take from different
     * ones.
     */
    lane: v.optional(v.number()),
  })
    .index("by_commit", ["at"])
    .index("by_lane", ["lane", "at"])
    .index("by_group", ["group", "at"])
    .index("by_work", ["work"]),

  /** Works that wait for a limit, in lines: see limits/lines.ts. Not in the queue meanwhile. */
  limited: defineTable({ ...queuedFields, line: v.string() })
    .index("by_line", ["line", "at"])
    .index("by_work", ["work"]),

  /** One per work in the queue or a line that fails if it waits until then: see wait-timers.ts. */
  waits: defineTable({
    until: v.number(),
    work: v.string(),
    /** What sees to that, if it is for this work alone. */
    job: v.optional(v.id("_scheduled_functions")),
  }).index("by_until", ["until"]),

  /** One per line of works with the same limits and keys, while there are works in it. */
  lines: defineTable({
    line: v.string(),
    /** The permit of which none was free when the line was last looked at. */
    blockedBy: v.string(),
    /** Its turn among the lines that wait for one permit. */
    hash: v.number(),
    /** The weight of its key of fairness. Default: 1. */
    weight: v.optional(v.number()),
  })
    .index("by_line", ["line"])
    .index("by_blocked", ["blockedBy", "hash"]),

  /** The permits that works in slots hold, of limits; each number of a name once. */
  permits: defineTable({ name: v.string(), number: v.number(), work: v.string() }).index(
    "by_name",
    ["name", "number"],
  ),

  /** One per rate, or per key of one, that was used: written by starts, or by its releaser. */
  buckets: defineTable({
    /** The name of the permit of its limit, or of its key. */
    name: v.string(),
    /** How many were taken when a start last wrote it, and when that was, in ms since the epoch. */
    taken: v.number(),
    at: v.number(),
    /** When it is full again, as far as was known then. */
    fullAt: v.number(),
    /** While works wait for it: what lets them go on, and when. */
    job: v.optional(v.id("_scheduled_functions")),
    dueAt: v.optional(v.number()),
    /** The turn of the line that went on last. */
    after: v.optional(v.number()),
  })
    .index("by_name", ["name"])
    .index("by_full", ["job", "fullAt"]),

  /** Arguments of waiting works from `QUEUED_ARGS_BYTES`, written and deleted with their rows. */
  largeArgs: defineTable({ args: v.any() }),

  /** What is too much for one transaction: written by each page, deleted by the last. */
  continuations: defineTable({
    /** The handle of the function that does a page, and what it begins with. */
    fn: v.string(),
    page: v.any(),
    /** When it was begun, in the order of commits. */
    at: v.optional(v.commitTs()),
    /** The scheduled function that will do it. Absent only while it is being inserted. */
    job: v.optional(v.id("_scheduled_functions")),
    /** How often in a row that function has failed. */
    failures: v.optional(v.number()),
  }),

  /** Works that could not be processed: they hold no slot. A retry or cancel deletes them. */
  setAside: defineTable({ work: v.string(), error: v.string(), at: v.number() }).index("by_work", [
    "work",
  ]),
};
