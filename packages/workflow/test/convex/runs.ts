import { vRunId, type WorkflowReference } from "@stepwise/workflow";
import { v } from "convex/values";
import { internalMutation, internalQuery } from "./_generated/server";
import { workflow, workflows } from "./_workflows/index";

/*
 * The tests start workflows by name, so the types of their inputs are set aside here; test/types is
 * about those.
 */
const named = workflows as unknown as Record<string, WorkflowReference<unknown>>;
function reference(name: string): WorkflowReference<unknown> {
  const found = named[name];
  if (found === undefined) throw new Error(`The test app has no workflow "${name}"`);
  return found;
}

export const start = internalMutation({
  args: { name: v.string(), input: v.any(), key: v.optional(v.string()) },
  returns: vRunId,
  handler: async (ctx, { name, input, key }) =>
    await workflow.start(ctx, reference(name), input, key === undefined ? {} : { key }),
});

/** A caller that catches: its transaction goes on. */
export const startOrLog = internalMutation({
  args: { name: v.string(), input: v.any() },
  returns: v.null(),
  handler: async (ctx, { name, input }) => {
    try {
      await workflow.start(ctx, reference(name), input);
    } catch (error) {
      await ctx.db.insert("log", { text: (error as Error).message });
    }
    return null;
  },
});

export const status = internalQuery({
  args: { name: v.string(), runId: vRunId },
  returns: v.any(),
  handler: async (ctx, { name, runId }) => await workflow.status(ctx, reference(name), runId),
});

/** Both in one transaction, so that the restart has not removed anything yet. */
export const restartAndCancel = internalMutation({
  args: { name: v.string(), runId: vRunId },
  returns: v.null(),
  handler: async (ctx, { name, runId }) => {
    await workflow.restart(ctx, reference(name), runId);
    await workflow.cancel(ctx, runId);
    return null;
  },
});

export const cancel = internalMutation({
  args: { runId: vRunId },
  returns: v.boolean(),
  handler: async (ctx, { runId }) => await workflow.cancel(ctx, runId),
});
