import { oneOf, vFair } from "@stepwise/workpool/core";
import { type Infer, v } from "convex/values";
import { ERROR_KINDS, type StepError } from "../definition/context.js";
import { stepKindNames } from "./core/kinds.js";

const END_STATES = ["completed", "failed", "canceled", "timedOut"] as const;
export const RUN_STATES = ["pending", "running", "compensating", ...END_STATES] as const;
export const vRunState = oneOf(...RUN_STATES);
export type RunState = Infer<typeof vRunState>;

/** How a run ends that does not complete. */
export const vBadEnd = oneOf("failed", "canceled", "timedOut");
export type BadEnd = Infer<typeof vBadEnd>;

/** The states of a step record that has not ended. */
export const ACTIVE_STATES = ["pending", "running", "waiting"] as const;
export const vStepState = oneOf(...ACTIVE_STATES, ...END_STATES);

export const vStepKind = oneOf(...stepKindNames);
export type { StepKind } from "./core/kinds.js";

export const vErrorKind = oneOf(...ERROR_KINDS);

/** A {@link StepError}. Its `cause` is one again, to any depth, which validators cannot say. */
export const vError = v.object({
  message: v.string(),
  kind: vErrorKind,
  reason: v.optional(v.literal("waiting")),
  waitedFor: v.optional(v.string()),
  data: v.optional(v.any()),
  workflow: v.string(),
  node: v.string(),
  attempt: v.number(),
  key: v.optional(v.string()),
  cause: v.optional(v.any()),
  causes: v.optional(v.any()),
  compensationErrors: v.optional(v.array(v.any())),
}) satisfies { type: StepError };

/** What runs that go on do. The first of these is shown of a run that does several at once. */
export const DOING = [
  "stalled",
  "running",
  "queued",
  "retrying",
  "waitingForEvent",
  "sleeping",
  "collecting",
  "waitingForTurn",
] as const;
export const vDoing = oneOf(...DOING);
export type Doing = Infer<typeof vDoing>;

/** The key of a run whose workflow has a `one`, and what becomes of a start while it is taken. */
export const vOne = v.object({
  key: v.string(),
  otherwise: oneOf("wait", "skip", "cancelOld", "newestWaits"),
});
export type One = Infer<typeof vOne>;

/** How the actions of a run stand among those that wait. */
export const vStanding = v.object({
  /** They go as if they had come so many ms earlier. */
  priorityMs: v.optional(v.number()),
  /** Whose they are, where slots are shared by keys. */
  fairness: v.optional(vFair),
});
export type Standing = Infer<typeof vStanding>;

/** Which of the starts that a run collects give its input. */
const vKeep = oneOf("last", "first", "all");

/** How a start is collected with others of its key. */
export const vCollect = v.object({
  key: v.string(),
  /** How long nothing is started before the run begins, and how long that takes at most. */
  quietMs: v.number(),
  atMostMs: v.number(),
  size: v.optional(v.number()),
  keep: vKeep,
});
export type Collect = Infer<typeof vCollect>;

/** A run that collects starts. */
export const vCollects = v.object({
  ...vCollect.omit("atMostMs").fields,
  /** When it begins at the latest. */
  until: v.number(),
  /** No start comes to it any more. */
  isClosed: v.optional(v.boolean()),
  /** The run whose starts it has, after that has taken as many as it may have. Default: its own. */
  rest: v.optional(v.id("runs")),
});
export type Collects = Infer<typeof vCollects>;

/** How a run that begins takes its items. Without `keep` its workflow collects no more. */
export const vGathering = v.object({ size: v.optional(v.number()), keep: v.optional(vKeep) });
export type Gathering = Infer<typeof vGathering>;

/** Which rows of a collecting run were counted, and how many and how much they are. */
export const vCounted = v.object({ upTo: v.int64(), items: v.number(), bytes: v.number() });
export type Counted = Infer<typeof vCounted>;

/** A paused run lets those behind it begin before it. */
export const vTurnState = oneOf("has it", "waits", "paused");

/** What a tag of a run says. */
export const vTagValue = v.union(v.string(), v.number(), v.boolean());
export const vTags = v.record(v.string(), vTagValue);
export type Tags = Infer<typeof vTags>;

/** Somebody steered a run; `from`: of a restart, its node. */
export const vSteered = v.object({
  what: oneOf("paused", "resumed", "canceled", "restarted"),
  at: v.number(),
  from: v.optional(v.string()),
});
export type Steered = Infer<typeof vSteered>;

/** A failed attempt: when it began and failed, and when the next was due; ms since the epoch. */
export const vRetry = v.object({
  attempt: v.number(),
  beganAt: v.optional(v.number()),
  failedAt: v.number(),
  nextAt: v.number(),
  /** The limit that it held until then, by a `RetryAfter`. */
  holds: v.optional(v.string()),
});

/** The storage name of the event that came, if a wait has several; null if its time was over. */
export const vCame = v.union(v.string(), v.null());

/** The iterations of the loops around a stage, outermost first, from 1. Absent outside loops. */
export const vIterations = v.array(v.number());
/** The parts of a node beside the node itself: stages of their own, which are named after it. */
export const PARTS = ["output", "finalize", "compensate"] as const;
export const vPart = oneOf(...PARTS);
export type Part = Infer<typeof vPart>;

/** Names the record of a stage. */
export const record = { stage: v.string(), iterations: v.optional(vIterations) };
/** The same. `called`: what the node is called, if that is not its storage name. */
export const place = { ...record, called: v.optional(v.string()), part: v.optional(vPart) };
export const recordArgs = { run: v.string(), ...record };
/** Says whether its result and its arguments are not shown, and whether it has a compensation. */
export const marks = { sensitive: v.optional(v.boolean()), undoable: v.optional(v.boolean()) };

/** One value of a scope. By default a stage's output. */
export const vRead = v.object({
  name: v.string(),
  ...record,
  /** The outputs of its children, `tolerant` if some may have failed. */
  children: v.optional(v.boolean()),
  tolerant: v.optional(v.boolean()),
  /** These are the cases of a race: the one that has won. */
  race: v.optional(v.boolean()),
  /** It reads the state and iteration of a loop. */
  loop: v.optional(v.boolean()),
  /** Why the run is being undone. */
  cause: v.optional(v.boolean()),
  /** How the run has ended. */
  ended: v.optional(v.boolean()),
  /** A compensation reads the loop as its step has seen it. */
  undoing: v.optional(v.boolean()),
  /** How many runs above it the value is: it is in a branch, or a body, of a run's definition. */
  up: v.optional(v.number()),
  /** It must not be an argument of a scheduled function. */
  sensitive: v.optional(v.boolean()),
});
export type Read = Infer<typeof vRead>;

/** The names of the permits that an action needs of the pool's limits. Default: none. */
export const vPermits = v.optional(v.array(v.string()));

/** The function of an action stage: its handle, and how long an attempt may take, and wait. */
const vActionFunction = v.object({
  fn: v.string(),
  timeoutMs: v.optional(v.number()),
  waitAtMostMs: v.optional(v.number()),
  permits: vPermits,
});
export type ActionFunction = Infer<typeof vActionFunction>;

/** A stage to go on with: an action, or another through the workflow's entry function. */
export const vStage = v.object({
  ...place,
  action: v.optional(vActionFunction),
  reads: v.array(vRead),
  ...marks,
  /** The transaction before it failed: this one may too, and is then repeated at once. */
  afterFailure: v.optional(v.boolean()),
  /** It has a transaction of its own. */
  alone: v.optional(v.boolean()),
});
export type Stage = Infer<typeof vStage>;

/** Proves whose turn it is. A report with another token changes nothing. */
export const vToken = v.object({
  run: v.string(),
  step: v.string(),
  attempt: v.number(),
  /** How many attempts before it do not count. */
  uncounted: v.optional(v.number()),
  iterations: v.optional(vIterations),
  /** Absent in a run that was never restarted. */
  generation: v.optional(v.number()),
  /** The hash of the plan that the run has gone by; empty if these were several. */
  plan: v.optional(v.string()),
  /** The parent's record, for one of many children. */
  parentOfMany: v.optional(v.string()),
});
export type Token = Infer<typeof vToken>;

/**
 * What to parse again instead of a parsed value that does not parse to itself: what was given, or
 * nothing if that cannot be stored. Then the parsed value stays.
 */
export const vGiven = v.object({ value: v.optional(v.any()) });
export type Given = Infer<typeof vGiven>;

/**
 * What is to be parsed again is `{ items }` of a `collect` that keeps all: true; or only looks so:
 * false. Default: it does not look so, or the run is older than this field.
 */
export const vIsCollected = v.boolean();

/** An event that a record has taken, as far as its output and its names do not say it. */
export const vTook = v.object({
  /** The storage name of the event. Default: the one that it waited for. */
  name: v.optional(v.string()),
  /** Where the payload is in the output. Default: where one of this form has it, see `payloadIn`. */
  within: v.optional(v.array(v.string())),
  given: v.optional(vGiven),
  /** When the run first came to a node that took it. Default: when it came to this one. */
  takenAt: v.optional(v.number()),
});
export type Took = Infer<typeof vTook>;

/** How runs of a workflow begin. */
export const vBeginning = v.object({
  workflow: v.string(),
  /** What the workflow is called, if that is not its storage name. */
  workflowName: v.optional(v.string()),
  /** The hash of the plan that they start under. */
  plan: v.optional(v.string()),
  entry: v.string(),
  first: vStage,
  timeoutMs: v.optional(v.number()),
  retentionMs: v.optional(v.number()),
  /** The part of the workflow that they go through: a branch, or a body. Default: all of it. */
  within: v.optional(v.string()),
  /** Something of such a run, or of a run under it, may have a compensation. */
  undoable: v.optional(v.boolean()),
  /** The workflow has an `onEnd`. */
  onEnd: v.optional(v.boolean()),
  /** The paths of their input that are not shown: `input`, `input.card`. */
  sensitive: v.optional(v.array(v.string())),
});
export type Beginning = Infer<typeof vBeginning>;

/** A child run to be. */
export const vNewChild = v.object({
  /** Its place in the list of beginnings. */
  begin: v.number(),
  key: v.optional(v.string()),
  /** What its branch is called, if that is not its key. */
  called: v.optional(v.string()),
  input: v.any(),
  given: v.optional(vGiven),
  collected: v.optional(vIsCollected),
  one: v.optional(vOne),
  /** What its workflow says itself. Default: that of its parent. */
  standing: v.optional(vStanding),
  /** Its input was refused: it is inserted as failed. */
  error: v.optional(vError),
});
export type NewChild = Infer<typeof vNewChild>;

/** How many failed children a parent tolerates. */
export const vTolerate = v.union(
  v.literal("all"),
  v.object({ failures: v.number() }),
  v.object({ percentage: v.number() }),
);
export type Tolerate = Infer<typeof vTolerate>;

/** The rule of a race: the first end of any kind wins; what the others have done stays. */
export const vRace = v.object({
  takesAny: v.optional(v.boolean()),
  keepsLosers: v.optional(v.boolean()),
});

/** The children of a parent, in pages that each fit into a document. */
export const vNewChildren = v.object({
  ...place,
  begins: v.array(vBeginning),
  pages: v.array(v.array(vNewChild)),
  keyed: v.boolean(),
  concurrency: v.optional(v.number()),
  tolerate: v.optional(vTolerate),
  /** It is the one run of a `.child`. */
  single: v.optional(v.boolean()),
  /** Only one of them counts. */
  race: v.optional(vRace),
  sensitive: v.optional(v.boolean()),
});
export type NewChildren = Infer<typeof vNewChildren>;

/** What an event's node took, or that its time was over. */
export const ofEvent = { took: v.optional(vTook), timedOut: v.optional(v.boolean()) };

/** The tables that the watchdog watches. */
export const vWatchedTable = oneOf("steps", "deadlines");

/** The time that a parent or a loop may take in all. */
export const vDeadline = v.object({
  ...place,
  /** From now on; absent if it has ended. */
  ms: v.optional(v.number()),
  /** The node has a `recover`. */
  recovers: v.optional(v.boolean()),
});
export type Deadline = Infer<typeof vDeadline>;

/** The plans that are deployed. `isOpen`: the workflow has no `one`. */
export const vPlans = v.array(
  v.object({ workflow: v.string(), plan: v.string(), isOpen: v.optional(v.boolean()) }),
);
export type Plans = Infer<typeof vPlans>;
