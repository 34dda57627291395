import { durationMs } from "../plan/duration.js";
import { longestWaits, retryOf } from "../plan/retry.js";
import type { StagePlan, WorkflowPlan } from "../plan/schema.js";

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

export function worstCase(stage: StagePlan, workflow: WorkflowPlan): WorstCase {
  return byKind[stage.kind](stage, workflow);
}

const byKind: Readonly<
  Record<StagePlan["kind"], (stage: StagePlan, workflow: WorkflowPlan) => WorstCase>
> = {
  action,
  mutation: () => ({ worstCaseMs: transactionMs }),
  query: () => ({ worstCaseMs: transactionMs }),
  children,
  sleep: ({ policy }) => ({ worstCaseMs: durationMs(policy.values["duration"]) ?? null }),
  event: children,
  branch: () => ({ worstCaseMs: 0 }),
  loop: () => ({ worstCaseMs: 0 }),
  child: () => ({ worstCaseMs: null }),
};

function action({ policy }: StagePlan, workflow: WorkflowPlan): WorstCase {
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

/** As long as its children take, whose number is not known; the timeout of a parent ends them. */
function children({ policy }: StagePlan): WorstCase {
  const timeoutMs = timeoutOf(policy);
  return { timeoutMs, worstCaseMs: timeoutMs ?? null };
}

function timeoutOf({ values, computed }: StagePlan["policy"]): number | null | undefined {
  if (computed.includes("timeout")) return null;
  return "timeout" in values ? (durationMs(values["timeout"]) ?? null) : undefined;
}

function workflowPolicy({
  options,
  optionPlaces,
}: WorkflowPlan): Pick<StagePlan["policy"], "values" | "computed"> {
  const computed = [...optionPlaces.keys()].filter((name) => !(name in options));
  return { values: options, computed };
}
