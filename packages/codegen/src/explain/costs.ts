import type { NodePlan, StagePlan, WorkflowPlan } from "../plan/schema.js";
import {
  hasBranches,
  hasStage,
  isApart,
  isEach,
  isLoop,
  stageKind,
  startsRuns,
} from "../plan/stage-kinds.js";
import { durationMs, FEW_CHILDREN, LONGEST_DAY_MS } from "../plan/constants.js";
import type { Json } from "../plan/known.js";
import { isOnEnd } from "../plan/on-end.js";
import { longestWaits, retryOf } from "../plan/retry.js";

/* Counts root executions as docs/design.md does; a mutation joins an open transaction. */

/** Where a run comes from when it arrives at a stage. */
export type Transaction =
  /** It is started: its first action is scheduled directly, anything else by its own function. */
  | "none"
  /** What is arrived at may be executed in it. */
  | "open"
  /** The same, but branches that begin in it do not: it is that of the run around. */
  | "shared"
  /** One in which nothing more is executed, as it was that of an isolated step. */
  | "closed";

/** The share of a transaction that a stage takes in an open one, which holds 20 stages. */
const fused = 1 / 20;

/** What a stage costs when nothing fails, and where a run comes from that goes on after it. */
interface Walked {
  readonly executions: number;
  readonly after: Transaction;
}

/** What a loop costs beside its bodies. @param more what its first iteration needs more */
export const loopExecutions = (iterations: number, more: number): number =>
  iterations * fused + Math.max(0, more) + removals(iterations);

/** A loop keeps its first and newest 100 iterations; a job at each hundredth deletes the others. */
function removals(iterations: number): number {
  return iterations < 102 ? 0 : Math.max(1, Math.floor(iterations / 100));
}

/** What arriving at a stage costs that is no action: nothing, but when a run begins with it. */
const arrival = (from: Transaction): number => (from === "none" ? 1 : 0);
export const within = (from: Transaction): Transaction => (from === "none" ? "open" : from);

/** The action and its completion; a referenced one is called by the generated one. */
const action = ({ reference }: StagePlan): number => (reference === undefined ? 2 : 3);

function transaction({ policy: { values, computed } }: StagePlan, from: Transaction): Walked {
  if (values["isolate"] === true || computed.includes("isolate"))
    return { executions: 1, after: "closed" };
  const after = within(from) === "shared" ? "shared" : "open";
  return { executions: from === "open" || from === "shared" ? fused : 1, after };
}

/** Says whether the branches of a node begin in the transaction that reaches it, but for actions. */
export const entersBranches = (node: NodePlan, from: Transaction): boolean =>
  isApart(node) &&
  !isEach(node) &&
  (node.bodies ?? []).length <= FEW_CHILDREN &&
  within(from) === "open";

export function throughStage(stage: StagePlan, from: Transaction, node: NodePlan): Walked {
  const { goes, bodies } = stageKind(stage.kind);
  // The transaction that ends the run arrives at it.
  if (isOnEnd(node)) return { executions: goes === "queued" ? action(stage) : fused, after: from };
  // Each compensation is arrived at by a function of its own.
  if (stage.isAside)
    return { executions: 1 + (goes === "queued" ? action(stage) : 0), after: from };
  if (goes === "within") return transaction(stage, from);
  if (goes === "queued") {
    // The time of a parent is watched from where its workflow arrives at it.
    const isTimed = startsRuns(node) && node.given.has("timeout");
    return { executions: action(stage) + (isTimed ? arrival(from) : 0), after: "open" };
  }
  if (goes === "decided") {
    // The iterations of a loop are counted with its body.
    const executions = arrival(from) + (bodies === "iteration" ? 0 : fused);
    return { executions, after: within(from) };
  }
  return { executions: arrival(from) + (goes === "woken" ? 1 : 0), after: "open" };
}

/** How many of a stage's root executions are actions: its own, and the one a reference names. */
export const actionsOf = (stage: StagePlan): number =>
  stageKind(stage.kind).goes === "queued" ? action(stage) - 1 : 0;

/** The longest that a stage can take. */
export interface WorstCase {
  /** How often it is tried; null when that is computed. Absent for what is not tried again. */
  readonly attempts?: number | null;
  /** Limits one attempt; null when it is computed. Absent when only the platform limits it. */
  readonly timeoutMs?: number | null;
  /** Infinity when it depends on something else; JSON has null for that. */
  readonly worstCaseMs: number;
}

/** Convex's limits: the time of an action in its own runtime, and of a transaction's own code. */
const actionMs = 30 * 60_000;
const transactionMs = 1_000;

/** How long a run of each workflow takes at worst, in ms. */
export type LongestRuns = ReadonlyMap<string, number>;

interface Around {
  readonly node: NodePlan;
  readonly workflow: WorkflowPlan;
  readonly runs: LongestRuns;
}

export function worstCase(stage: StagePlan, around: Around): WorstCase {
  return byWhatItTakes[stageKind(stage.kind).takes](stage, around);
}

const byWhatItTakes: Readonly<
  Record<ReturnType<typeof stageKind>["takes"], (stage: StagePlan, around: Around) => WorstCase>
> = {
  attempts,
  transaction: () => ({ worstCaseMs: transactionMs }),
  duration: ({ policy: { values } }) => ({ worstCaseMs: sleepMs(values["duration"]) }),
  timeout: waiting,
  run: runs,
  runs,
  // What is decided in the transaction that arrives takes no time of its own.
  nothing: () => ({ worstCaseMs: 0 }),
};

/** A duration, or a time of day, which comes once a day. One that is not seen has no limit. */
function sleepMs(duration: Json | undefined): number {
  return typeof duration === "object" ? LONGEST_DAY_MS : (durationMs(duration) ?? Infinity);
}

/** Children run side by side: the longest counts. With `concurrency`, their number is unknown. */
function runs(stage: StagePlan, { node, runs: longestRuns }: Around): WorstCase {
  const { timeoutMs, worstCaseMs: limit } = waiting(stage);
  // Without a list, a child may be a run of any workflow. What is inside the node is counted there.
  const isInside = node.bodies !== undefined;
  const names = node.given.has("concurrency") && !isInside ? undefined : stage.workflows;
  const longest = names?.map((name) => longestRuns.get(name) ?? Infinity) ?? [Infinity];
  return { timeoutMs, worstCaseMs: Math.min(limit, Math.max(0, ...longest)) };
}

function attempts({ policy }: StagePlan, { workflow }: Around): WorstCase {
  const timeoutMs = timeoutOf(policy);
  const isOwn = "retry" in policy.values || policy.computed.includes("retry");
  const { values, given } = isOwn ? policy : { ...workflow, values: workflow.options };
  if (given.has("retry") && !("retry" in values))
    return { attempts: null, timeoutMs, worstCaseMs: Infinity };
  const retry = retryOf(values["retry"]);
  const attempts = retry.maxAttempts;
  if (timeoutMs === null) return { attempts, timeoutMs, worstCaseMs: Infinity };
  const worstCaseMs = attempts * (timeoutMs ?? actionMs) + longestWaits(retry);
  return { attempts, timeoutMs, worstCaseMs };
}

function waiting({ policy }: StagePlan): WorstCase {
  const timeoutMs = timeoutOf(policy);
  return { timeoutMs, worstCaseMs: timeoutMs ?? Infinity };
}

function timeoutOf({ values, computed }: StagePlan["policy"]): number | null | undefined {
  if (computed.includes("timeout")) return null;
  return "timeout" in values ? (durationMs(values["timeout"]) ?? null) : undefined;
}

/** After how many ms a node ends whatever runs in it. */
export const limitOf = (node: NodePlan): number =>
  (isTimedAsWhole(node) ? durationMs(node.options["timeout"]) : undefined) ?? Infinity;

/** The `timeout` of an action is of each attempt. */
const isTimedAsWhole = hasStage(
  ({ goes, options }) => goes !== "queued" && options.includes("timeout"),
);

/** Says whether its items are run a few at a time, so that their number says how long it takes. */
export const takesTurns = (node: NodePlan): boolean =>
  isApart(node) && !hasBranches(node) && node.given.has("concurrency");

/** How many iterations a node with bodies makes at most; null when that is computed. */
export function iterationsOf(node: NodePlan): number | null {
  if (!isLoop(node)) return 1;
  const max = node.options["maxIterations"];
  return typeof max === "number" ? max : null;
}
