import type { TransactionLimits } from "convex/server";
import type { HostCtx, HostQueryCtx } from "./context.js";

export const MIB = 1 << 20;

type Files = "filesWritten" | "fileWriteBytes" | "filesRead" | "fileReadBytes";
type Room = Omit<TransactionLimits, Files>;

/**
 * A completion tries so many works that are gone, then the queue's first ones, and takes so many
 * that may not start off the queue. With 16 it reads a few hundred documents at worst.
 */
export const MOST_TRIED = 16;
/** So many reads each of these takes: its row, its arguments and its permits. */
const READS_OF_REFUSED = 12;

/** What the pool needs, at most, to end one work and start another with arguments of up to 1 MB. */
export const ROOM_TO_COMPLETE = {
  bytesRead: 4 * MIB,
  bytesWritten: MIB,
  databaseQueries: 32 + MOST_TRIED + MOST_TRIED * READS_OF_REFUSED,
  documentsRead: 1_000,
  documentsWritten: 64,
  functionsScheduled: 4,
  scheduledFunctionArgsBytes: 2 * MIB,
} satisfies Room;

/** What must be left to recover a lost work, nested, and to set it aside if that fails. */
export const ROOM_TO_RECOVER: Room = {
  bytesRead: 2 * ROOM_TO_COMPLETE.bytesRead,
  bytesWritten: 4 * ROOM_TO_COMPLETE.bytesWritten,
  databaseQueries: 4 * ROOM_TO_COMPLETE.databaseQueries,
  documentsRead: 2 * ROOM_TO_COMPLETE.documentsRead,
  documentsWritten: 4 * ROOM_TO_COMPLETE.documentsWritten,
  functionsScheduled: 4 * ROOM_TO_COMPLETE.functionsScheduled,
  scheduledFunctionArgsBytes: 2 * ROOM_TO_COMPLETE.scheduledFunctionArgsBytes,
};

/** What must be left to inspect one more held slot, and then to recover at least one. */
export const ROOM_TO_INSPECT: Room = { ...ROOM_TO_RECOVER, bytesRead: 12 * MIB };

/** To record that a callback failed. The read with which it did too much counts, of up to 1 MiB. */
export const ROOM_TO_RECORD = {
  bytesRead: MIB + 64 * 1024,
  bytesWritten: 64 * 1024,
  databaseQueries: 4,
  documentsRead: 4,
  documentsWritten: 4,
} satisfies Room;

/**
 * A page does so many rows: starts, cancels or removals. Each takes a few documents, so it is well
 * below half of a transaction, unless they are large.
 */
export const PAGE = 100;

/** A page ends when less than half of a transaction is left: the other half is its caller's. */
export const HALF_OF_A_TRANSACTION: Room = {
  bytesRead: 8 * MIB,
  bytesWritten: 8 * MIB,
  databaseQueries: 2_048,
  documentsRead: 16_000,
  documentsWritten: 8_000,
  functionsScheduled: 500,
  scheduledFunctionArgsBytes: 8 * MIB,
};

/** Limits for a nested call that leave so much of the transaction to its caller. */
export async function leaveRoom(ctx: HostCtx, room: Room): Promise<TransactionLimits> {
  const metrics = await ctx.meta.getTransactionMetrics();
  const limits = Object.entries(room).map(([key, left]) => {
    return [key, Math.max(0, metrics[key as keyof Room].remaining - left)];
  });
  return Object.fromEntries(limits) as Room;
}

export async function hasRoom(ctx: HostQueryCtx, room: Room): Promise<boolean> {
  const metrics = await ctx.meta.getTransactionMetrics();
  return Object.entries(room).every(
    ([key, needed]) => metrics[key as keyof Room].remaining >= needed,
  );
}
