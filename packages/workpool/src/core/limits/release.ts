import type { Host, HostCtx } from "../context.js";
import { ensureGate } from "../gate.js";
import { HALF_OF_A_TRANSACTION, hasRoom } from "../room.js";
import { poolTx } from "../transaction.js";
import { findBucket, type KeptBack, waitForBucket } from "./buckets.js";
import { permitOfRate } from "./limits.js";
import { blockLine, firstOf, lineBlockedBy, linesBlockedBy } from "./lines.js";
import { ROUND_MS } from "./rate.js";
import { firstFree, goOn } from "./wake.js";

/**
 * Has works that wait for a bucket go on, as far as it has come back, and looks again when it will
 * have more: at most four times a second, and no longer once nobody waits.
 */
export async function releaseRate(
  ctx: HostCtx,
  host: Host,
  { name }: { name: string },
): Promise<void> {
  const bucket = await findBucket(ctx, name);
  if (bucket === null) return;
  await ctx.db.patch("buckets", bucket._id, { job: undefined, dueAt: undefined });
  poolTx(ctx).releasing.add(name);
  const next = await releaseSome(ctx, host, permitOfRate(name));
  // What ends a pause of the pool has all lines looked at.
  if (next === null || (await ensureGate(ctx)).maxParallelism === 0) return;
  await waitForBucket(ctx, host, { ...next, at: Math.max(next.at, Date.now() + ROUND_MS) });
}

/** @returns when to look again; null if nobody waits. */
async function releaseSome(ctx: HostCtx, host: Host, full: string): Promise<KeptBack | null> {
  for (let released = 0; await hasRoom(ctx, HALF_OF_A_TRANSACTION);) {
    const line = await lineBlockedBy(ctx, full);
    if (line === null) return null;
    // A line that was busy stays for a round: who enqueues then reads it alone.
    const isLast = released > 0 && (await linesBlockedBy(ctx, full, 2)).length === 1;
    if (isLast && (await firstOf(ctx, line)) === null) return { full, at: 0 };
    const gate = await ensureGate(ctx);
    const next = await firstFree(ctx, host, gate, line);
    if (next === "none") continue;
    if (next.full === full) return { full, at: next.at ?? 0 };
    if (next.full !== undefined) {
      await blockLine(ctx, host, line.line, next);
      continue;
    }
    if ((await goOn(ctx, host, gate, next)) !== "refused") released += 1;
  }
  return { full, at: 0 };
}
