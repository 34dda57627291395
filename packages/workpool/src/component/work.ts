import { createFunctionHandle, type FunctionHandle } from "convex/server";
import { getConvexSize, type Value } from "convex/values";
import {
  leaveRoom,
  messageOf,
  placeOf,
  ROOM_TO_RECORD,
  type RunResult,
  type Work,
} from "../core/index.js";
import { internal } from "./_generated/api.js";
import type { Doc, Id } from "./_generated/dataModel.js";
import type { MutationCtx, QueryCtx } from "./_generated/server.js";

/** The record of a work, by any string; null if there is none. */
export async function findWork(ctx: QueryCtx, id: string): Promise<Doc<"works"> | null> {
  const workId = ctx.db.normalizeId("works", id);
  return workId === null ? null : await ctx.db.get("works", workId);
}

/** @param given its arguments, if they are known. Default: they are read, if that is needed. */
export async function workOf(
  ctx: MutationCtx,
  work: Doc<"works">,
  given?: Record<string, Value>,
): Promise<Work> {
  const { _id, timeoutMs, permits, waitAtMostMs, priorityMs, fairness: fair } = work;
  const isAgain = work.attempts > 0;
  const at = placeOf({ cameAt: cameAt(work), priorityMs, isAgain });
  const limited = { permits, fair, waitAtMostMs, isAgain, at };
  const isMutation = work.kind !== "action";
  if (isMutation && work.settles !== true) {
    const fn = await createFunctionHandle(internal.worker.runMutation);
    return { work: _id, fn, args: attemptOf(work), isMutation, ...limited };
  }
  const args = await scheduledArgs(ctx, work, given);
  const action = { work: _id, args, argsInRecord: true, ...limited };
  if (work.settles === true) return { ...action, fn: work.fn, isMutation, timeoutMs };
  if (mayBeExecuted(work)) return action;
  return { ...action, fn: await createFunctionHandle(internal.worker.runAction) };
}

/** Returns when a work first could start, in ms since the epoch. */
export function cameAt({ cameAt: known, due, readyAt, _creationTime }: Doc<"works">): number {
  return known ?? due?.at ?? readyAt ?? _creationTime;
}

/** The arguments of an action's function; one that settles itself gets its own and the token. */
export async function scheduledArgs(
  ctx: MutationCtx,
  work: Doc<"works">,
  given?: Record<string, Value>,
): Promise<Record<string, unknown>> {
  const { settles, fn, largeArgs } = work;
  // A deployment stores what is scheduled: large arguments would be stored twice.
  if (settles !== true && largeArgs !== undefined) return { ...attemptOf(work), fn, largeArgs };
  const args = given ?? (await argsOfWork(ctx, work));
  return settles === true ? { ...args, token: attemptOf(work) } : { ...attemptOf(work), fn, args };
}

/** Names the next attempt of a work: the only one whose completion counts. */
function attemptOf(work: Doc<"works">) {
  return { workId: work._id, attempt: work.attempts + 1 };
}

export async function argsOfWork(ctx: MutationCtx, work: Doc<"works">) {
  // An object: it was the arguments of a function.
  return ((await storedValue(ctx, storedArgs(work))) ?? {}) as Record<string, Value>;
}

/** Deletes a work with its large values, so that nothing else can end it. @returns its context. */
export async function removeWork(ctx: MutationCtx, work: Doc<"works">): Promise<Value | undefined> {
  const storedContext = { inline: work.onComplete?.context, large: work.onComplete?.largeContext };
  const context = await storedValue(ctx, storedContext);
  for (const { large } of [storedContext, storedArgs(work)])
    if (large !== undefined) await ctx.db.delete("largeValues", large);
  await ctx.db.delete("works", work._id);
  return context;
}

/** An executor holds those of many works, beside their results: they share its memory. */
const MOST_EXECUTED_BYTES = 256 * 1024;

/** Says whether the arguments of an action are not too large for an executor. */
function mayBeExecuted({ largeArgs, largeArgsBytes = Infinity }: Doc<"works">): boolean {
  return largeArgs === undefined || largeArgsBytes <= MOST_EXECUTED_BYTES;
}

function storedArgs(work: Doc<"works">): Stored {
  return { inline: work.args, large: work.largeArgs };
}

/** From this size on, a value is stored in a document of its own. */
const INLINE_BYTES = 8_000;
/** A document holds 1 MiB; the rest is for its other fields. */
export const LARGEST_VALUE_BYTES = 1_000_000;

interface Stored {
  readonly inline?: Value;
  readonly large?: Id<"largeValues">;
}

/** A value that was just stored. */
interface NewlyStored extends Stored {
  readonly bytes: number;
}

/** Stores an argument object or a context. @throws if it is over 1 MB. @param what names it. */
export async function storeValue(
  ctx: MutationCtx,
  value: Value,
  what: string,
): Promise<NewlyStored> {
  const bytes = getConvexSize(value);
  if (bytes < INLINE_BYTES) return { inline: value, bytes };
  if (bytes > LARGEST_VALUE_BYTES)
    throw new Error(
      `The ${what} is ${bytes} bytes large, and a work may have ${LARGEST_VALUE_BYTES}: ` +
        "store the data (in a table, or in file storage) and pass its id",
    );
  return { large: await ctx.db.insert("largeValues", { value }), bytes };
}

async function storedValue(ctx: MutationCtx, stored: Stored): Promise<Value | undefined> {
  if (stored.large === undefined) return stored.inline;
  const document = await ctx.db.get("largeValues", stored.large);
  if (document === null) throw new Error(goneValue(stored.large));
  return document.value;
}

export function goneValue(id: Id<"largeValues"> | undefined): string {
  return `The large value "${id}" of a work is gone`;
}

/** Calls a work's callback, nested and once. Call it last, when nothing of the work is left. */
export async function callBack(
  ctx: MutationCtx,
  { _id: workId, fn, name, onComplete }: Doc<"works">,
  context: Value | undefined,
  result: RunResult,
  isShared = false,
): Promise<void> {
  if (onComplete === undefined) {
    // Nobody is told of this failure, so the log is its only trace.
    if (result.kind === "failed") console.error(`"${name ?? fn}" failed: ${result.error}`);
    return;
  }
  if (onComplete.excludeKinds?.includes(result.kind)) return;
  try {
    await ctx.runMutation(
      onComplete.fn as FunctionHandle<"mutation">,
      { workId, context, result },
      {
        // guard: callback-room
        transactionLimits: await leaveRoom(ctx, ROOM_TO_RECORD),
      },
    );
  } catch (error) {
    // Alone it has more room.
    if (isShared) throw error;
    const message = messageOf(error);
    console.error(
      `The onComplete of "${name ?? fn}" threw; its writes are rolled back. ${message}`,
    );
    const failed = { workId, name, fn: onComplete.fn, resultKind: result.kind, error: message };
    await ctx.db.insert("failedCallbacks", failed);
  }
}
