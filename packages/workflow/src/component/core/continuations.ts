import { ROOM_TO_COMPLETE, cancelPending, hasRoom, keepLooking } from "@stepwise/workpool/core";
import { createFunctionHandle, type FunctionHandle, type FunctionReference } from "convex/server";
import type { Value } from "convex/values";
import type { Doc, Id, TableNames } from "../_generated/dataModel.js";
import type { MutationCtx, QueryCtx } from "../_generated/server.js";
import { pool } from "./pool.js";

/* What is too much for one transaction is done in pages, one after the other. */

/**
 * A page ends where less than this is left of its transaction, half of what there is: whoever called has the other half for what it does
 * itself.
 */
const HALF_OF_A_TRANSACTION = {
  bytesRead: 8 << 20,
  bytesWritten: 8 << 20,
  databaseQueries: 2_048,
  documentsRead: 16_000,
  documentsWritten: 8_000,
  functionsScheduled: 500,
  scheduledFunctionArgsBytes: 8 << 20,
};

/** Whether something else may be done in this transaction, or is to be left to the next. */
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

type GoesOn = FunctionReference<
  "mutation",
  "internal",
  { continuation: Id<"continuations"> },
  null
>;

/**
 * Has something go on in a transaction of its own that is too much for this one. It is watched: where its scheduled function is lost or
 * fails, it is scheduled again.
 * @param fn calls {@link goOnWith}.
 * @param page what to go on with.
 * @param afterMs in how many ms. Default: at once.
 */
export async function goOn(
  ctx: MutationCtx,
  fn: GoesOn,
  page: Value,
  afterMs = 0,
): Promise<Id<"continuations">> {
  const handle = await createFunctionHandle(fn);
  const id = await ctx.db.insert("continuations", { fn: handle, page, at: ctx.db.vars.commitTs });
  await scheduleContinuation(ctx, id, { fn: handle, page }, afterMs);
  await keepLooking(ctx, pool);
  return id;
}

/** Has nothing go on. To be called outside the function that does it; one that runs right now finds that there is nothing to do. */
export async function callOff(ctx: MutationCtx, id: Id<"continuations">): Promise<void> {
  const continuation = await ctx.db.get("continuations", id);
  if (continuation === null) return;
  if (continuation.job !== undefined) await cancelPending(ctx, continuation.job);
  await ctx.db.delete("continuations", id);
}

/**
 * Does the next page of something, and has the one after it scheduled.
 * @param doPage does it; `at` is when it was begun, in the order of commits. @returns what is left to do, or null at the end.
 */
export async function goOnWith<Page extends Value>(
  ctx: MutationCtx,
  id: Id<"continuations">,
  doPage: (page: Page, at: bigint | undefined) => Promise<Page | null>,
): Promise<null> {
  const continuation = await ctx.db.get("continuations", id);
  if (continuation === null) return null;
  // What was kept is what the same function gave; and another transaction has committed it.
  const next = await doPage(continuation.page as Page, continuation.at as bigint | undefined);
  if (next === null) await ctx.db.delete("continuations", id);
  else await scheduleContinuation(ctx, id, { fn: continuation.fn, page: next });
  return null;
}

export async function scheduleContinuation(
  ctx: MutationCtx,
  id: Id<"continuations">,
  { fn, page }: Pick<Doc<"continuations">, "fn" | "page">,
  afterMs = 0,
): Promise<void> {
  const job = await ctx.scheduler.runAfter(afterMs, fn as FunctionHandle<"mutation">, {
    continuation: id,
  });
  await ctx.db.patch("continuations", id, { job, page });
}

/**
 * What is left of a transaction when it cancels no more of them: whoever has called goes on in it, and before that each run above writes down
 * how it ends.
 */
export const ROOM_ABOVE = { ...ROOM_TO_COMPLETE, databaseQueries: 1_024 };
