import { v, type Infer } from "convex/values";
import type { ErrorKind, StepError } from "../definition/step-error.js";

export const vRunState = v.union(
  v.literal("pending"),
  v.literal("running"),
  v.literal("completed"),
  v.literal("failed"),
  v.literal("canceled"),
);
export type RunState = Infer<typeof vRunState>;

export const vStepState = v.union(
  v.literal("pending"),
  v.literal("running"),
  v.literal("waiting"),
  v.literal("completed"),
  v.literal("failed"),
  v.literal("canceled"),
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
);
export type StepKind = Infer<typeof vStepKind>;

const vErrorKind = v.union(
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
}) satisfies { type: StepError };

/** One value of a scope: the output of a stage, or the outputs of its children, under a name. */
export const vRead = v.object({
  name: v.string(),
  stage: v.string(),
  children: v.optional(v.boolean()),
});
export type Read = Infer<typeof vRead>;

/** The function of an action stage: its handle, and how long an attempt may take. */
export const vActionFunction = v.object({ fn: v.string(), timeoutMs: v.optional(v.number()) });
export type ActionFunction = Infer<typeof vActionFunction>;

/** A stage to go on with: an action, by its function, or another through the workflow's `resume`. */
export const vStage = v.object({
  stage: v.string(),
  action: v.optional(vActionFunction),
  reads: v.array(vRead),
});
export type Stage = Infer<typeof vStage>;

/** Whose turn it is: the run, the step record, and which attempt of it. What does not fit (any more) changes nothing. */
export const vToken = v.object({ run: v.string(), step: v.string(), attempt: v.number() });
export type Token = Infer<typeof vToken>;

/** A child run to be. */
export const vNewChild = v.object({
  workflow: v.string(),
  resume: v.string(),
  first: vStage,
  key: v.optional(v.string()),
  input: v.any(),
  /** Its input was refused: it is inserted as failed. */
  error: v.optional(vError),
});
export type NewChild = Infer<typeof vNewChild>;

/** What became of the stage that the token names. */
export const vOutcome = v.union(
  v.object({ kind: v.literal("success"), output: v.any() }),
  v.object({ kind: v.literal("failed"), error: vError }),
  v.object({ kind: v.literal("retry"), error: vError, dueAt: v.number() }),
  /** Nothing yet: the run has only arrived there. */
  v.object({ kind: v.literal("open") }),
);
export type Outcome = Infer<typeof vOutcome>;

/** A stage that was executed inside the transaction that reports it. */
export const vFused = v.object({
  stage: v.string(),
  kind: vStepKind,
  startedAt: v.number(),
  output: v.optional(v.any()),
  error: v.optional(vError),
});
export type Fused = Infer<typeof vFused>;

/** What the run does next. */
export const vNext = v.union(
  v.object({ kind: v.literal("stage"), stage: vStage }),
  v.object({
    kind: v.literal("children"),
    stage: v.string(),
    children: v.array(vNewChild),
    keyed: v.boolean(),
    concurrency: v.optional(v.number()),
  }),
  v.object({ kind: v.literal("complete"), stage: v.string() }),
  v.object({ kind: v.literal("fail"), error: vError }),
  /** It waits for the next attempt. */
  v.object({ kind: v.literal("wait") }),
);
export type Next = Infer<typeof vNext>;

/** Why the component enters a workflow. */
export const vEvent = v.union(
  v.object({ kind: v.literal("arrive") }),
  v.object({ kind: v.literal("joined") }),
  v.object({ kind: v.literal("failed"), error: vError }),
);
export type Event = Infer<typeof vEvent>;
