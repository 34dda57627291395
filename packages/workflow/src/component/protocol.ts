import { oneOf } from "@stepwise/workpool/core";
import { type Infer, type ObjectType, v } from "convex/values";
import { timedKinds } from "./core/kinds.js";
import {
  marks,
  ofEvent,
  place,
  record,
  vDeadline,
  vError,
  vGiven,
  vIterations,
  vNewChildren,
  vStage,
  vStepKind,
  vToken,
} from "./validators.js";

/** What became of the step of the token. */
export const vOutcome = v.union(
  /** `error`: it failed, and `recover` gave the output. `loop` as in {@link vFused}. */
  v.object({
    kind: v.literal("success"),
    output: v.any(),
    error: v.optional(vError),
    loop: v.optional(v.any()),
    /** What it has used of limits that count a unit. */
    used: v.optional(v.record(v.string(), v.number())),
    ...ofEvent,
  }),
  v.object({ kind: v.literal("failed"), error: vError }),
  /**
   * `holds`: a limit of the step that starts nothing until then; then the attempt does not count.
   */
  v.object({
    kind: v.literal("retry"),
    error: vError,
    dueAt: v.number(),
    holds: v.optional(v.string()),
  }),
  /** Nothing yet: the run has only arrived there. */
  v.object({ kind: v.literal("open") }),
);
export type Outcome = Infer<typeof vOutcome>;

/** A stage that was executed inside the transaction that reports it. */
const vFused = v.object({
  ...place,
  kind: vStepKind,
  startedAt: v.number(),
  output: v.optional(v.any()),
  /** Why it failed; with an output: before it recovered. */
  error: v.optional(vError),
  /** The iteration of a loop. It goes on unless `isOver`. */
  iteration: v.optional(v.number()),
  isOver: v.optional(v.boolean()),
  /** The key of a branch's case. It goes on until there is an output. */
  chosen: v.optional(v.string()),
  ...ofEvent,
  /** It has a record already. */
  exists: v.optional(v.boolean()),
  ...marks,
  /** The loop around a stage with a compensation: its state and iteration. */
  loop: v.optional(v.any()),
});
export type Fused = Infer<typeof vFused>;

const vNext = v.union(
  v.object({ kind: v.literal("stage"), stage: vStage }),
  v.object({ kind: v.literal("children"), children: vNewChildren }),
  /** It waits until a time, or for an event of one of the names. */
  v.object({
    kind: oneOf(...timedKinds),
    ...place,
    until: v.optional(v.number()),
    names: v.optional(v.array(v.string())),
    /** Their storage names, if these are others. */
    storedNames: v.optional(v.array(v.string())),
    sensitive: v.optional(v.boolean()),
  }),
  /** The outputs of the children before `from` are reduced; the rest follows later. */
  v.object({ kind: v.literal("reduce"), ...record, accumulated: v.any(), from: v.number() }),
  /** `stage`: whose output is the run's. `undoable`: something in it may have a compensation. */
  v.object({
    kind: v.literal("complete"),
    stage: v.union(v.string(), v.null()),
    iterations: v.optional(vIterations),
    undoable: v.boolean(),
  }),
  /** The run fails; a compensation or an `onEnd` only does so itself. */
  v.object({
    kind: v.literal("fail"),
    error: vError,
    /** The storage name of the stage that failed, if the error says another. */
    stage: v.optional(v.string()),
    /** The error's message is not logged. */
    sensitive: v.optional(v.boolean()),
    /** A completion has failed for good. */
    ofCompletion: v.optional(v.boolean()),
  }),
  /** A compensation has ended well, or an `onEnd`. */
  v.object({ kind: v.literal("undone") }),
  /** It waits for the next attempt. */
  v.object({ kind: v.literal("wait") }),
);
export type Next = Infer<typeof vNext>;

/** When the attempt that is reported began, by the clock of whoever knows. */
const began = { beganAt: v.optional(v.number()) };

/** What an action has reported. */
export const vReported = v.union(
  v.object({ kind: v.literal("success"), output: v.any(), ...began }),
  /**
   * `retryAt`: when it asks to be tried again, in ms since the epoch; `holds`: a limit till then.
   */
  v.object({
    kind: v.literal("failed"),
    error: vError,
    retryAt: v.optional(v.number()),
    holds: v.optional(v.string()),
    ...began,
  }),
);

/** The action that follows an end in the pool's queue, and what it reads; null if that is large. */
export const vQueued = v.object({ row: v.string(), scope: v.any() });
export type Queued = Infer<typeof vQueued>;

/** How an executor calls the function that an action is a reference to, in place of its own. */
const vCall = v.object({
  fn: v.string(),
  args: v.any(),
  workflow: v.string(),
  /** The stage, and what messages call it. */
  node: v.string(),
  called: v.string(),
  timeout: v.optional(v.union(v.number(), v.string())),
  /** What it gives does not count. Default: false. */
  makesNothing: v.optional(v.boolean()),
});
export type Call = Infer<typeof vCall>;
/** What follows an end in the pool's queue: its stage, and what to call for it. */
export const vFollows = v.object({ row: v.string(), stage: v.string(), call: v.optional(vCall) });
/** Where the report of a step enters its run: the function, and the stage. */
export const vVia = v.object({ entry: v.string(), stage: v.string() });
export type Via = Infer<typeof vVia>;
/** A step of which an executor asks what to call. */
export const vAsked = v.object({ token: vToken, stage: v.string(), scope: v.any() });
export type Asked = Infer<typeof vAsked>;
/** What to call for each, in order; null where its own function is needed. */
export const vCalls = v.array(v.union(vCall, v.null()));

/** Why the component enters a workflow. */
export const vEvent = v.union(
  /** `hasKeys`: the keys of its limits are made already; `hasTime`: so is the time of its wait. */
  v.object({
    kind: v.literal("arrive"),
    hasKeys: v.optional(v.boolean()),
    hasTime: v.optional(v.boolean()),
  }),
  /** Its children have all ended. */
  v.object({ kind: v.literal("settled") }),
  /** The end of a sleep, or of the time for an event. */
  v.object({ kind: v.literal("due") }),
  v.object({
    kind: v.literal("got"),
    name: v.string(),
    value: v.any(),
    given: v.optional(vGiven),
  }),
  ...vReported.members,
);
export type Event = Infer<typeof vEvent>;

/** How a stage takes an event: it refuses it, or makes `value` of it, if not what others make. */
export const reception = {
  stage: v.string(),
  refuses: v.optional(v.boolean()),
  value: v.optional(v.any()),
};

/** How many more stages a transaction may execute, and for how long. */
const left = { stages: v.number(), ms: v.number() };
const vLeft = v.object(left);
export type Left = Infer<typeof vLeft>;

/**
 * A child is entered by the transaction that starts it: its parent's record, the scheduled function
 * that this is, if it is one, and the child's share.
 */
export const vStarting = v.object({
  parent: v.string(),
  job: v.optional(v.id("_scheduled_functions")),
  ...left,
});
export type Starting = Infer<typeof vStarting>;

/** Children that began in a transaction have ended in it: it goes on with their parent. */
const vGoesOn = v.object({
  token: vToken,
  stage: v.string(),
  event: vEvent,
  /** How many children were entered. */
  entered: v.number(),
});

/** What one transaction of a run reports. */
export const settleArgs = {
  token: vToken,
  slot: v.optional(v.string()),
  /** The caller is a scheduled function: only the one that the record names changes anything. */
  scheduled: v.optional(v.boolean()),
  /** The hash of the plan that is deployed, and the function that enters the next stage. */
  plan: v.optional(v.string()),
  entry: v.optional(v.string()),
  outcome: vOutcome,
  /** When the attempt of the token's step began, or what it has waited for. */
  ...began,
  fused: v.array(vFused),
  /** Children whose outputs were reduced here. */
  reduced: v.optional(v.object({ ...record, value: v.any() })),
  deadlines: v.optional(v.array(vDeadline)),
  next: vNext,
  /** Children that begin may be entered here. Default: they may not. */
  left: v.optional(vLeft),
  /** Its parent, whose children are being started, is not entered. */
  starting: v.optional(vStarting),
};
export type Settlement = ObjectType<typeof settleArgs>;

/** What has come of a report. */
export const vSettled = v.object({
  /** It has changed nothing. */
  stale: v.boolean(),
  queued: v.optional(vQueued),
  goesOn: v.optional(vGoesOn),
});
export type Settled = Infer<typeof vSettled>;
