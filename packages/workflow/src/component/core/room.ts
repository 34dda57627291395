import type { QueryCtx } from "./documents.js";

/** How many bytes a page has at most: a quarter of what a transaction may read. */
export const PAGE_BYTES = 4 << 20;
/** A page of a list ends early if it has read so much. */
export const LIMITS = { maximumRowsRead: 1_000, maximumBytesRead: PAGE_BYTES };

/** How many views count: each is read whole, and again at each change while somebody watches. */
export const MOST_COUNTED = 100;

/**
 * How many entries that are kept to be shown a run holds at most: each reader of a run reads them.
 */
export const MOST_KEPT = 20;

/** The errors of a step's attempts take an eighth of its document: each attempt reads them. */
export const ERRORS_BYTES = 128 * 1024;

const ROOM_BYTES = 2 * 1024 * 1024;

/** Says whether another record can be read, with an output of 1 MiB. */
export async function hasRoomToRead(ctx: QueryCtx): Promise<boolean> {
  const { bytesRead } = await ctx.meta.getTransactionMetrics();
  return bytesRead.remaining > ROOM_BYTES;
}
