import { v } from "convex/values";
import type { Doc } from "./_generated/dataModel.js";
import { vError, vRunState } from "./validators.js";

/** The fields that are told of a run wherever it is shown. */
export const runFacts = {
  runId: v.string(),
  workflow: v.string(),
  state: vRunState,
  key: v.optional(v.string()),
  plan: v.optional(v.string()),
  generation: v.number(),
  parentRunId: v.optional(v.string()),
  startedAt: v.number(),
  endedAt: v.optional(v.number()),
  paused: v.boolean(),
  error: v.optional(vError),
};

/** What these fields say of a run. */
export function factsOf(run: Doc<"runs">) {
  return {
    runId: run._id,
    workflow: run.workflow,
    state: run.state,
    key: run.startKey,
    plan: run.plan,
    generation: run.generation ?? 1,
    parentRunId: run.parentRun,
    startedAt: run.startedAt,
    endedAt: run.endedAt,
    paused: run.paused === true,
    error: run.error,
  };
}
