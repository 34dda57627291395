import { poolTables } from "@stepwise/workpool/core";
import { defineSchema, defineTable } from "convex/server";
import { v } from "convex/values";
import { vError, vRunState, vStage, vStepKind, vStepState } from "./validators.js";

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
    /** Given to `start` as `key`: makes it idempotent. */
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
    startedAt: v.number(),
    endedAt: v.optional(v.number()),
    /** The step record that holds the run's output. */
    outputStep: v.optional(v.id("steps")),
    error: v.optional(vError),
  })
    .index("by_key", ["workflow", "startKey"])
    .index("by_parent_state", ["parentStep", "state", "index"])
    .index("by_parent", ["parentStep", "index"])
    .index("by_root", ["root"]),

  /**
   * One document: what the app's `WorkflowManager` asked for last. A value is applied when the manager's own changes, not at every start:
   * so what an operator has set meanwhile, such as a pause, stands.
   */
  managerConfig: defineTable({ maxParallelism: v.number() }),

  /**
   * The record of one stage of one run; the run's input is one too, so that everything that is read by name is read alike. Written
   * by the transaction that arrives at the stage and by the one that ends it.
   */
  steps: defineTable({
    run: v.id("runs"),
    stage: v.string(),
    kind: vStepKind,
    state: vStepState,
    attempt: v.number(),
    startedAt: v.number(),
    endedAt: v.optional(v.number()),
    output: v.optional(v.any()),
    /** The error of each attempt that failed, oldest first; of very many or very long ones the first and the newest. */
    errors: v.optional(v.array(vError)),
    /** Until when it waits for its next attempt. */
    dueAt: v.optional(v.number()),
    /** The scheduled function that will go on with it, where it is not in the pool. */
    job: v.optional(v.id("_scheduled_functions")),
    /** Of children: how many there are, and whether they were given as a record. */
    total: v.optional(v.number()),
    keyed: v.optional(v.boolean()),
    /** Of children: the run has been told to go on, because the last one has ended or one has ended badly. */
    joined: v.optional(v.boolean()),
  })
    .index("by_run", ["run"])
    .index("by_run_stage", ["run", "stage"])
    .index("by_run_state", ["run", "state"]),
});
