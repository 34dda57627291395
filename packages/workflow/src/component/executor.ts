import * as core from "@stepwise/workpool/core";
import type { FunctionHandle } from "convex/server";
import { getConvexSize, type Infer, v, type Value } from "convex/values";
import { attemptOf, reportOf } from "../attempts.js";
import { callFor, isMissing } from "../errors/calling.js";
import type { Duration } from "../rules.js";
import { api, internal } from "./_generated/api.js";
import type { Id } from "./_generated/dataModel.js";
import {
  type ActionCtx,
  internalAction,
  internalMutation,
  internalQuery,
  type MutationCtx,
} from "./_generated/server.js";
import { voidMutation } from "./core/continuations.js";
import { pool } from "./core/poolHost.js";
import { isActive, stepWithId } from "./core/steps.js";
import { type Call, type Via, type vFollows, vReported, vVia } from "./protocol.js";
import { type Token, vToken } from "./validators.js";

/*
 * Actions that have waited run in executors: see the pool. Their functions return what they would
 * have reported, and the reports of one moment enter their runs in one transaction.
 */

const vAttempt = v.object({
  slot: v.id("slots"),
  fn: v.string(),
  /** What its function gets. */
  args: v.object({ token: vToken, scope: v.any(), previousError: v.any() }),
});
/** `call`: what its function would only call. `via`: where its report enters its run, if known. */
type Attempt = Infer<typeof vAttempt> & {
  readonly call?: Call | undefined;
  readonly via?: Via | undefined;
};

const endedFields = {
  slot: v.id("slots"),
  fn: v.string(),
  token: vToken,
  via: v.optional(vVia),
  /** Absent if its function has not come to its end. */
  report: v.optional(vReported),
  /** Why. */
  error: v.optional(v.string()),
};
const vEnded = v.object(endedFields);
type Ended = Infer<typeof vEnded>;

export const execute = internalAction({
  args: { range: v.number(), asks: v.boolean(), works: v.array(vAttempt) },
  returns: v.null(),
  handler: async (ctx, { works, ...executor }): Promise<null> => {
    await new core.Execution(executesOf(ctx), executor).run(works);
    return null;
  },
});

function executesOf(ctx: ActionCtx): core.Executes<Attempt, Ended> {
  const { recordAlone, recordTogether, toBegin } = internal.executor;
  return {
    toBegin: async (works) => {
      const { scheduledFunctionId } = await ctx.meta.getRequestMetadata();
      // The pool has scheduled it.
      const job = (scheduledFunctionId ?? undefined) as Id<"_scheduled_functions"> | undefined;
      const attempts = works.map(({ slot, args }) => ({ slot, work: args.token.step }));
      return await ctx.runQuery(toBegin, { job, works: attempts });
    },
    attemptOf: (slot, args) => ({ ...args, slot }),
    perform: async ({ slot, fn, args, call, via }) => {
      const ended = { slot, fn, token: args.token, via };
      const report = call && (await refer(ctx, args.token, call));
      if (report !== undefined) return { ...ended, report };
      try {
        const call = () => ctx.runAction(fn as FunctionHandle<"action">, args);
        const report: Ended["report"] | null = await core.untilBegun(call);
        return report === null ? ended : { ...ended, report };
      } catch (error) {
        return { ...ended, error: core.messageOf(error) };
      }
    },
    bytesOf: (ended) => getConvexSize(ended as Value),
    together: async (ended, told) =>
      await ctx.runMutation(recordTogether, { ended: [...ended], ...told }),
    alone: async (ended, since) => await report(ctx, ended, since),
    later: async (ended) =>
      void (await ctx.scheduler.runAfter(0, recordAlone, { ...ended, fuse: false })),
  };
}

/**
 * Calls what an action is a reference to, as its own function would.
 * @returns undefined if a deploy has taken that away: its own function knows what is there now.
 */
async function refer(
  ctx: ActionCtx,
  { attempt }: Token,
  { fn, args, workflow, node, called, timeout, makesNothing }: Call,
): Promise<Ended["report"]> {
  let beganAt = Date.now();
  let isGone = false;
  const run = async (): Promise<unknown> => {
    try {
      return await ctx.runAction(fn as FunctionHandle<"action">, args);
    } catch (error) {
      isGone = isMissing(error);
      throw error;
    }
  };
  const once = async () => {
    beganAt = Date.now();
    return await attemptOf(called, timeout as Duration | undefined, async () => {
      const result: unknown = await callFor(called, args, run);
      return makesNothing === true ? null : result;
    });
  };
  // Its time begins anew with each call: one that found no permit has not begun.
  const report = await reportOf(core.untilBegun(once), { workflow, node, attempt }, beganAt);
  return isGone ? undefined : { ...report, beganAt };
}

/** Reports an end as its function would have done; if it cannot be stored, as a loss. */
async function report(ctx: ActionCtx, ended: Ended, since: number): Promise<void> {
  const { recordAlone } = internal.executor;
  const told = (of: Ended, fuse: boolean) => () => ctx.runMutation(recordAlone, { ...of, fuse });
  const later = (of: Ended) => () => ctx.scheduler.runAfter(0, recordAlone, { ...of, fuse: false });
  const { token, slot, report: made } = ended;
  try {
    if (made === undefined) throw new Error(ended.error);
    const keep = () => ctx.runMutation(api.lib.keep, { token, slot, report: made });
    await core.reportBy([told(ended, true), told(ended, false), keep], since, later(ended));
  } catch (error) {
    const lost = { ...ended, report: undefined, error: core.messageOf(error) };
    await core.reportBy([told(lost, false)], since, later(lost));
  }
}

/** Which of these attempts are still to begin. */
export const toBegin = internalQuery({
  args: {
    job: v.optional(v.id("_scheduled_functions")),
    works: v.array(v.object({ slot: v.id("slots"), work: v.string() })),
  },
  returns: v.array(v.id("slots")),
  handler: async (ctx, { works, job }) => await core.leftToBegin(ctx, works, job),
});

/** How long a report goes on, in ms, of the second that a transaction has. */
const MOST_MS = 300;

/** Takes in how attempts ended. An end that fails is rolled back alone, and is refused. */
export const recordTogether = internalMutation({
  args: { ...core.reportArgs, ended: v.array(vEnded) },
  returns: v.object({
    ...core.vReported.fields,
    done: v.number(),
    refused: v.array(v.number()),
  }),
  handler: async (ctx, { ended, ...report }) => {
    const since = performance.now();
    const refused: number[] = [];
    let done = 0;
    const told = await core.reportTogether(ctx, pool, report, async (kept) => {
      for (const each of ended) {
        const isFull = done > 0 && performance.now() - since > MOST_MS;
        if (isFull || (done > 0 && !(await core.hasRoom(ctx, core.HALF_OF_A_TRANSACTION)))) break;
        if (!(await record(ctx, each, { fuse: true, kept, isShared: true }))) refused.push(done);
        done += 1;
      }
      return report.running + ended.length - done + refused.length;
    });
    return { ...told, done, refused };
  },
});

export const recordAlone = voidMutation(
  { ...endedFields, fuse: v.boolean() },
  async (ctx, { fuse, ...ended }) => void (await record(ctx, ended, { fuse })),
);

interface Recording {
  readonly fuse: boolean;
  /** The slots that a report keeps. */
  readonly kept?: core.Kept[] | undefined;
  /** Says whether others are in the transaction: if it fails, it may lack room. Default: false. */
  readonly isShared?: boolean;
}

/** Enters a run with the report of an action. @returns false if it was refused. */
async function record(
  ctx: MutationCtx,
  { token, slot, fn, report, error, via: known }: Ended,
  { fuse, kept, isShared = false }: Recording,
): Promise<boolean> {
  const work = token.step;
  if (report === undefined) {
    const step = await stepWithId(ctx, work);
    const held = step?.attempt === token.attempt ? await core.slotOf(ctx, work) : null;
    if (held?._id === slot && held.job !== undefined)
      await core.recovered(ctx, pool, { slot, job: held.job, call: { fn, error } });
    core.forgetRead(ctx);
    return true;
  }
  const via = known ?? (await viaOf(ctx, token));
  let next: Infer<typeof vFollows> | "stale" | null = "stale";
  if (via !== null) {
    const { entry, stage } = via;
    const given = kept === undefined ? slot : undefined;
    const told = { token, stage, event: report, scope: null, fuse, nested: true, slot: given };
    const transactionLimits = await core.leaveRoom(ctx, core.ROOM_TO_COMPLETE);
    try {
      next = await ctx.runMutation(entry as FunctionHandle<"mutation">, told, {
        transactionLimits,
      });
    } catch (failure) {
      if (!isShared) throw failure;
      return false;
    }
    core.forgetRead(ctx);
    if (kept === undefined) return true;
  }
  if (next === "stale") {
    const step = await stepWithId(ctx, work);
    // An earlier attempt gave its slot back when the next was due, which may hold it by now.
    if (step !== null && step.attempt !== token.attempt) return true;
    next = null;
  }
  const row = next === null ? null : ctx.db.normalizeId("waiting", next.row);
  const follows =
    row === null || next === null || via === null
      ? undefined
      : { row, with: { call: next.call, via: { entry: via.entry, stage: next.stage } } };
  await core.completeWork(ctx, pool, { work, slot, kept, executes: true, next: follows });
  return true;
}

/**
 * Returns where the report of a step enters its run; null if it is not active, and has not used what
 * is to be booked.
 */
async function viaOf(ctx: MutationCtx, token: Token): Promise<Via | null> {
  const step = await stepWithId(ctx, token.step);
  const run = step === null ? null : await ctx.db.get("runs", step.run);
  if (step === null || run === null) return null;
  const isCounted = step.permits?.some((each) => core.costOf(each) !== undefined);
  if (!isActive(step, token) && isCounted !== true) return null;
  return { entry: run.entry, stage: step.stage };
}
