import { v, type Infer, type ObjectType } from "convex/values";
import type { ErrorKind, StepError } from "../definition/step-error.js";

export const vRunState = v.union(
  v.literal("pending"),
  v.literal("running"),
  v.literal("completed"),
  v.literal("compensating"),
  v.literal("failed"),
  v.literal("canceled"),
  v.literal("timedOut"),
);

export type RunState = Infer<typeof vRunState>;

/** The ways in which a run ends badly. */
export const vBadEnd = v.union(v.literal("failed"), v.literal("canceled"), v.literal("timedOut"));

export type BadEnd = Infer<typeof vBadEnd>;

export const vStepState = v.union(
  v.literal("pending"),
  v.literal("running"),
  v.literal("waiting"),
  v.literal("completed"),
  v.literal("failed"),
  v.literal("canceled"),
  v.literal("timedOut"),
);

export type StepState = Infer<typeof vStepState>;

/** The states of a step record in which something of it is still to come. */
export const ACTIVE_STATES = ["pending", "running", "waiting"] as const;

/** `entry`: reached by a scheduled function, not executed yet. */
export const vStepKind = v.union(
  v.literal("input"),
  v.literal("entry"),
  v.literal("action"),
  v.literal("mutation"),
  v.literal("query"),
  v.literal("children"),
  v.literal("sleep"),
  v.literal("event"),
  v.literal("branch"),
  v.literal("loop"),
);

export type StepKind = Infer<typeof vStepKind>;

export const vErrorKind = v.union(
  v.literal("thrown"),
  v.literal("nonRetryable"),
  v.literal("timedOut"),
  v.literal("canceled"),
  v.literal("childFailed"),
  v.literal("invalidInput"),
  v.literal("invalidOutput"),
  v.literal("tooLarge"),
  v.literal("lost"),
  v.literal("removedNode"),
) satisfies { type: ErrorKind };

/** A {@link StepError}. Its `cause` is one again, to any depth, which validators cannot say. */
export const vError = v.object({
  message: v.string(),
  kind: vErrorKind,
  data: v.optional(v.any()),
  workflow: v.string(),
  node: v.string(),
  attempt: v.number(),
  key: v.optional(v.string()),
  cause: v.optional(v.any()),
  compensationErrors: v.optional(v.array(v.any())),
}) satisfies { type: StepError };

/** The passes of the loops around a stage, outermost first, each from 1. Absent outside loops. */
export const vPass = v.array(v.number());

/** One value of a scope, under a name. Of a stage: its output, … */
export const vRead = v.object({
  name: v.string(),
  stage: v.string(),
  pass: v.optional(vPass),
  /** … or the outputs of its children, `tolerant` where some may have ended badly, … */
  children: v.optional(v.boolean()),
  tolerant: v.optional(v.boolean()),
  /** … or, of a loop, its state and which pass it is at. */
  loop: v.optional(v.boolean()),
  /** Not of a stage, but why the run is being undone. */
  cause: v.optional(v.boolean()),
  /** Of a loop, for a compensation: as it was when the step was completed. */
  undoing: v.optional(v.boolean()),
  /** It must not stand among the arguments of a scheduled function. */
  sensitive: v.optional(v.boolean()),
});

export type Read = Infer<typeof vRead>;

/** The function of an action stage: its handle, and how long an attempt may take. */
export const vActionFunction = v.object({ fn: v.string(), timeoutMs: v.optional(v.number()) });

export type ActionFunction = Infer<typeof vActionFunction>;

/** A stage to go on with: an action, by its function, or another through the workflow's `resume`. */
export const vStage = v.object({
  stage: v.string(),
  called: v.optional(v.string()),
  pass: v.optional(vPass),
  action: v.optional(vActionFunction),
  reads: v.array(vRead),
  /** Its result and its arguments are not to be shown. */
  sensitive: v.optional(v.boolean()),
  /** It has a compensation. */
  undoable: v.optional(v.boolean()),
  /** A transaction that went on with it has failed: it may fail in the next one, too, and is called again at once then. */
  afterFailure: v.optional(v.boolean()),
});

export type Stage = Infer<typeof vStage>;

/** Whose turn it is: the run, the step record, and which attempt of it. What does not fit (any more) changes nothing. */
export const vToken = v.object({
  run: v.string(),
  step: v.string(),
  attempt: v.number(),
  pass: v.optional(vPass),
  /** How often the run was restarted, plus one. Absent in a run that never was. */
  generation: v.optional(v.number()),
  /** The hash of the plan that the run has gone by until now; empty where these were several. */
  plan: v.optional(v.string()),
  /** Of one of many children: the parent's record. */
  childOf: v.optional(v.string()),
});

export type Token = Infer<typeof vToken>;

/** Names the record of a stage. */
export const recordArgs = {
  run: v.string(),
  stage: v.string(),
  pass: v.optional(vPass),
};

/** How runs of a workflow begin. */
export const vBeginning = v.object({
  workflow: v.string(),
  /** The hash of the plan that they start under. */
  plan: v.optional(v.string()),
  resume: v.string(),
  first: vStage,
  timeoutMs: v.optional(v.number()),
  retentionMs: v.optional(v.number()),
  /** Something of such a run, or of a run under it, may have a compensation. */
  undoable: v.optional(v.boolean()),
});

export type Beginning = Infer<typeof vBeginning>;

/** A child run to be. */
export const vNewChild = v.object({
  /** Its place in the list of beginnings. */
  begin: v.number(),
  key: v.optional(v.string()),
  input: v.any(),
  /** Its input was refused: it is inserted as failed. */
  error: v.optional(vError),
});

export type NewChild = Infer<typeof vNewChild>;

/** How many bad ends of its children a parent lets pass. */
export const vTolerate = v.union(
  v.literal("all"),
  v.object({ failures: v.number() }),
  v.object({ percentage: v.number() }),
);

export type Tolerate = Infer<typeof vTolerate>;

/** The children of a parent, in pages that each fit into a document. */
export const vNewChildren = v.object({
  stage: v.string(),
  called: v.optional(v.string()),
  pass: v.optional(vPass),
  begins: v.array(vBeginning),
  pages: v.array(v.array(vNewChild)),
  keyed: v.boolean(),
  concurrency: v.optional(v.number()),
  tolerate: v.optional(vTolerate),
  /** It is the one run of a `.child`: no list, and an error that does not name its place. */
  single: v.optional(v.boolean()),
  sensitive: v.optional(v.boolean()),
});

export type NewChildren = Infer<typeof vNewChildren>;

/** What became of the stage that the token names. */
export const vOutcome = v.union(
  /** `error` where it failed and `recover` gave the output. `loop` as in {@link vFused}. */
  v.object({
    kind: v.literal("success"),
    output: v.any(),
    error: v.optional(vError),
    loop: v.optional(v.any()),
  }),
  v.object({ kind: v.literal("failed"), error: vError }),
  v.object({ kind: v.literal("retry"), error: vError, dueAt: v.number() }),
  /** Nothing yet: the run has only arrived there. */
  v.object({ kind: v.literal("open") }),
);

export type Outcome = Infer<typeof vOutcome>;

/** A stage that was executed inside the transaction that reports it. */
export const vFused = v.object({
  stage: v.string(),
  /** What the node is called, if that is not its storage name; for messages. */
  called: v.optional(v.string()),
  pass: v.optional(vPass),
  kind: vStepKind,
  startedAt: v.number(),
  output: v.optional(v.any()),
  /** Why it failed; with an output: before it recovered. */
  error: v.optional(vError),
  /** Of a loop: which pass it is at. It goes on unless `isOver`. */
  iteration: v.optional(v.number()),
  isOver: v.optional(v.boolean()),
  /** Of a branch: the key of its case. It goes on as long as there is no output. */
  chosen: v.optional(v.string()),
  /** It has a record already. */
  exists: v.optional(v.boolean()),
  sensitive: v.optional(v.boolean()),
  undoable: v.optional(v.boolean()),
  /** Of one with a compensation, inside a loop: its state and which pass it is, for the compensation to see. */
  loop: v.optional(v.any()),
});

export type Fused = Infer<typeof vFused>;

/** The tables that the pool's watchdog looks at. */
export const vLookedAt = v.union(
  v.literal("steps"),
  v.literal("deadlines"),
  v.literal("continuations"),
);

/** The time that a parent or a loop may take in all. */
export const vDeadline = v.object({
  stage: v.string(),
  called: v.optional(v.string()),
  pass: v.optional(vPass),
  /** From now on; absent where it has ended. */
  ms: v.optional(v.number()),
  /** The node has a `recover`. */
  recovers: v.optional(v.boolean()),
});

export type Deadline = Infer<typeof vDeadline>;

/** What the run does next. */
export const vNext = v.union(
  v.object({ kind: v.literal("stage"), stage: vStage }),
  v.object({ kind: v.literal("children"), children: vNewChildren }),
  /** It waits until a time. */
  v.object({
    kind: v.literal("sleep"),
    stage: v.string(),
    called: v.optional(v.string()),
    pass: v.optional(vPass),
    until: v.number(),
  }),
  /** It waits for an event of one of the names, for so long. */
  v.object({
    kind: v.literal("event"),
    stage: v.string(),
    called: v.optional(v.string()),
    pass: v.optional(vPass),
    names: v.array(v.string()),
    /** Their storage names, if these are others. */
    storedNames: v.optional(v.array(v.string())),
    timeoutMs: v.optional(v.number()),
    sensitive: v.optional(v.boolean()),
  }),
  /** The outputs of the children before `from` are folded; the rest follows in a transaction of its own. */
  v.object({
    kind: v.literal("reduce"),
    stage: v.string(),
    pass: v.optional(vPass),
    accumulated: v.any(),
    from: v.number(),
  }),
  v.object({
    kind: v.literal("complete"),
    /** The stage whose output is the run's; null where it has none. */
    stage: v.union(v.string(), v.null()),
    /** Something of the run, or of a run under it, may have a compensation. */
    undoable: v.boolean(),
  }),
  /** The run fails; a compensation only does so itself. */
  v.object({
    kind: v.literal("fail"),
    error: vError,
    /** The storage name of the stage that failed, if the error says another. */
    stage: v.optional(v.string()),
    /** What the error says is not to be logged. */
    sensitive: v.optional(v.boolean()),
    /** What should have gone on with the run has failed itself, for good. */
    ofCompletion: v.optional(v.boolean()),
  }),
  /** A compensation has ended well. */
  v.object({ kind: v.literal("undone") }),
  /** It waits for the next attempt. */
  v.object({ kind: v.literal("wait") }),
);

export type Next = Infer<typeof vNext>;

/** What an action has reported. */
export const vReported = v.union(
  v.object({ kind: v.literal("done"), output: v.any() }),
  v.object({ kind: v.literal("failed"), error: vError }),
);

/** Why the component enters a workflow. */
export const vEvent = v.union(
  v.object({ kind: v.literal("arrive") }),
  /** Its children have all ended. `single`: it is a `.child`. */
  v.object({ kind: v.literal("joined"), single: v.optional(v.boolean()) }),
  /** What it waited for until now: the end of a sleep, or of the time for an event. */
  v.object({ kind: v.literal("due"), of: v.union(v.literal("sleep"), v.literal("event")) }),
  v.object({ kind: v.literal("got"), name: v.string(), value: v.any() }),
  ...vReported.members,
);

export type Event = Infer<typeof vEvent>;

/** The plans that are deployed. */
export const vPlans = v.array(v.object({ workflow: v.string(), plan: v.string() }));

export type Plans = Infer<typeof vPlans>;

/** What one transaction of a run reports: what became of its stage, what it executed besides, and what comes next. */
export const settleArgs = {
  token: vToken,
  slot: v.optional(v.string()),
  /** The hash of the plan that is deployed. */
  plan: v.optional(v.string()),
  outcome: vOutcome,
  fused: v.array(vFused),
  /** Children whose outputs were folded here. */
  reduced: v.optional(v.object({ stage: v.string(), pass: v.optional(vPass), value: v.any() })),
  deadlines: v.optional(v.array(vDeadline)),
  next: vNext,
};

export type Settlement = ObjectType<typeof settleArgs>;

/** The arguments of every function that goes on with something; see `continuations.ts`. */
export const continuationArgs = { continuation: v.id("continuations") };
