import { cancelPending, hasRoom, keepLooking, ROOM_TO_COMPLETE } from "@stepwise/workpool/core";
import {
  createFunctionHandle,
  type FunctionHandle,
  type FunctionReference,
  type RegisteredMutation,
} from "convex/server";
import { v, type ObjectType, type PropertyValidators, type Value, type VNull } from "convex/values";
import type { Doc, Id, TableNames } from "../_generated/dataModel.js";
import { internalMutation, type MutationCtx, type QueryCtx } from "../_generated/server.js";
import { pool } from "./pool.js";

/* What is too much for one transaction is done in pages, one after the other. */

/** A page ends when less than this, half of a transaction, is left: the other half is its caller's. */
const HALF_OF_A_TRANSACTION = {
  bytesRead: 8 << 20,
  bytesWritten: 8 << 20,
  databaseQueries: 2_048,
  documentsRead: 16_000,
  documentsWritten: 8_000,
  functionsScheduled: 500,
  scheduledFunctionArgsBytes: 8 << 20,
};

/** What a transaction that cancels or undoes runs leaves: each run above writes how it ends, and its caller goes on. */
export const ROOM_ABOVE = { ...ROOM_TO_COMPLETE, databaseQueries: 1_024 };

/** Whether a page has room for more. */
export async function hasRoomInPage(ctx: QueryCtx): Promise<boolean> {
  return await hasRoom(ctx, HALF_OF_A_TRANSACTION);
}

/** Deletes documents, as many as there is room for. @returns whether these were all. */
export async function deleteInPage<Table extends TableNames>(
  ctx: MutationCtx,
  table: Table,
  rows: AsyncIterable<Doc<Table>>,
): Promise<boolean> {
  for await (const { _id } of rows) {
    if (!(await hasRoomInPage(ctx))) return false;
    await ctx.db.delete<TableNames>(table, _id);
  }
  return true;
}

/** An internal mutation that returns nothing. */
export function voidMutation<Args extends PropertyValidators>(
  args: Args,
  handle: (ctx: MutationCtx, args: ObjectType<Args>) => Promise<void>,
): RegisteredMutation<"internal", ObjectType<Args>, Promise<null>> {
  const handler = async (ctx: MutationCtx, given: ObjectType<Args>) => {
    await handle(ctx, given);
    return null;
  };
  return internalMutation<Args, VNull, Promise<null>, [ObjectType<Args>]>({
    args,
    returns: v.null(),
    handler,
  });
}

type Args = { continuation: Id<"continuations"> };
type Continuation = FunctionReference<"mutation", "internal", Args, null>;

/**
 * Goes on in a transaction of its own. It is watched: if its scheduled function is lost or fails, it is scheduled again.
 * @param fn made with {@link continuation}. @param page what it is given. @param afterMs default: at once.
 */
export async function continueLater(ctx: MutationCtx, fn: Continuation, page: Value, afterMs = 0) {
  const handle = await createFunctionHandle(fn);
  const id = await ctx.db.insert("continuations", { fn: handle, page, at: ctx.db.vars.commitTs });
  await scheduleContinuation(ctx, id, { fn: handle, page }, afterMs);
  await keepLooking(ctx, pool);
  return id;
}

/**
 * A function that does one page of something after the other, each in a transaction of its own.
 * @param doPage `at` is when it was begun, in the order of commits. @returns what is left to do, or null at the end.
 */
export function continuation<Page extends Value>(
  doPage: (ctx: MutationCtx, page: Page, at: bigint | undefined) => Promise<Page | null>,
): RegisteredMutation<"internal", Args, Promise<null>> {
  return internalMutation({
    args: { continuation: v.id("continuations") },
    returns: v.null(),
    handler: async (ctx, { continuation: id }): Promise<null> => {
      const row = await ctx.db.get("continuations", id);
      if (row === null) return null;
      // The page is what the same function returned, and another transaction has committed it.
      const next = await doPage(ctx, row.page as Page, row.at as bigint | undefined);
      if (next === null) await ctx.db.delete("continuations", id);
      else await scheduleContinuation(ctx, id, { fn: row.fn, page: next });
      return null;
    },
  });
}

/** Cancels a continuation, from outside its function: one that runs right now finds nothing to do. */
export async function cancelContinuation(ctx: MutationCtx, id: Id<"continuations">): Promise<void> {
  const row = await ctx.db.get("continuations", id);
  if (row === null) return;
  if (row.job !== undefined) await cancelPending(ctx, row.job);
  await ctx.db.delete("continuations", id);
}

export async function scheduleContinuation(
  ctx: MutationCtx,
  id: Id<"continuations">,
  { fn, page }: Pick<Doc<"continuations">, "fn" | "page">,
  afterMs = 0,
): Promise<void> {
  const next = fn as FunctionHandle<"mutation">;
  const job = await ctx.scheduler.runAfter(afterMs, next, { continuation: id });
  await ctx.db.patch("continuations", id, { job, page });
}
