import { v } from "convex/values";
import { query } from "./_generated/server.js";

/** The stages of the top level that have a result: those that a restart has left. */
export const kept = query({
  args: { run: v.string(), generation: v.number() },
  returns: v.array(v.string()),
  handler: async (ctx, { run, generation }) => {
    const id = ctx.db.normalizeId("runs", run);
    if (id === null) return [];
    const steps = ctx.db.query("steps").withIndex("by_run_state", (q) =>
      q.eq("run", id).eq("state", "completed"),
    );
    const names: string[] = [];
    for await (const step of steps)
      if (!step.stage.includes(".") && (step.generation ?? 1) < generation) names.push(step.stage);
    return names;
  },
});
