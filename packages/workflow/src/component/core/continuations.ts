import * as core from "@stepwise/workpool/core";
import type { Value } from "convex/values";
import type { Doc, TableNames } from "../_generated/dataModel.js";
import type { MutationCtx, QueryCtx } from "../_generated/server.js";
import { pool } from "./poolHost.js";

export const { continuation, publicMutation, voidMutation } = core.mutationsOf<MutationCtx>();

/** What a transaction that cancels or undoes runs leaves to the runs above, and to its caller. */
export const ROOM_ABOVE = { ...core.ROOM_TO_COMPLETE, databaseQueries: 1_024 };

type Continuation = Parameters<typeof core.continueLater>[2];

/** Goes on in a later transaction. @param fn made with {@link continuation}, called with `page`. */
export async function continueLater(ctx: MutationCtx, fn: Continuation, page: Value, afterMs = 0) {
  return await core.continueLater(ctx, pool, fn, page, afterMs);
}

/** Does something in pages. @param page returns whether it was the last. */
export const untilDone = <Of extends Value>(page: (ctx: MutationCtx, of: Of) => Promise<boolean>) =>
  continuation<Of>(async (ctx, of) => ((await page(ctx, of)) ? null : of));

export async function hasRoomInPage(ctx: QueryCtx): Promise<boolean> {
  return await core.hasRoom(ctx, core.HALF_OF_A_TRANSACTION);
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
