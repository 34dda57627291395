import { v, type Infer } from "convex/values";
import type { Id } from "./_generated/dataModel.js";
import type { MutationCtx } from "./_generated/server.js";
import { insertInput } from "./children.js";
import { applyManagerConfig } from "./config.js";
import { beginDeadline } from "./deadlines.js";
import { beginRun, knownInput } from "./entering.js";
import { vBeginning } from "./validators.js";

/** What a run starts with. */
export const vStart = v.object({
  ...vBeginning.fields,
  input: v.any(),
  key: v.optional(v.string()),
  /** When it begins, in ms since the epoch. Default: now. */
  at: v.optional(v.number()),
  /** The handle of a mutation to call at its end, and what to call it with. */
  onComplete: v.optional(v.object({ fn: v.string(), context: v.any() })),
});
type Start = Infer<typeof vStart>;

/** Starts a run of the top level, or gives the one that was started with the same key. */
export async function startRun(
  ctx: MutationCtx,
  { workflow, plan, resume, first, timeoutMs, retentionMs, input, key, at, onComplete }: Start,
  maxParallelism: number | undefined,
): Promise<Id<"runs">> {
  if (key !== undefined) {
    const same = await ctx.db
      .query("runs")
      .withIndex("by_key", (q) => q.eq("workflow", workflow).eq("startKey", key))
      .first();
    if (same !== null) return same._id;
  }
  await applyManagerConfig(ctx, maxParallelism);
  const now = Date.now();
  const later = at !== undefined && at > now ? at : undefined;
  const id = await ctx.db.insert("runs", {
    workflow,
    ...(plan === undefined ? {} : { plan }),
    resume,
    ...(key === undefined ? {} : { startKey: key }),
    state: later === undefined ? "running" : "pending",
    index: 0,
    startedAt: now,
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(retentionMs === undefined ? {} : { retentionMs }),
    ...(onComplete === undefined ? {} : { onComplete: onComplete.fn }),
  });
  if (onComplete !== undefined)
    await ctx.db.insert("contexts", { run: id, context: onComplete.context });
  if (timeoutMs !== undefined && later === undefined) await beginDeadline(ctx, id, timeoutMs);
  await insertInput(ctx, id, input);
  await beginRun(ctx, { _id: id }, first, knownInput(input), later);
  return id;
}
