import { PAGE_BYTES } from "./core/room.js";
import * as core from "@stepwise/workpool/core";
import type { FunctionHandle } from "convex/server";
import { v, type Infer, type ObjectType } from "convex/values";
import { checkedOutput } from "../values.js";
import { mutation, query, type MutationCtx, type QueryCtx } from "./_generated/server.js";
import { childrenFrom, isCalledOff as isChildCalledOff } from "./core/childRuns.js";
import { publicMutation } from "./core/continuations.js";
import type { Run, RunId } from "./core/documents.js";
import { inputFields, keptInput } from "./core/input.js";
import { isInput } from "./core/kinds.js";
import { logStarted } from "./core/log.js";
import { pool } from "./core/poolHost.js";
import { hasEnded, runWithId, runWithKey, workflowOf } from "./core/runs.js";
import { cancelScheduled } from "./core/scheduled.js";
import { loadScope, childOutput } from "./core/scope.js";
import { activeStep, isActive, isTooLate, stepRead, stepWithId } from "./core/steps.js";
import { insertTags, putTags } from "./core/tags.js";
import { holderOf, takeTurn } from "./core/turns.js";
import {
  beginAction,
  beginStage,
  insertRun,
  knownInput,
  replaceInput,
  waitForTurn,
} from "./engine/begin.js";
import { beginDeadline } from "./engine/deadlineTimer.js";
import { scheduleEntry } from "./engine/entry.js";
import { errorsBeside } from "./engine/transition.js";
import {
  type AllSeen,
  collectStart,
  gather as gatherItems,
  madeFields,
  noteMade,
} from "./features/collecting.js";
import { unlockTurn } from "./features/passTurn.js";
import { settle as settleStep } from "./settle.js";
import { settleArgs, vReported, vSettled } from "./protocol.js";
import {
  recordArgs,
  vBeginning,
  vCollect,
  vGathering,
  vPermits,
  vRead,
  vTagValue,
  vToken,
  vTags,
} from "./validators.js";

const vStart = v.object({
  ...inputFields,
  /** Only one run of the workflow that has not ended has this key. */
  key: v.optional(v.string()),
  ...madeFields,
  /** It is collected with others of its key. */
  collect: v.optional(vCollect),
  /** What its first action needs of limits, if that has keys. */
  permits: vPermits,
});

const startFields = {
  begin: vBeginning,
  starts: v.array(vStart),
  /** When a new run begins although a run has its key. Default: never. */
  reuse: v.optional(v.union(v.literal("ended"), v.literal("failed"))),
  at: v.optional(v.number()),
  onComplete: v.optional(v.object({ fn: v.string(), context: v.any() })),
  ...core.vConfig.fields,
};
type Starts = ObjectType<typeof startFields>;

/** What became of one start: a run that was started now, or that of its key goes on instead. */
const vStarted = v.object({ runId: v.string(), started: v.boolean() });

/** Starts runs, or finds those of the same keys. @returns what became of each, in order. */
export const start = mutation({
  args: startFields,
  returns: v.array(vStarted),
  handler: async (ctx, starts) => await startRuns(ctx, starts),
});

export const settle = mutation({
  args: settleArgs,
  returns: vSettled,
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

/**
 * Says whether the step of a token has ended, as its run was canceled, say; or is paused, if asked.
 */
export const isCanceled = query({
  args: { token: vToken, orPaused: v.optional(v.boolean()) },
  returns: v.boolean(),
  handler: async (ctx, { token, orPaused = false }) => {
    const step = await activeStep(ctx, token);
    return step === null || (orPaused && step.paused === true);
  },
});

/** Gives a tag to a run, or to the one of the top level that it is below. */
export const tag = mutation({
  args: { run: v.string(), name: v.string(), value: vTagValue },
  returns: v.null(),
  handler: async (ctx, { run: id, name, value }) => {
    const own = await runWithId(ctx, id);
    const run = own?.root === undefined ? own : await ctx.db.get("runs", own.root);
    if (run !== null) await putTags(ctx, run, { [name]: value });
    return null;
  },
});

/** Says whether a parent has ended its children, though this one is not canceled yet. */
export const isCalledOff = query({
  args: { token: vToken },
  returns: v.boolean(),
  handler: async (ctx, { token }) => await isChildCalledOff(ctx, token),
});

/** The input of a run that is at its very first step, so that it begins now; else null. */
export const unbegun = query({
  args: { token: vToken },
  returns: v.union(v.object({ ...inputFields, hasTurn: v.optional(v.boolean()) }), v.null()),
  handler: async (ctx, { token }) => {
    const step = await activeStep(ctx, token);
    const run = step === null ? null : await ctx.db.get("runs", step.run);
    // A restart has parsed the input itself.
    if (step === null || run === null || step.generation) return null;
    // That of an item was parsed by no schema.
    if (run.within !== undefined) return null;
    const ofRun = ctx.db.query("steps").withIndex("by_run", (q) => q.eq("run", run._id));
    const [first, second] = await ofRun.take(2);
    const earliest = first !== undefined && isInput(first) ? second : first;
    if (earliest?._id !== step._id) return null;
    return { ...(await keptInput(ctx, run)), hasTurn: run.one && true };
  },
});

/** The input of a run that begins, as its present schema gives it. */
export const reparsed = mutation({
  args: { token: vToken, ...inputFields, tags: v.optional(vTags) },
  returns: v.null(),
  handler: async (ctx, { token, tags, ...input }) => {
    const step = await activeStep(ctx, token);
    if (step === null) return null;
    await ctx.db.patch("runs", step.run, await replaceInput(ctx, step.run, input));
    const run = tags && (await ctx.db.get("runs", step.run));
    if (run && run.parentRun === undefined) await putTags(ctx, run, tags);
    return null;
  },
});

/** Gives a run that begins the starts that it has collected. @returns its input. */
export const gather = mutation({
  args: { token: vToken, how: v.optional(vGathering) },
  returns: v.union(v.object(inputFields), v.null()),
  handler: async (ctx, { token, how }) => {
    const step = await activeStep(ctx, token);
    const run = step === null ? null : await ctx.db.get("runs", step.run);
    if (step === null || run?.collects === undefined) return null;
    return await gatherItems(ctx, run, step, how);
  },
});

/** What the workflow of such a run makes of its input. */
export const gathered = mutation({
  args: { token: vToken, ...madeFields },
  returns: v.null(),
  handler: async (ctx, { token, ...made }) => {
    const step = await activeStep(ctx, token);
    if (step !== null) await noteMade(ctx, step, made);
    return null;
  },
});

/** The workflow of a run that begins has no `one` any more: all that wait for its key begin. */
export const unlock = mutation({
  args: { token: vToken },
  returns: v.null(),
  handler: async (ctx, { token }) => {
    const step = await activeStep(ctx, token);
    if (step !== null) await unlockTurn(ctx, step.run);
    return null;
  },
});

/** Calls a mutation of the app for a stage. @throws if its result cannot be stored. */
export const checked = mutation({
  args: { stage: v.string(), fn: v.string(), args: v.any() },
  returns: v.any(),
  handler: async (ctx, { stage, fn, args }) =>
    checkedOutput(stage, await ctx.runMutation(fn as FunctionHandle<"mutation">, args)),
});

/** Stores what an action reported when its completion failed; a scheduled mutation records it. */
export const keep = publicMutation(
  { token: vToken, slot: v.string(), report: vReported },
  async (ctx, { token, slot: id, report }) => {
    const step = await stepWithId(ctx, token.step);
    const slot = id as core.SlotId;
    const isCurrent = step !== null && isActive(step, token) && !isTooLate(step);
    let job;
    if (isCurrent) {
      await cancelScheduled(ctx, step);
      const made =
        report.kind === "success" ? { errors: errorsBeside(step.errors, report.output) } : {};
      job = await scheduleEntry(ctx, step, { event: report, isGuarded: true, slot: id }, made);
    }
    const held = { work: token.step, slot, executes: true };
    if (job !== undefined) await core.watchReport(ctx, held, job);
    // As in `settle`: an earlier attempt gave its slot back when the next was due.
    else if (step === null || step.attempt === token.attempt)
      await core.completeWork(ctx, pool, held);
  },
);

export const outputs = query({
  args: { ...recordArgs, from: v.number(), most: v.number(), tolerant: v.boolean() },
  returns: v.object({
    outputs: v.array(v.object({ key: v.union(v.string(), v.number()), output: v.any() })),
    isLast: v.boolean(),
  }),
  handler: async (ctx, { run, from, most, tolerant, ...of }) => {
    const parent = await stepRead(ctx, run as RunId, of);
    const page: { key: string | number; output: unknown }[] = [];
    if (parent === null) return { outputs: page, isLast: true };
    for await (const child of childrenFrom(ctx, parent._id, from)) {
      const output = await childOutput(ctx, parent, child, tolerant);
      page.push({ key: child.childKey ?? child.index, output: output ?? null });
      const { bytesRead } = await ctx.meta.getTransactionMetrics();
      if (page.length >= most || bytesRead.used > PAGE_BYTES) break;
    }
    return { outputs: page, isLast: from + page.length >= (parent.total ?? 0) };
  },
});

/** What the outputs of the first children were reduced to so far, and of how many. */
export const reduced = query({
  args: recordArgs,
  returns: v.object({ value: v.any(), from: v.number() }),
  handler: async (ctx, { run, ...of }) => {
    const parent = await stepRead(ctx, run as RunId, of);
    return { value: parent?.reduced?.value ?? null, from: parent?.reduced?.from ?? 0 };
  },
});

async function startRuns(ctx: MutationCtx, { starts, ...together }: Starts) {
  const results: Infer<typeof vStarted>[] = [];
  const works: core.Work[] = [];
  const begun: RunId[] = [];
  const seen: AllSeen = new Map();
  let gate: Parameters<typeof core.enqueueWorks>[3];
  for (const start of starts) {
    const { key } = start;
    const same = key === undefined ? null : await runWithKey(ctx, together.begin.workflow, key);
    if (same !== null && !(await mayReuseKey(ctx, same, together.reuse))) {
      results.push({ runId: same._id, started: false });
      continue;
    }
    const { collect, input, given, collected, tags } = start;
    if (collect !== undefined) {
      const of = { collect, input, given, collected, tags };
      const { run, isNew } = await collectStart(ctx, of, together.begin, seen);
      if (isNew) gate ??= await core.applyConfig(ctx, pool, together);
      results.push({ runId: run, started: isNew });
      continue;
    }
    const other = await runInstead(ctx, start, together);
    if (other !== null) {
      results.push({ runId: other, started: false });
      continue;
    }
    gate ??= await core.applyConfig(ctx, pool, together);
    const { run, begins } = await startRun(ctx, start, together, works);
    results.push({ runId: run, started: true });
    if (begins) begun.push(run);
  }
  const atOnce = await core.enqueueWorks(ctx, works, pool, gate);
  await core.refuseIfTooManyWait(ctx, pool, works, atOnce);
  await logStarted(ctx, workflowOf(together.begin), begun);
  return results;
}

/** Says whether a start with the same key begins a new run, instead of returning this one. */
async function mayReuseKey(ctx: QueryCtx, run: Run, reuse: Starts["reuse"]) {
  if (reuse === undefined || !(await hasEnded(ctx, run))) return false;
  return reuse === "ended" || run.state !== "completed";
}

/** The run that goes on instead of one that is skipped. */
async function runInstead(
  ctx: QueryCtx,
  { one }: Starts["starts"][number],
  { begin, at }: Omit<Starts, "starts">,
): Promise<RunId | null> {
  if (one?.otherwise !== "skip" || isLater(at)) return null;
  return (await holderOf(ctx, { workflow: begin.workflow, key: one.key }))?.run ?? null;
}

const isLater = (at: number | undefined): at is number => at !== undefined && at > Date.now();

/** @param works its first work is added here. @returns of the run also whether it begins now. */
async function startRun(
  ctx: MutationCtx,
  { key, tags, permits, one, standing, ...kept }: Starts["starts"][number],
  { begin, at, onComplete }: Omit<Starts, "starts">,
  works: core.Work[],
): Promise<{ run: RunId; begins: boolean }> {
  const { first, undoable: _undoable, ...ofRun } = begin;
  const { plan, timeoutMs } = ofRun;
  const now = Date.now();
  const later = isLater(at) ? at : undefined;
  const fields = {
    ...ofRun,
    startKey: key,
    one,
    standing,
    state: later === undefined ? ("running" as const) : ("pending" as const),
    index: 0,
    startedAt: now,
    onComplete: onComplete?.fn,
    tagged: tags && true,
  };
  const { _id: run } = await insertRun(ctx, fields, kept);
  if (onComplete !== undefined)
    await ctx.db.insert("contexts", { run, context: onComplete.context });
  const known = knownInput(kept.input);
  const inserted = await ctx.db.get("runs", run);
  const { _creationTime: createdAt = now } = inserted ?? {};
  if (tags !== undefined) await insertTags(ctx, run, tags, Math.floor(createdAt));
  const of = { run, plan, createdAt, standing };
  if (inserted !== null && later === undefined && !(await takeTurn(ctx, inserted))) {
    await waitForTurn(ctx, inserted, of, first);
    return { run, begins: false };
  }
  if (timeoutMs !== undefined && later === undefined) await beginDeadline(ctx, run, timeoutMs);
  if (first.action === undefined || later !== undefined)
    await beginStage(ctx, of, first, known, { at: later });
  else {
    const action = permits === undefined ? first.action : { ...first.action, permits };
    works.push(await beginAction(ctx, of, action, first, known));
  }
  return { run, begins: later === undefined };
}
