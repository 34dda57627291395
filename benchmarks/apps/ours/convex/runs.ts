import { vRunId } from "@stepwise/workflow";
import { internalMutationGeneric, internalQueryGeneric } from "convex/server";
import { v } from "convex/values";
import { workflow, workflows } from "./_workflows/index.js";

const chain = { kind: v.string(), length: v.number(), ms: v.number() };

/** Starts the workflow of that kind and length; see `src/chain-definitions.ts`. */
export const start = internalMutationGeneric({
  args: chain,
  returns: vRunId,
  handler: async (ctx, { kind, length, ms }) =>
    await workflow.start(ctx, workflows[`${kind}${length}`]!, { n: 0, ms }),
});

/** The output of a run that is complete; null before that. */
export const output = internalQueryGeneric({
  args: { ...chain, runId: vRunId },
  returns: v.union(v.number(), v.null()),
  handler: async (ctx, { kind, length, runId }) => {
    const status = await workflow.status(ctx, workflows[`${kind}${length}`]!, runId);
    if (status?.state === "failed") throw new Error(status.error.message);
    return status?.state === "completed" ? (status.output as number) : null;
  },
});

/** Sends the event that a run waits for. */
export const send = internalMutationGeneric({
  args: { ...chain, runId: vRunId },
  returns: v.null(),
  handler: async (ctx, { kind, length, runId }) => {
    await workflow.sendEvent(ctx, workflows[`${kind}${length}`]!, runId, "one", 1);
    return null;
  },
});

/** Cancels a run. */
export const cancel = internalMutationGeneric({
  args: { runId: vRunId },
  returns: v.boolean(),
  handler: async (ctx, { runId }) => await workflow.cancel(ctx, runId),
});

/** Removes a run that has ended. */
export const cleanup = internalMutationGeneric({
  args: { runId: vRunId },
  returns: v.null(),
  handler: async (ctx, { runId }) => {
    await workflow.cleanup(ctx, runId);
    return null;
  },
});

/** The state of a run. */
export const state = internalQueryGeneric({
  args: { ...chain, runId: vRunId },
  returns: v.union(v.string(), v.null()),
  handler: async (ctx, { kind, length, runId }) =>
    (await workflow.status(ctx, workflows[`${kind}${length}`]!, runId))?.state ?? null,
});
