import { hasRoom } from "@stepwise/workpool/core";
import type { Doc, TableNames } from "./_generated/dataModel.js";
import type { MutationCtx, QueryCtx } from "./_generated/server.js";

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
