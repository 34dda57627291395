import { vRunId } from "@stepwise/workflow";
import { v } from "convex/values";
import { internalMutation, mutation, query } from "./_generated/server";
import { workflow, workflows } from "./_workflows/index";
import { vReport } from "./importing";
import { requireUser } from "./users";

/** Starts an import of the customers of another system. */
export const begin = mutation({
  args: { source: v.string() },
  returns: vRunId,
  handler: async (ctx, { source }) => {
    await requireUser(ctx);
    return await workflow.start(ctx, workflows.importCustomers, { source });
  },
});

/** The progress of an import. A client that subscribes to this sees each customer. */
export const progress = query({
  args: { runId: vRunId },
  returns: v.object({
    page: v.number(),
    /** The customers of the current page: how many are done, and how many there are. */
    done: v.number(),
    of: v.number(),
    report: v.union(vReport, v.null()),
  }),
  handler: async (ctx, { runId }) => {
    await requireUser(ctx);
    const status = await workflow.status(ctx, workflows.importCustomers, runId);
    const node = (name: string) => status?.active.find((each) => each.node === name);
    const customers = node("pages.customers")?.children;
    return {
      page: node("pages")?.iteration ?? 0,
      done: (customers?.done ?? 0) + (customers?.failed ?? 0),
      of: customers?.total ?? 0,
      report: status?.state === "completed" ? status.output : null,
    };
  },
});

/** Imports a source every night, unless the last import still runs. See `crons.ts`. */
export const nightly = internalMutation({
  args: { source: v.string() },
  returns: v.null(),
  handler: async (ctx, { source }) => {
    const options = { key: `nightly ${source}`, reuse: "ended" } as const;
    await workflow.start(ctx, workflows.importCustomers, { source }, options);
    return null;
  },
});
