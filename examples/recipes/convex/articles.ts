import { vRunId } from "@stepwise/workflow";
import { v } from "convex/values";
import { mutation, query } from "./_generated/server";
import { workflow, workflows } from "./_workflows/index";
import { requireUser } from "./users";

/** Has an article written. */
export const order = mutation({
  args: { topic: v.string() },
  returns: vRunId,
  handler: async (ctx, { topic }) => {
    await requireUser(ctx);
    return await workflow.start(ctx, workflows.writeArticle, { topic });
  },
});

/** What the agent is doing: for a line of progress in a client. */
export const doing = query({
  args: { runId: vRunId },
  returns: v.array(v.string()),
  handler: async (ctx, { runId }): Promise<string[]> => {
    await requireUser(ctx);
    const status = await workflow.status(ctx, workflows.writeArticle, runId);
    return status?.active.map(({ node }) => node) ?? [];
  },
});
