import {
  applyConfig,
  enqueueWork,
  enqueueWorks,
  vConfig,
  type Work,
} from "@stepwise/workpool/core";
import type { FunctionHandle } from "convex/server";
import { v, type Infer, type ObjectType } from "convex/values";
import { checkedOutput } from "../values.js";
import { mutation, query, type MutationCtx, type QueryCtx } from "./_generated/server.js";
import { isCalledOff as isChildCalledOff } from "./core/children.js";
import type { Run, RunId } from "./core/documents.js";
import { logStarted } from "./core/log.js";
import { pool } from "./core/pool.js";
import { hasEnded, runWithKey } from "./core/runs.js";
import { loadScope } from "./core/scope.js";
import { isActive, stepWithId } from "./core/steps.js";
import { beginAction, beginStage, insertRun, knownInput } from "./engine/begin.js";
import { beginDeadline } from "./engine/deadlines.js";
import { settle as settleStep } from "./settle.js";
import { settleArgs, vBeginning, vRead, vToken } from "./validators.js";

const vStart = v.object({
  input: v.any(),
  /** Of all runs of the workflow that have not ended, only one has it. */
  key: v.optional(v.string()),
});

const startFields = {
  begin: vBeginning,
  starts: v.array(vStart),
  /** Of those with a key: when a new run begins although the key has one. Default: never. */
  reuse: v.optional(v.union(v.literal("ended"), v.literal("failed"))),
  at: v.optional(v.number()),
  onComplete: v.optional(v.object({ fn: v.string(), context: v.any() })),
  ...vConfig.fields,
};
type Starts = ObjectType<typeof startFields>;

/** What became of one start: the run's id, and whether it was started now or is that of its key. */
const vStarted = v.object({ runId: v.string(), started: v.boolean() });

/** Starts runs, or finds those of the same keys. @returns what became of each, in order. */
export const start = mutation({
  args: startFields,
  returns: v.array(vStarted),
  handler: async (ctx, starts) => await startRuns(ctx, starts),
});

export const settle = mutation({
  args: settleArgs,
  returns: v.object({ stale: v.boolean() }),
  handler: async (ctx, settlement) => await settleStep(ctx, settlement),
});

/** What a stage reads, by name. `most`: how many bytes of it. Default: what the limits allow. */
export const load = query({
  args: { run: v.string(), reads: v.array(vRead), most: v.optional(v.number()) },
  returns: v.any(),
  handler: async (ctx, { run, reads, most }) => {
    const id = ctx.db.normalizeId("runs", run);
    if (id === null) throw new Error(`There is no run "${run}"`);
    return await loadScope(ctx, id, reads, most);
  },
});

/** Whether the step of a token has ended: its run was canceled, or has gone another way. */
export const isCanceled = query({
  args: { token: vToken },
  returns: v.boolean(),
  handler: async (ctx, { token }) => {
    const step = await stepWithId(ctx, token.step);
    return step === null || !isActive(step, token);
  },
});

/** Whether a parent has ended its children, though this one is not canceled yet. */
export const isCalledOff = query({
  args: { token: vToken },
  returns: v.boolean(),
  handler: async (ctx, { token }) => await isChildCalledOff(ctx, token),
});

/** Calls a mutation of the app for a stage. @throws if its result cannot be stored. */
export const checked = mutation({
  args: { stage: v.string(), fn: v.string(), args: v.any() },
  returns: v.any(),
  handler: async (ctx, { stage, fn, args }) =>
    checkedOutput(stage, await ctx.runMutation(fn as FunctionHandle<"mutation">, args)),
});

async function startRuns(ctx: MutationCtx, { starts, ...together }: Starts) {
  const results: Infer<typeof vStarted>[] = [];
  const works: Work[] = [];
  const begun: RunId[] = [];
  let isConfigured = false;
  for (const start of starts) {
    const { key } = start;
    const same = key === undefined ? null : await runWithKey(ctx, together.begin.workflow, key);
    if (same !== null && !(await mayReuseKey(ctx, same, together.reuse))) {
      results.push({ runId: same._id, started: false });
      continue;
    }
    if (!isConfigured) await applyConfig(ctx, pool, together);
    isConfigured = true;
    const { run, begins } = await startRun(ctx, start, together, works);
    results.push({ runId: run, started: true });
    if (begins) begun.push(run);
  }
  const [first] = works;
  // A single one tries another slot, so that starts at the same moment seldom conflict.
  if (first !== undefined && works.length === 1) await enqueueWork(ctx, first, pool);
  else if (works.length > 1) await enqueueWorks(ctx, works, pool);
  await logStarted(ctx, together.begin.workflow, begun);
  return results;
}

/** Whether a start with the same key begins a new run, instead of returning this one. */
async function mayReuseKey(ctx: QueryCtx, run: Run, reuse: Starts["reuse"]) {
  if (reuse === undefined || !(await hasEnded(ctx, run))) return false;
  return reuse === "ended" || run.state !== "completed";
}

/** @param works its first work is added here. @returns the run, and whether it begins now. */
async function startRun(
  ctx: MutationCtx,
  { input, key }: Starts["starts"][number],
  { begin, at, onComplete }: Omit<Starts, "starts">,
  works: Work[],
): Promise<{ run: RunId; begins: boolean }> {
  const { workflow, plan, entry, first, timeoutMs, retentionMs } = begin;
  const now = Date.now();
  const later = at !== undefined && at > now ? at : undefined;
  const fields = {
    workflow,
    plan,
    entry,
    startKey: key,
    state: later === undefined ? ("running" as const) : ("pending" as const),
    index: 0,
    startedAt: now,
    timeoutMs,
    retentionMs,
    onComplete: onComplete?.fn,
  };
  const run = await insertRun(ctx, fields, input);
  if (onComplete !== undefined)
    await ctx.db.insert("contexts", { run, context: onComplete.context });
  if (timeoutMs !== undefined && later === undefined) await beginDeadline(ctx, run, timeoutMs);
  const known = knownInput(input);
  const { _creationTime: createdAt = now } = (await ctx.db.get("runs", run)) ?? {};
  const of = { run, plan, createdAt };
  if (first.action === undefined || later !== undefined)
    await beginStage(ctx, of, first, known, { at: later });
  else works.push(await beginAction(ctx, of, first.action, first, known));
  return { run, begins: later === undefined };
}
