import { vRunId, type WorkflowReference } from "@stepwise/workflow";
import { v } from "convex/values";
import { internalMutation, internalQuery } from "./_generated/server";
import { workflow, workflows } from "./_workflows/index";

/* As in the other test app: the types of inputs are set aside. */
const named = workflows as unknown as Record<string, WorkflowReference<unknown>>;

export const start = internalMutation({
  args: { name: v.string(), input: v.any() },
  returns: vRunId,
  handler: async (ctx, { name, input }) => await workflow.start(ctx, named[name]!, input),
});

export const status = internalQuery({
  args: { name: v.string(), runId: vRunId },
  returns: v.any(),
  handler: async (ctx, { name, runId }) => await workflow.status(ctx, named[name]!, runId),
});

export const steps = internalQuery({
  args: { name: v.string(), runId: vRunId },
  returns: v.any(),
  handler: async (ctx, { name, runId }) =>
    await workflow.steps(ctx, named[name]!, runId, { numItems: 9, cursor: null }),
});

export const cancel = internalMutation({
  args: { runId: vRunId },
  returns: v.boolean(),
  handler: async (ctx, { runId }) => await workflow.cancel(ctx, runId),
});
