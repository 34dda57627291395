import { createFunctionHandle } from "convex/server";
import type { Value } from "convex/values";
import type { Work } from "../core/index.js";
import { internal } from "./_generated/api.js";
import type { Doc } from "./_generated/dataModel.js";
import type { MutationCtx } from "./_generated/server.js";
import { dropValue, type Kept, keptValue } from "./largeValues.js";

/** A work as the pool's core takes it: the worker to schedule for it, and that worker's arguments. */
export async function workOf(
  work: Doc<"works">,
  args: Record<string, Value> | undefined,
): Promise<Work> {
  const brief = work.kind !== "action";
  if (work.settles === true) {
    const { _id, fn, timeoutMs } = work;
    const timeout = timeoutMs === undefined ? {} : { timeoutMs };
    const own = scheduledArgs(work, args ?? {});
    return { work: _id, fn, args: own, argsInRecord: true, brief, ...timeout };
  }
  if (brief) {
    const fn = await createFunctionHandle(internal.worker.runMutation);
    return { work: work._id, fn, args: attemptOf(work), brief };
  }
  const fn = await createFunctionHandle(internal.worker.runAction);
  return { work: work._id, fn, args: scheduledArgs(work, args ?? {}), argsInRecord: true };
}

/**
 * The arguments of the function that is scheduled for an action. The worker's carry those of the action: to read them would cost the action
 * a query. A function that settles itself gets its own, and the token.
 */
export function scheduledArgs(
  work: Doc<"works">,
  args: Record<string, Value>,
): Record<string, Value> {
  if (work.settles === true) return { ...args, token: attemptOf(work) };
  return { ...attemptOf(work), fn: work.fn, args };
}

/** Names the next attempt of a work. A completion counts only for the attempt that is expected. */
function attemptOf(work: Doc<"works">) {
  return { workId: work._id, attempt: work.attempts + 1 };
}

export async function argsOfWork(
  ctx: MutationCtx,
  work: Doc<"works">,
): Promise<Record<string, Value>> {
  // An object: it was the arguments of a function.
  return ((await keptValue(ctx, keptArgs(work))) ?? {}) as Record<string, Value>;
}

/**
 * Deletes a work with its large values. From here on its id is unknown, so nothing else can end it.
 * @returns the context for its callback.
 */
export async function removeWork(ctx: MutationCtx, work: Doc<"works">): Promise<Value | undefined> {
  const keptContext = { inline: work.onComplete?.context, large: work.onComplete?.largeContext };
  const context = await keptValue(ctx, keptContext);
  await dropValue(ctx, keptContext);
  await dropValue(ctx, keptArgs(work));
  await ctx.db.delete("works", work._id);
  return context;
}

function keptArgs(work: Doc<"works">): Kept {
  return { inline: work.args, large: work.largeArgs };
}
