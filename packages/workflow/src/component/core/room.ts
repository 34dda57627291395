import type { QueryCtx } from "./documents.js";

/** A page of a list ends early if it has read so much. */
export const LIMITS = { maximumRowsRead: 1_000, maximumBytesRead: 4 << 20 };

const ROOM_BYTES = 2 * 1024 * 1024;

/** Says whether another record can be read, with an output of 1 MiB. */
export async function hasRoomToRead(ctx: QueryCtx): Promise<boolean> {
  const { bytesRead } = await ctx.meta.getTransactionMetrics();
  return bytesRead.remaining > ROOM_BYTES;
}
