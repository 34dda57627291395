import type { FunctionHandle } from "convex/server";
import { getConvexSize, v } from "convex/values";
import { type Executes, Execution, leftToBegin, untilBegun } from "../core/index.js";
import { internal } from "./_generated/api.js";
import type { Id } from "./_generated/dataModel.js";
import { type ActionCtx, internalAction, internalQuery } from "./_generated/server.js";
import { vAttempt } from "./schema.js";
import { type ActionAttempt, type EndedAttempt, outcomeOf, report, vAction } from "./worker.js";

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
  args: { works: v.array(v.object(vAttempt)) },
  returns: v.array(v.id("slots")),
  handler: async (ctx, { works }): Promise<Id<"slots">[]> =>
    await leftToBegin(
      ctx,
      works.map(({ slot, workId }) => ({ slot, work: workId })),
    ),
});

function executesOf(ctx: ActionCtx): Executes<ActionAttempt, EndedAttempt> {
  return {
    toBegin: async (works) => {
      const attempts = works.map(({ workId, attempt, slot }) => ({ workId, attempt, slot }));
      return await ctx.runQuery(internal.executor.toBegin, { works: attempts });
    },
    attemptOf: (slot, args) => ({ ...args, slot }),
    perform: async ({ fn, args, workId, attempt, slot }) => {
      const run = () => ctx.runAction(fn as FunctionHandle<"action">, args);
      const call = () => untilBegun(run);
      return { workId, attempt, slot, outcome: await outcomeOf(call) };
    },
    bytesOf: ({ outcome }) => getConvexSize(outcome),
    together: async (ended, told) =>
      await ctx.runMutation(internal.complete.completeTogether, { ended: [...ended], ...told }),
    alone: async (ended, since) => await report(ctx, ended, since),
    later: async (ended) =>
      void (await ctx.scheduler.runAfter(0, internal.complete.complete, ended)),
  };
}
