import { v } from "convex/values";
import type { Doc, Id } from "./_generated/dataModel.js";
import { mutation, type MutationCtx } from "./_generated/server.js";
import { enterRun, tokenOf } from "./entering.js";
import { stepOfStage } from "./scope.js";

/** Takes the oldest event of one of the names out of a run's inbox; null where there is none. */
export const take = mutation({
  args: { run: v.string(), names: v.array(v.string()) },
  returns: v.union(v.object({ name: v.string(), value: v.any() }), v.null()),
  handler: async (ctx, { run, names }) => {
    const id = ctx.db.normalizeId("runs", run);
    if (id === null) return null;
    const first: Doc<"inbox">[] = [];
    for (const name of names) {
      const event = await ctx.db
        .query("inbox")
        .withIndex("by_run_name", (q) => q.eq("run", id).eq("name", name))
        .first();
      if (event !== null) first.push(event);
    }
    const [oldest] = first.sort((one, other) => one._creationTime - other._creationTime);
    if (oldest === undefined) return null;
    await ctx.db.delete("inbox", oldest._id);
    return { name: oldest.name, value: oldest.value };
  },
});

const vReceiver = v.object({
  stage: v.string(),
  /** It may be reached again. */
  isInLoop: v.boolean(),
});

/**
 * Gives a run an event: one that waits for it goes on, in this transaction; else it is kept for the first node of the name that the run
 * comes to.
 * @returns what became of it. `ended`: the run has; `past`: so are all nodes that take such an event; neither changes anything.
 */
export const send = mutation({
  args: { runId: v.string(), name: v.string(), value: v.any(), receivers: v.array(vReceiver) },
  returns: v.union(
    v.literal("taken"),
    v.literal("kept"),
    v.literal("ended"),
    v.literal("past"),
    v.literal("unknown"),
  ),
  handler: async (ctx, { runId, name, value, receivers }) => {
    const id = ctx.db.normalizeId("runs", runId);
    const run = id === null ? null : await ctx.db.get("runs", id);
    if (run === null) return "unknown";
    if (run.state !== "running" && run.state !== "pending") return "ended";
    const waiting = await stepWaitingFor(ctx, run._id, name);
    if (waiting !== undefined && waiting.held !== true) {
      await enterRun(ctx, tokenOf(waiting), { kind: "got", name, value });
      return "taken";
    }
    if (waiting === undefined && !(await isAhead(ctx, run._id, receivers))) return "past";
    await ctx.db.insert("inbox", { run: run._id, name, value });
    return "kept";
  },
});

/** The step of a run that waits for an event of a name. */
export async function stepWaitingFor(
  ctx: MutationCtx,
  run: Id<"runs">,
  name: string,
): Promise<Doc<"steps"> | undefined> {
  const waiting = await ctx.db
    .query("steps")
    .withIndex("by_run_state", (q) => q.eq("run", run).eq("state", "waiting"))
    .collect();
  return waiting.find(({ names }) => names?.includes(name) === true);
}

/** Whether the run may still come to one of the nodes. */
async function isAhead(
  ctx: MutationCtx,
  run: Id<"runs">,
  receivers: readonly { stage: string; isInLoop: boolean }[],
): Promise<boolean> {
  for (const { stage, isInLoop } of receivers) {
    if (isInLoop) {
      const [loop = stage] = stage.split(".");
      const record = await stepOfStage(ctx, run, loop);
      if (record?.endedAt === undefined) return true;
    } else {
      const record = await stepOfStage(ctx, run, stage);
      // Where a scheduled function is on its way to the node, it has a record already.
      if (record === null || record.kind === "entry") return true;
    }
  }
  return false;
}
