import { poolTables } from "@stepwise/workpool/core";
import { defineSchema, defineTable } from "convex/server";
import { v } from "convex/values";
import {
  vBadEnd,
  vBeginning,
  vError,
  vEvent,
  vLookedAt,
  vNewChild,
  vPass,
  vRunState,
  vStage,
  vStepKind,
  vStepState,
  vTolerate,
} from "./validators.js";

export default defineSchema({
  ...poolTables,

  /**
   * One execution of a workflow. Small, and not written between its start and its end: what happens meanwhile is in its step
   * records, so that the runs of a fan-out share no document.
   */
  runs: defineTable({
    workflow: v.string(),
    state: vRunState,
    /** The handle of the generated function through which the component enters the workflow. */
    resume: v.string(),
    /** The hash of the plan that it started under. */
    plan: v.optional(v.string()),
    /** How often it was restarted, plus one; absent where it never was. */
    generation: v.optional(v.number()),
    /** The nodes of the top level whose results its last restart has left. */
    kept: v.optional(v.array(v.string())),
    /** What its restart does again is still being removed. */
    restarting: v.optional(v.boolean()),
    /** Given to `start` as `key`; see `lookup.ts`. */
    startKey: v.optional(v.string()),
    /** Of a child: the run and the step record whose child it is, its place, and its key if the children were given as a record. */
    parentRun: v.optional(v.id("runs")),
    parentStep: v.optional(v.id("steps")),
    index: v.number(),
    childKey: v.optional(v.string()),
    /** Of a child: the run at the top. */
    root: v.optional(v.id("runs")),
    /** Of a child that waits for its turn: where it will begin. */
    first: v.optional(vStage),
    /** Its input, where that is small; else it stands in a step record. */
    input: v.optional(v.any()),
    /** How long it may take in all, counted from its beginning. */
    timeoutMs: v.optional(v.number()),
    /** How long it is kept after its end, and until when that is. */
    retentionMs: v.optional(v.number()),
    expiresAt: v.optional(v.number()),
    startedAt: v.number(),
    endedAt: v.optional(v.number()),
    /** The step record that holds the run's output. */
    outputStep: v.optional(v.id("steps")),
    /** Of a child: the output itself as well, where it is small; see `scope.ts`. */
    output: v.optional(v.any()),
    error: v.optional(vError),
    /** While it is `compensating`: in which state it will end. `error` is why. */
    endsAs: v.optional(vBadEnd),
    /** It was paused: nothing of it starts. */
    paused: v.optional(v.boolean()),
    /** When, in the order of commits. */
    pausedAt: v.optional(v.commitTs()),
    /** Its error is that of a `sensitive` node: what it says is not to be logged. Only while it is `compensating`. */
    sensitiveError: v.optional(v.boolean()),
    /** Its start was logged; then its end is too. Of runs at the top only. */
    logged: v.optional(v.boolean()),
    /** The handle of the mutation to call at its end; its context is in `contexts`. */
    onComplete: v.optional(v.string()),
    /** Why that call failed. */
    onCompleteError: v.optional(v.string()),
  })
    // Those that have not ended come first.
    .index("by_key", ["workflow", "startKey", "endedAt"])
    .index("by_parent_state", ["parentStep", "state", "index"])
    .index("by_parent", ["parentStep", "index"])
    .index("by_parent_paused", ["parentStep", "paused"])
    .index("by_parent_run", ["parentRun"])
    // Children have a root; so the runs of the top level are those whose root is undefined.
    .index("by_root", ["root"])
    .index("by_root_workflow", ["root", "workflow"])
    .index("by_root_workflow_state", ["root", "workflow", "state"])
    .index("by_root_state", ["root", "state"])
    .index("by_expiry", ["expiresAt"]),

  /** The context of `onComplete`. Written by `start`, read at the run's end. */
  contexts: defineTable({ run: v.id("runs"), context: v.any() }).index("by_run", ["run"]),

  /**
   * The record of one stage of one run, and one pass of the loops around it; a large input of the run is one too.
   * Written by the transaction that arrives at the stage and by the one that ends it.
   */
  steps: defineTable({
    run: v.id("runs"),
    stage: v.string(),
    /** What its node was called when the run came to it, if that is not its storage name; for messages. */
    called: v.optional(v.string()),
    pass: v.optional(vPass),
    generation: v.optional(v.number()),
    /** The hash of the plan that the run has gone by until now; empty where these were several. */
    plan: v.optional(v.string()),
    /** When the run was created, in ms since the epoch: runs that are at a stage are listed by it. */
    createdAt: v.number(),
    kind: vStepKind,
    state: vStepState,
    attempt: v.number(),
    startedAt: v.number(),
    endedAt: v.optional(v.number()),
    output: v.optional(v.any()),
    sensitive: v.optional(v.boolean()),
    /** The error of each attempt that failed, oldest first; of very many or very long ones the first and the newest. */
    errors: v.optional(v.array(vError)),
    /** Until when it waits: for its next attempt, the end of a sleep, or an event. */
    dueAt: v.optional(v.number()),
    /**
     * The scheduled function that will go on with it, when that is due, and what it will say where that does not follow from the record;
     * see `entering.ts`. Absent while it is in the pool.
     */
    job: v.optional(v.id("_scheduled_functions")),
    wakeAt: v.optional(v.number()),
    event: v.optional(vEvent),
    /** Looks some seconds after that whether the function has come; canceled by it. */
    reserve: v.optional(v.id("_scheduled_functions")),
    /** That function has failed before, and was scheduled once more. */
    isLastTry: v.optional(v.boolean()),
    /** The run was paused: nothing goes on with it. */
    held: v.optional(v.boolean()),
    /** A loop may not forget it. */
    kept: v.optional(v.boolean()),
    /** Of one of many children, which are canceled in pages: the parent's record. It does not begin once that is closed. */
    childOf: v.optional(v.id("steps")),
    /** It has a compensation. */
    undoable: v.optional(v.boolean()),
    /** It, or something of it, was undone. */
    undone: v.optional(v.boolean()),
    /** Of a compensation: what it undoes. */
    undo: v.optional(v.id("undos")),
    /** Of a loop: which pass it is at. Its output is the loop's state. */
    iteration: v.optional(v.number()),
    /** Of a branch: the key of its case. */
    chosen: v.optional(v.string()),
    /** Of an event: the names that it waits for. */
    names: v.optional(v.array(v.string())),
    storedNames: v.optional(v.array(v.string())),
    /** Of children: how many there are, how they were given, and how many may run at once. */
    total: v.optional(v.number()),
    keyed: v.optional(v.boolean()),
    single: v.optional(v.boolean()),
    seats: v.optional(v.number()),
    tolerate: v.optional(vTolerate),
    /** Of children: some are still to be inserted, from `childPages`. */
    inserting: v.optional(v.boolean()),
    /** Of children: the run has been told to go on, because the last one has ended or one has ended badly. */
    joined: v.optional(v.boolean()),
    /** Of children: something of them, or under them, may have a compensation. */
    undoableBelow: v.optional(v.boolean()),
    /** Of children: what the outputs of the first of them were folded into. */
    reduced: v.optional(v.object({ value: v.any(), from: v.number() })),
  })
    .index("by_run", ["run"])
    .index("by_run_stage", ["run", "stage", "pass"])
    .index("by_run_state", ["run", "state"])
    .index("by_run_pass", ["run", "kept", "pass"])
    .index("by_stage", ["stage", "endedAt", "createdAt"])
    .index("by_wake", ["wakeAt"])
    .index("by_kind_state", ["kind", "state"]),

  /** Children that are still to be inserted. Written by the transaction that arrives at the parent, deleted by the one that inserts them. */
  childPages: defineTable({
    step: v.id("steps"),
    /** The place of the first of them among all. */
    from: v.number(),
    begins: v.array(vBeginning),
    children: v.array(vNewChild),
  }).index("by_step", ["step", "from"]),

  /**
   * One for each child that has ended badly, of a parent that lets so many pass: they are counted, and a child's run may hold a large error.
   * Deleted when they are added to the parent's sum, which is a row here too; see `tolerance.ts`.
   */
  badEnds: defineTable({
    parent: v.id("steps"),
    /** Of a sum: how many are in it, … */
    count: v.optional(v.number()),
    /** … and what will add the others, while that is to come. */
    recount: v.optional(v.id("continuations")),
  }).index("by_parent", ["parent", "count"]),

  /** Events that came before the run waited for them, in order. Written by the sender, deleted by the run that takes them. */
  inbox: defineTable({
    run: v.id("runs"),
    name: v.string(),
    value: v.any(),
    /** The stages that refuse it, or make another value of it. */
    otherwise: v.optional(
      v.array(
        v.object({
          stage: v.string(),
          refuses: v.optional(v.boolean()),
          value: v.optional(v.any()),
        }),
      ),
    ),
  }).index("by_run_name", ["run", "name"]),

  /**
   * What a run has done that can be undone: a step of its own, or a child with such steps. Written by the transaction that completes it,
   * deleted when it is undone.
   */
  undos: defineTable({
    run: v.id("runs"),
    step: v.id("steps"),
    child: v.optional(v.id("runs")),
    /** Of a child: when the last was completed of all that it has done and that is not undone yet. Of a step that is when this was written. */
    at: v.optional(v.number()),
    /** Of a step inside a loop: the loop's state then, and which pass it was. */
    loop: v.optional(v.any()),
  })
    .index("by_run", ["run", "at"])
    .index("by_step", ["step"])
    .index("by_child", ["child"]),

  /** What ends a run, or fails one of its parents or loops, at a time. Deleted when that has ended before. */
  deadlines: defineTable({
    run: v.id("runs"),
    /** The parent or loop, and whether it has a `recover`; absent for the whole run. */
    stage: v.optional(v.string()),
    called: v.optional(v.string()),
    pass: v.optional(vPass),
    recovers: v.optional(v.boolean()),
    /** How long it was, and until when that is. */
    ms: v.number(),
    at: v.number(),
    job: v.optional(v.id("_scheduled_functions")),
    /** Sees to it that the time is up, where that was lost. */
    reserve: v.optional(v.id("_scheduled_functions")),
  })
    .index("by_run", ["run", "stage"])
    .index("by_at", ["at"]),

  /**
   * What goes on in transactions of its own because it is too much for one: removing, pausing, canceling, restarting, repairing. Written by
   * each of its pages, deleted by the last.
   */
  continuations: defineTable({
    /** The handle of the function that does a page, and what it is given. */
    fn: v.string(),
    page: v.any(),
    /** When it was begun, in the order of commits. */
    at: v.optional(v.commitTs()),
    /** The scheduled function that will do it. Absent only while it is being inserted. */
    job: v.optional(v.id("_scheduled_functions")),
  }),

  /**
   * At most one for each table: behind which row the watchdog's next look goes on, where the last one could not see to all that are to be looked
   * after.
   */
  looks: defineTable({
    table: vLookedAt,
    /** The row's key in the index in which they are looked at. */
    after: v.array(v.any()),
  }).index("by_table", ["table"]),

  /**
   * At most one document: when runs whose retention is over will be removed next. Written when a run ends that is the first to expire, and by
   * each removal.
   */
  expiries: defineTable({ at: v.number(), job: v.optional(v.id("_scheduled_functions")) }),
});
