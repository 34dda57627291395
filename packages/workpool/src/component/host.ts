import { v } from "convex/values";
import {
  drainLine as drainPoolLine,
  lineHead as poolLineHead,
  type PoolHost,
} from "../core/index.js";
import { internal } from "./_generated/api.js";
import type { Doc } from "./_generated/dataModel.js";
import { internalMutation, internalQuery, type MutationCtx } from "./_generated/server.js";
import { callBack } from "./callback.js";
import { actionArgs, argsOfWork, removeWork } from "./work.js";

/** What the pool's core needs of this component. */
export const host: PoolHost = {
  lineHead: internal.host.lineHead,
  drainLine: internal.host.drainLine,
  argsOf: async (ctx: MutationCtx, id) => {
    const work = await findWork(ctx, id);
    if (work === null) throw new Error(`The work "${id}" stood in line, but its record is gone`);
    return actionArgs(work, await argsOfWork(ctx, work));
  },
  functionGone: async (ctx: MutationCtx, id, message) => {
    const work = await findWork(ctx, id);
    if (work === null) return;
    const context = await removeWork(ctx, work);
    await callBack(ctx, work, context, { kind: "failed", error: message });
  },
};

/** The oldest waiting works, for reading from a stale snapshot. */
export const lineHead = internalQuery({
  args: { count: v.number() },
  returns: v.array(v.id("waiting")),
  handler: poolLineHead,
});

/** Goes on starting what waits, where a change of `maxParallelism` lets more start than one transaction can. */
export const drainLine = internalMutation({
  args: {},
  returns: v.null(),
  handler: async (ctx): Promise<null> => {
    await drainPoolLine(ctx, host);
    return null;
  },
});

async function findWork(ctx: MutationCtx, id: string): Promise<Doc<"works"> | null> {
  const workId = ctx.db.normalizeId("works", id);
  return workId === null ? null : await ctx.db.get("works", workId);
}
