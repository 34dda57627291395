import { v } from "convex/values";
import { mutation, query } from "./_generated/server";
import { workflow, workflows } from "./_workflows/index";
import { emptyReport } from "./importing";
import schema from "./schema";

/** Begins to take over the customers of another system. */
export const begin = mutation({
  args: { source: v.string() },
  returns: v.id("imports"),
  handler: async (ctx, { source }) => {
    const importId = await ctx.db.insert("imports", {
      source,
      isDone: false,
      report: emptyReport,
    });
    await workflow.start(ctx, workflows.importCustomers, { importId, source }, { key: importId });
    return importId;
  },
});

/** How far it has come. A client that subscribes to this sees it grow, page by page. */
export const progress = query({
  args: { importId: v.id("imports") },
  returns: v.union(schema.tables.imports.validator.fields.report, v.null()),
  handler: async (ctx, { importId }) => (await ctx.db.get("imports", importId))?.report ?? null,
});
