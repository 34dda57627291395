import { enqueueWork, enqueueWorks, vConfig, type Work } from "@stepwise/workpool/core";
import { v, type Infer } from "convex/values";
import type { Doc, Id } from "./_generated/dataModel.js";
import type { MutationCtx, QueryCtx } from "./_generated/server.js";
import { insertInput } from "./inserting.js";
import { applyManagerConfig } from "./config.js";
import { beginDeadline } from "./deadlines.js";
import { arriveAt, beginAction, knownInput } from "./entering.js";
import { pool } from "./line.js";
import { logStarted } from "./log.js";
import { vBeginning } from "./validators.js";

/** What one run starts with. */
const vStart = v.object({
  input: v.any(),
  /** Of all runs of the workflow, only one has it. */
  key: v.optional(v.string()),
});
type Start = Infer<typeof vStart>;

/** What runs start with that are started together. */
export const startFields = {
  begin: vBeginning,
  starts: v.array(vStart),
  /** When they begin, in ms since the epoch. Default: now. */
  at: v.optional(v.number()),
  /** The handle of a mutation to call at the end of each, and what to call it with. */
  onComplete: v.optional(v.object({ fn: v.string(), context: v.any() })),
  /** What the manager says of the pool. */
  ...vConfig.fields,
};
const vTogether = v.object(startFields);
type Together = Omit<Infer<typeof vTogether>, "starts">;

/** Starts runs of the top level; where one was started with the same key, that is given. @returns their ids, in the order of the starts. */
export async function startRuns(
  ctx: MutationCtx,
  { starts, ...together }: Infer<typeof vTogether>,
): Promise<Id<"runs">[]> {
  const ids: Id<"runs">[] = [];
  const works: Work[] = [];
  const begun: Id<"runs">[] = [];
  let isConfigured = false;
  for (const start of starts) {
    const same = await runWithKey(ctx, together.begin.workflow, start.key);
    if (same !== null) {
      ids.push(same._id);
      continue;
    }
    if (!isConfigured) await applyManagerConfig(ctx, together);
    isConfigured = true;
    const { run, begins } = await startRun(ctx, start, together, works);
    ids.push(run);
    if (begins) begun.push(run);
  }
  const [first] = works;
  // One by itself looks for a slot where others do not: starts that come at the same moment seldom meet.
  if (first !== undefined && works.length === 1) await enqueueWork(ctx, first, pool);
  else if (works.length > 1) await enqueueWorks(ctx, works, pool);
  await logStarted(ctx, together.begin.workflow, begun);
  return ids;
}

/** The run that was started with a key; null where none was. */
export async function runWithKey(
  ctx: QueryCtx,
  workflow: string,
  key: string | undefined,
): Promise<Doc<"runs"> | null> {
  if (key === undefined) return null;
  return await ctx.db
    .query("runs")
    .withIndex("by_key", (q) => q.eq("workflow", workflow).eq("startKey", key))
    .first();
}

/**
 * @param works what the pool is to run for it is added here.
 * @returns the run, and whether it begins now.
 */
async function startRun(
  ctx: MutationCtx,
  { input, key }: Start,
  { begin, at, onComplete }: Together,
  works: Work[],
): Promise<{ run: Id<"runs">; begins: boolean }> {
  const { workflow, plan, resume, first, timeoutMs, retentionMs } = begin;
  const now = Date.now();
  const later = at !== undefined && at > now ? at : undefined;
  const run = await ctx.db.insert("runs", {
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
    await ctx.db.insert("contexts", { run, context: onComplete.context });
  if (timeoutMs !== undefined && later === undefined) await beginDeadline(ctx, run, timeoutMs);
  await insertInput(ctx, run, input);
  const known = knownInput(input);
  const { _creationTime: createdAt = now } = (await ctx.db.get("runs", run)) ?? {};
  const of = { run, plan, createdAt };
  if (first.action === undefined || later !== undefined)
    await arriveAt(ctx, of, first, known, { at: later });
  else works.push(await beginAction(ctx, of, first.action, first, known));
  return { run, begins: later === undefined };
}
