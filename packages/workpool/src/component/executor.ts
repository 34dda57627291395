import type { FunctionHandle } from "convex/server";
import { getConvexSize, v, type Value } from "convex/values";
import { type Executes, Execution, leftToBegin, messageOf, untilBegun } from "../core/index.js";
import { internal } from "./_generated/api.js";
import type { Id } from "./_generated/dataModel.js";
import { type ActionCtx, internalAction, internalQuery } from "./_generated/server.js";
import { type AttemptReport, vAttempt } from "./schema.js";
import {
  type ActionAttempt,
  type EndedAttempt,
  outcomeWithArgs,
  report,
  seatsOf,
  vAction,
} from "./worker.js";

/** Runs attempts side by side, reports their ends together, and goes on with others. */
export const execute = internalAction({
  args: { range: v.number(), asks: v.boolean(), works: v.array(vAction) },
  returns: v.null(),
  handler: async (ctx, { works, ...executor }): Promise<null> => {
    await new Execution(executesOf(ctx), executor).run(works);
    return null;
  },
});

/** Which of these attempts are still to begin. */
export const toBegin = internalQuery({
  args: {
    job: v.optional(v.id("_scheduled_functions")),
    works: v.array(v.object(vAttempt)),
  },
  returns: v.array(v.id("slots")),
  handler: async (ctx, { works, job }): Promise<Id<"slots">[]> =>
    await leftToBegin(
      ctx,
      works.map(({ slot, workId }) => ({ slot, work: workId })),
      job,
    ),
});

interface ReportedAttempt extends Omit<EndedAttempt, "outcome"> {
  readonly outcome: AttemptReport;
}

function executesOf(ctx: ActionCtx): Executes<ActionAttempt, ReportedAttempt> {
  return {
    toBegin: async (works) => {
      const { scheduledFunctionId } = await ctx.meta.getRequestMetadata();
      // The pool has scheduled it.
      const job = (scheduledFunctionId ?? undefined) as Id<"_scheduled_functions"> | undefined;
      const attempts = works.map(({ workId, attempt, slot }) => ({ workId, attempt, slot }));
      return await ctx.runQuery(internal.executor.toBegin, { job, works: attempts });
    },
    attemptOf: (slot, args) => ({ ...args, slot }),
    perform: async ({ fn, args, largeArgs, workId, attempt, slot }) => {
      const ended = { workId, attempt, slot };
      const call = (given: Record<string, Value>) =>
        untilBegun(() => ctx.runAction(fn as FunctionHandle<"action">, given));
      try {
        return { ...ended, outcome: await outcomeWithArgs(ctx, { args, largeArgs }, call) };
      } catch (error) {
        // Its arguments could not be loaded.
        const outcome = { kind: "failed" as const, error: messageOf(error), retryable: true };
        return { ...ended, outcome };
      }
    },
    notBegun: ({ workId, attempt, slot }) => {
      return { workId, attempt, slot, outcome: { kind: "notBegun" } };
    },
    bytesOf: ({ outcome }) => getConvexSize(outcome),
    together: async (ended, told) =>
      await ctx.runMutation(internal.complete.completeTogether, { ended: [...ended], ...told }),
    alone: async ({ outcome, ...attempt }, since, seats) => {
      if (outcome.kind === "notBegun") return null;
      return await report(ctx, { ...attempt, outcome }, since, seats);
    },
    later: async ({ outcome, ...attempt }, held) => {
      if (outcome.kind === "notBegun") return;
      const ended = { ...attempt, outcome, ...seatsOf(held) };
      await ctx.scheduler.runAfter(0, internal.complete.complete, ended);
    },
  };
}
