import {
  isWaiting,
  slotOf,
  vWaitsFor,
  type WaitsFor,
  waitsForLimit,
} from "@stepwise/workpool/core";
import { pick } from "convex-helpers";
import { v } from "convex/values";
import { childProgress, vChildren } from "./core/childRuns.js";
import type { QueryCtx, Run, Step } from "./core/documents.js";
import { isAction, isInPool, isParent } from "./core/kinds.js";
import {
  vCame,
  vError,
  vIterations,
  vRetry,
  vRunState,
  vStepKind,
  vStepState,
} from "./validators.js";

/* What each view says of a run, and of a step. */

export const runFacts = {
  runId: v.string(),
  workflow: v.string(),
  state: vRunState,
  key: v.optional(v.string()),
  plan: v.optional(v.string()),
  generation: v.number(),
  parentRunId: v.optional(v.string()),
  within: v.optional(v.string()),
  createdAt: v.number(),
  startedAt: v.number(),
  endedAt: v.optional(v.number()),
  paused: v.boolean(),
  error: v.optional(vError),
};

/** A page of a list beside its rows. */
export const pageFields = { isDone: v.boolean(), continueCursor: v.string() };

const SAME = ["workflow", "state", "plan", "within", "startedAt", "endedAt", "error"] as const;

export function factsOf(run: Run) {
  const { _id: runId, startKey: key, parentRun: parentRunId, generation = 1, paused = false } = run;
  // Other times are whole ms, and the clock of the same transaction.
  const createdAt = Math.min(Math.floor(run._creationTime), run.startedAt);
  return { ...pick(run, [...SAME]), runId, key, parentRunId, createdAt, generation, paused };
}

export const stepFields = {
  kind: vStepKind,
  iterations: v.optional(vIterations),
  state: vStepState,
  attempt: v.number(),
  /** How many attempts of an action have held a limit, and which it holds now. */
  held: v.optional(v.number()),
  holds: v.optional(v.string()),
  /** Since when an action's attempt could begin, and when it did. */
  queuedAt: v.optional(v.number()),
  beganAt: v.optional(v.number()),
  waitsFor: v.optional(vWaitsFor),
  dueAt: v.optional(v.number()),
  came: v.optional(vCame),
  events: v.optional(v.array(v.string())),
  iteration: v.optional(v.number()),
  retries: v.optional(v.array(vRetry)),
  errors: v.array(vError),
};
export const nodeFields = {
  ...stepFields,
  called: v.optional(v.string()),
  chosen: v.optional(v.string()),
  children: v.optional(vChildren),
};

export async function stepFactsOf(ctx: QueryCtx, step: Step) {
  const { kind, iterations, attempt, dueAt, names: events, iteration } = step;
  const { retries, errors = [] } = step;
  // Which event came is a part of a result.
  const taken = step.sensitive === true ? undefined : step.took?.name;
  const came = step.timedOut === true ? null : taken;
  const { state, beganAt, waitsFor } = await inPool(ctx, step);
  const due = step.retries?.at(-1)?.nextAt ?? step.startedAt;
  // A deploy or a pause may have brought its attempt forward.
  const queuedAt = isAction(step) ? Math.min(due, beganAt ?? due) : undefined;
  const holds = state === "waiting" ? step.retries?.at(-1)?.holds : undefined;
  const holding = { held: step.uncounted, holds };
  const times = { ...holding, queuedAt, beganAt, waitsFor, dueAt };
  return { kind, iterations, state, attempt, ...times, events, iteration, came, retries, errors };
}

type InPool = Pick<Step, "state" | "beganAt"> & { waitsFor?: WaitsFor | undefined };

/** The record of an action does not say whether it waits for a slot, and since when it has one. */
async function inPool(ctx: QueryCtx, step: Step): Promise<InPool> {
  if (!isInPool(step)) return step;
  if (await isWaiting(ctx, step._id))
    return { state: "pending", waitsFor: await waitsForLimit(ctx, step._id) };
  const slot = await slotOf(ctx, step._id);
  return { state: step.state, beganAt: slot?.beganAt ?? slot?.startedAt };
}

export async function nodeFactsOf(ctx: QueryCtx, step: Step) {
  const { called, chosen } = step;
  const children = isParent(step) ? await childProgress(ctx, step) : undefined;
  return { ...(await stepFactsOf(ctx, step)), called, chosen, children };
}
