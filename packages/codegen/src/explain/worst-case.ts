import { durationMs } from "../plan/duration.js";
import { longestWaits, retryOf } from "../plan/retry.js";
import type { NodePlan, StagePlan, WorkflowPlan } from "../plan/schema.js";
import { stageKind } from "../plan/stage-kinds.js";

/** The longest that a stage can take, in ms; null when that depends on something else. */
export interface WorstCase {
  /** How often it is tried; null when that is computed. Absent for what is not tried again. */
  readonly attempts?: number | null;
  /** Of one attempt; null when it is computed. Absent when there is none but the platform's. */
  readonly timeoutMs?: number | null;
  readonly worstCaseMs: number | null;
}

/** Convex's limits: the time of an action in its own runtime, and of a transaction's own code. */
const actionMs = 30 * 60_000;
const transactionMs = 1_000;

/** How long a run of each workflow takes at worst, in ms; null where that is open. */
export type LongestRuns = ReadonlyMap<string, number | null>;

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
  duration: ({ policy }) => ({ worstCaseMs: durationMs(policy.values["duration"]) ?? null }),
  timeout: waiting,
  runs,
  // What is decided in the transaction that arrives takes no time of its own.
  nothing: () => ({ worstCaseMs: 0 }),
};

/** Children run side by side: the longest counts. With `concurrency`, their number is unknown. */
function runs(stage: StagePlan, { node, runs: longestRuns }: Around): WorstCase {
  const { timeoutMs, worstCaseMs: limit } = waiting(stage);
  const takeTurns = node.given.has("concurrency");
  const longest = takeTurns ? null : longestChild(stage, longestRuns);
  return { timeoutMs, worstCaseMs: limit === null ? longest : Math.min(limit, longest ?? limit) };
}

/** Null when one of the possible workflows has no worst case, or when it may be any. */
function longestChild({ workflows }: StagePlan, runs: LongestRuns): number | null {
  const times = workflows?.map((name) => runs.get(name) ?? null) ?? [null];
  const known = times.filter((ms) => ms !== null);
  return known.length < times.length ? null : Math.max(0, ...known);
}

function attempts({ policy }: StagePlan, { workflow }: Around): WorstCase {
  const timeoutMs = timeoutOf(policy);
  const isOwn = "retry" in policy.values || policy.computed.includes("retry");
  const { values, computed } = isOwn ? policy : workflowPolicy(workflow);
  if (computed.includes("retry")) return { attempts: null, timeoutMs, worstCaseMs: null };
  const retry = retryOf(values["retry"]);
  const attempts = retry.maxAttempts;
  if (timeoutMs === null) return { attempts, timeoutMs, worstCaseMs: null };
  const worstCaseMs = attempts * (timeoutMs ?? actionMs) + longestWaits(retry);
  return { attempts, timeoutMs, worstCaseMs };
}

function waiting({ policy }: StagePlan): WorstCase {
  const timeoutMs = timeoutOf(policy);
  return { timeoutMs, worstCaseMs: timeoutMs ?? null };
}

function timeoutOf({ values, computed }: StagePlan["policy"]): number | null | undefined {
  if (computed.includes("timeout")) return null;
  return "timeout" in values ? (durationMs(values["timeout"]) ?? null) : undefined;
}

function workflowPolicy({
  options,
  given,
}: WorkflowPlan): Pick<StagePlan["policy"], "values" | "computed"> {
  const computed = [...given.keys()].filter((name) => !(name in options));
  return { values: options, computed };
}

/** After how many ms a node ends whatever runs in it; undefined without such a limit. */
export function limitOf({ stages, options }: NodePlan): number | undefined {
  // That of a parent or a loop covers all that is in it; that of any other node is its one stage's.
  const isWhole = stages.some(({ kind }) => kind === "children" || kind === "loop");
  return isWhole ? durationMs(options["timeout"]) : undefined;
}

/** How many passes a node with bodies makes at most; null when that is computed. */
export function passesOf({ stages, options }: NodePlan): number | null {
  if (!stages.some(({ kind }) => stageKind(kind).shape === "loop")) return 1;
  const max = options["maxIterations"];
  return typeof max === "number" ? max : null;
}
