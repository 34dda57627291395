import { vRunId } from "@stepwise/workflow";
import { v, type Infer } from "convex/values";
import { mutation, query } from "./_generated/server";
import { workflow, workflows } from "./_workflows/index";
import schema from "./schema";
import { requireUser } from "./users";

/** The URL to which a client uploads a text file. It answers with the `storageId` for `upload`. */
export const generateUploadUrl = mutation({
  args: {},
  returns: v.string(),
  handler: async (ctx) => {
    await requireUser(ctx);
    return await ctx.storage.generateUploadUrl();
  },
});

/** Starts the analysis of an uploaded file. The same file gives the same run. */
export const upload = mutation({
  args: { title: v.string(), storageId: v.id("_storage") },
  returns: vRunId,
  handler: async (ctx, args) => {
    await requireUser(ctx);
    return await workflow.start(ctx, workflows.analyzeDocument, args, { key: args.storageId });
  },
});

const vProgress = v.object({
  state: v.string(),
  /** The nodes that the run is at. */
  active: v.array(
    v.object({
      node: v.string(),
      state: v.string(),
      attempt: v.number(),
      children: v.optional(v.object({ done: v.number(), total: v.number() })),
    }),
  ),
  words: v.optional(v.number()),
  error: v.optional(v.string()),
});

/** The progress of an analysis, or null for an unknown run. */
export const progress = query({
  args: { runId: vRunId },
  returns: v.union(vProgress, v.null()),
  // Annotated, because the type of the workflow's output leads back to this function.
  handler: async (ctx, { runId }): Promise<Infer<typeof vProgress> | null> => {
    await requireUser(ctx);
    const status = await workflow.status(ctx, workflows.analyzeDocument, runId);
    if (status === null) return null;
    return {
      state: status.state,
      active: status.active.map(({ node, state, attempt, children }) => ({
        node,
        state,
        attempt,
        ...(children === undefined
          ? {}
          : { children: { done: children.done, total: children.total } }),
      })),
      ...(status.state === "completed" ? { words: status.output.words } : {}),
      ...("error" in status ? { error: status.error.message } : {}),
    };
  },
});

/** The report on an uploaded file, or null while there is none. */
export const report = query({
  args: { storageId: v.id("_storage") },
  returns: v.union(
    schema.tables.reports.validator.extend({ _id: v.id("reports"), _creationTime: v.number() }),
    v.null(),
  ),
  handler: async (ctx, { storageId }) => {
    await requireUser(ctx);
    return await ctx.db
      .query("reports")
      .withIndex("by_storageId", (q) => q.eq("storageId", storageId))
      .first();
  },
});
