import { poolTables } from "@stepwise/workpool/core";
import { defineSchema, defineTable } from "convex/server";
import { v } from "convex/values";
import { bulkFields } from "./selection.js";
import { reception, vEvent } from "./protocol.js";
import {
  vBadEnd,
  vBeginning,
  vCollects,
  vCounted,
  vDeadline,
  vError,
  vGiven,
  vNewChild,
  vOne,
  vStanding,
  vIsCollected,
  vIterations,
  vPart,
  vPermits,
  vRace,
  vRetry,
  vRunState,
  vStage,
  vSteered,
  vTagValue,
  vStepKind,
  vStepState,
  vTolerate,
  vTook,
  vTurnState,
  vWatchedTable,
} from "./validators.js";

export default defineSchema({
  ...poolTables,

  /** One execution of a workflow. Written when it starts and when it ends, not between. */
  runs: defineTable({
    workflow: v.string(),
    /** What it was called when the run was started, if that is not its storage name. */
    workflowName: v.optional(v.string()),
    state: vRunState,
    entry: v.string(),
    plan: v.optional(v.string()),
    generation: v.optional(v.number()),
    /** The nodes of the top level that kept their results in its last restart. */
    retained: v.optional(v.array(v.string())),
    /** Its restart still removes what is done again. */
    restarting: v.optional(v.boolean()),
    startKey: v.optional(v.string()),
    one: v.optional(vOne),
    standing: v.optional(vStanding),
    collects: v.optional(vCollects),
    /** The run and the record above a child, its place, and its key if it has one. */
    parentRun: v.optional(v.id("runs")),
    parentStep: v.optional(v.id("steps")),
    index: v.number(),
    childKey: v.optional(v.string()),
    /** What its branch was called when it was started, if that is not its key. */
    called: v.optional(v.string()),
    /** The part of its workflow that it goes through: a branch, or a body. Default: all of it. */
    within: v.optional(v.string()),
    root: v.optional(v.id("runs")),
    /** Where a child that waits will begin. */
    first: v.optional(vStage),
    /** Its input if that is small; else it is in a step record. */
    input: v.optional(v.any()),
    given: v.optional(vGiven),
    collected: v.optional(vIsCollected),
    /** The paths of its input that are not shown. */
    sensitive: v.optional(v.array(v.string())),
    timeoutMs: v.optional(v.number()),
    /** How long it stays after its end, and until when that is. */
    retentionMs: v.optional(v.number()),
    expiresAt: v.optional(v.number()),
    startedAt: v.number(),
    endedAt: v.optional(v.number()),
    outputStep: v.optional(v.id("steps")),
    /** A child has its output here as well, if it is small. */
    output: v.optional(v.any()),
    error: v.optional(vError),
    endsAs: v.optional(vBadEnd),
    paused: v.optional(v.boolean()),
    /** When it was paused, in the order of commits. */
    pausedAt: v.optional(v.commitTs()),
    /** What was done to it by hand, oldest first; the newest of very many. */
    steered: v.optional(v.array(vSteered)),
    /** The newest bulks that have come to it: none does so twice. */
    bulks: v.optional(v.array(v.id("bulks"))),
    /** Its error is of a `sensitive` node, and not logged. Only while it is `compensating`. */
    sensitiveError: v.optional(v.boolean()),
    /** It has rows in `tags`. */
    tagged: v.optional(v.boolean()),
    /** Its start was logged, so its end is too. */
    logged: v.optional(v.boolean()),
    /** Its workflow had an `onEnd` when it was started. */
    onEnd: v.optional(v.boolean()),
    /** The run at the top, while that is still to be called for this child, or still runs. */
    ending: v.optional(v.id("runs")),
    /** Why that failed. */
    onEndError: v.optional(v.string()),
    /** The handle of the mutation to call at its end; its context is in `contexts`. */
    onComplete: v.optional(v.string()),
    /** Why that call failed. */
    onCompleteError: v.optional(v.string()),
  })
    .index("by_key", ["workflow", "startKey", "endedAt"])
    .index("by_parent_state", ["parentStep", "state", "index"])
    .index("by_parent", ["parentStep", "index"])
    .index("by_parent_paused", ["parentStep", "paused"])
    .index("by_parent_run", ["parentRun"])
    // The runs of the top level have no root.
    .index("by_root", ["root"])
    .index("by_root_workflow", ["root", "workflow"])
    .index("by_root_workflow_state", ["root", "workflow", "state"])
    .index("by_root_state", ["root", "state"])
    .index("by_ending", ["ending"])
    .index("by_expiry", ["expiresAt"]),

  /** The tags of runs of the top level, to list these by them. `at`: when the run was created. */
  tags: defineTable({ run: v.id("runs"), name: v.string(), value: vTagValue, at: v.number() })
    .index("by_run", ["run", "name"])
    .index("by_tag", ["name", "value", "at"]),

  /** Runs with a `one`: of each key the one that has the turn, and those that wait for it. */
  turns: defineTable({
    workflow: v.string(),
    key: v.string(),
    run: v.id("runs"),
    state: vTurnState,
    /** Its place in the order of starts. */
    at: v.commitTs(),
    /** Until it begins: the record with which it does. */
    step: v.optional(v.id("steps")),
    /** It begins before those that wait longer, and they are canceled. */
    replaces: v.optional(v.boolean()),
  })
    .index("by_key", ["workflow", "key", "state", "at"])
    .index("by_run", ["run"]),

  /** The run that collects the starts of a key of a `collect`, with its first record. */
  collectors: defineTable({
    workflow: v.string(),
    key: v.string(),
    run: v.id("runs"),
    step: v.id("steps"),
  }).index("by_key", ["workflow", "key"]),

  /** The starts that a run collects. Nothing is written to them, so that these do not conflict. */
  collected: defineTable({
    run: v.id("runs"),
    at: v.commitTs(),
    /** Absent if it is not kept. */
    input: v.optional(v.any()),
    given: v.optional(vGiven),
    collected: v.optional(vIsCollected),
    bytes: v.number(),
    /** The rows before it that its start has seen. */
    counted: v.optional(vCounted),
  }).index("by_run", ["run", "at"]),

  /** The context of `onComplete`. Written by `start`, read at the run's end. */
  contexts: defineTable({ run: v.id("runs"), context: v.any() }).index("by_run", ["run"]),

  /** One stage of one run, in one iteration of the loops around it; or a large input of the run. */
  steps: defineTable({
    run: v.id("runs"),
    stage: v.string(),
    /** What its node was called when the run came to it, if that is not its storage name. */
    called: v.optional(v.string()),
    /**
     * Which part of its node it is. Default: the node itself, or a part that is in its name only.
     */
    part: v.optional(vPart),
    iterations: v.optional(vIterations),
    generation: v.optional(v.number()),
    /** The hash of the plan that the run has gone by; empty if these were several. */
    plan: v.optional(v.string()),
    createdAt: v.number(),
    kind: vStepKind,
    state: vStepState,
    attempt: v.number(),
    /** How many attempts its `retry` does not count: they have held a limit. */
    uncounted: v.optional(v.number()),
    startedAt: v.number(),
    /** When an action's attempt began, written when that ends. */
    beganAt: v.optional(v.number()),
    endedAt: v.optional(v.number()),
    output: v.optional(v.any()),
    sensitive: v.optional(v.boolean()),
    /** The errors of failed attempts, oldest first; if too large, the first and the newest. */
    errors: v.optional(v.array(vError)),
    retries: v.optional(v.array(vRetry)),
    /** What an action needs of limits, as it was when the run came to it. */
    permits: vPermits,
    /** The run's standing, copied so that a work needs no other record. */
    standing: v.optional(vStanding),
    /** While it is paused: its place among those that wait for the same. */
    place: v.optional(v.commitTs()),
    /** Until when it waits: for its next attempt, the end of a sleep, or an event. */
    dueAt: v.optional(v.number()),
    /** What will enter it, when, and with which event. Absent while it is in the pool. */
    job: v.optional(v.id("_scheduled_functions")),
    entersAt: v.optional(v.number()),
    event: v.optional(vEvent),
    /** What to parse again, for a large input that does not parse to itself. */
    given: v.optional(vGiven),
    /** What an event's node has taken, or that its time was over. */
    took: v.optional(vTook),
    timedOut: v.optional(v.boolean()),
    /** Checks some seconds later whether that function was lost; canceled by it. */
    check: v.optional(v.id("_scheduled_functions")),
    isLastTry: v.optional(v.boolean()),
    /** Its run is paused: nothing goes on with it. */
    paused: v.optional(v.boolean()),
    /** It is not removed with its iteration. */
    permanent: v.optional(v.boolean()),
    /** The parent's record, for one of many children. It does not begin once that has ended. */
    parentOfMany: v.optional(v.id("steps")),
    /** While a restarted run waits for its turn: the time of the loop that it goes on with. */
    deadline: v.optional(vDeadline),
    /** The next run of the key begins when this `onEnd` has ended. */
    passesTurn: v.optional(v.boolean()),
    undoable: v.optional(v.boolean()),
    undone: v.optional(v.boolean()),
    undo: v.optional(v.id("undos")),
    iteration: v.optional(v.number()),
    chosen: v.optional(v.string()),
    names: v.optional(v.array(v.string())),
    storedNames: v.optional(v.array(v.string())),
    /** How many children there are, how they were given, and how many may run at once. */
    total: v.optional(v.number()),
    keyed: v.optional(v.boolean()),
    single: v.optional(v.boolean()),
    concurrency: v.optional(v.number()),
    tolerate: v.optional(vTolerate),
    inserting: v.optional(v.boolean()),
    /** The parent waits for its children no more. */
    settled: v.optional(v.boolean()),
    /** Its children are the cases of a race. `won` is the one that has won. */
    race: v.optional(vRace),
    won: v.optional(v.id("runs")),
    /** Children that were canceled keep what they have done: it is not undone with them. */
    keepsDone: v.optional(v.boolean()),
    /** Something under these children may have a compensation. */
    undoableBelow: v.optional(v.boolean()),
    /** What the outputs of the first children were reduced to. */
    reduced: v.optional(v.object({ value: v.any(), from: v.number() })),
  })
    .index("by_run", ["run"])
    .index("by_run_stage", ["run", "stage", "iterations"])
    .index("by_run_state", ["run", "state"])
    .index("by_run_iterations", ["run", "permanent", "iterations"])
    .index("by_stage", ["stage", "endedAt", "createdAt"])
    .index("by_entry", ["entersAt"])
    .index("by_check_entry", ["paused", "check", "entersAt"])
    .index("by_kind_state", ["kind", "state"]),

  childPages: defineTable({
    step: v.id("steps"),
    from: v.number(),
    begins: v.array(vBeginning),
    children: v.array(vNewChild),
  }).index("by_step", ["step", "from"]),

  /** A row for each tolerated failed child, until it is added to the sum, which is a row too. */
  failedChildren: defineTable({
    parent: v.id("steps"),
    /** How many are in a sum, and what will add the others. */
    count: v.optional(v.number()),
    recount: v.optional(v.id("continuations")),
  }).index("by_parent", ["parent", "count"]),

  /** Events that came before the run waited for them, in order. */
  inbox: defineTable({
    run: v.id("runs"),
    name: v.string(),
    value: v.any(),
    given: v.optional(vGiven),
    /** When a run that was restarted came to the node that took it: first it takes these. */
    takenAt: v.optional(v.number()),
    /** The stages that refuse it, or make another value of it. */
    otherwise: v.optional(v.array(v.object(reception))),
  }).index("by_run_name", ["run", "name", "takenAt"]),

  /** What a run has done that can be undone: a step of its own, or a child with such steps. */
  undos: defineTable({
    run: v.id("runs"),
    step: v.id("steps"),
    child: v.optional(v.id("runs")),
    /** When a child completed the last step that it can still undo. */
    at: v.optional(v.number()),
    /** The state and iteration of the loop around a step, as they were then. */
    loop: v.optional(v.any()),
  })
    .index("by_run", ["run", "at"])
    .index("by_step", ["step"])
    .index("by_child", ["child"]),

  /** What ends a run, or fails one of its parents or loops, at a time. */
  deadlines: defineTable({
    run: v.id("runs"),
    stage: v.optional(v.string()),
    called: v.optional(v.string()),
    iterations: v.optional(vIterations),
    recovers: v.optional(v.boolean()),
    ms: v.number(),
    at: v.number(),
    job: v.optional(v.id("_scheduled_functions")),
    check: v.optional(v.id("_scheduled_functions")),
  })
    .index("by_run", ["run", "stage"])
    .index("by_at", ["at"]),

  /** The row of a table after which the watchdog's next check goes on. A table has at most one. */
  sweepPositions: defineTable({
    table: vWatchedTable,
    after: v.array(v.any()),
  }).index("by_table", ["table"]),

  /** What is done to many runs, until some time after its end. */
  bulks: defineTable({
    ...bulkFields,
    /** How long the runs that it restarts stay after their end, if their workflow does not say. */
    retentionMs: v.optional(v.number()),
    /** Apart from the cursor, which its continuation has. */
    continuation: v.optional(v.id("continuations")),
    /** What became of the newest runs, oldest first: `+` if it was done, `-` if it was refused. */
    recent: v.string(),
  }).index("by_end", ["endedAt"]),

  /** At most one document: when expired runs will be removed next. */
  expiries: defineTable({ at: v.number(), job: v.optional(v.id("_scheduled_functions")) }),
});
