import { cancelPending } from "./jobs.js";
import type { Host, HostCtx } from "./context.js";
import { readDrain, ringDrain } from "./drain.js";
import { readGate } from "./gate.js";
import { findBucket } from "./limits/buckets.js";
import { isRate, permitOfRate } from "./limits/limits.js";
import { firstOf } from "./limits/lines.js";
import { releaseRate } from "./limits/release.js";
import { waitsForLimit } from "./limits/waits-for.js";
import { PAGE } from "./room.js";
import { freeSlots } from "./slots.js";

/* For tests whose clock stands still: what the pool would come to by itself some ms later. */

/**
 * Has works go on at once that slots, limits and rates have room for. A drain would come to those
 * of the queue up to 50 ms later, and a releaser to those of a rate up to 250 ms later.
 * @returns what there was to do, as a text: what it says twice cannot be done. Null if nothing.
 */
export async function goOnNow(ctx: HostCtx, host: Host): Promise<string | null> {
  const gate = await readGate(ctx);
  if (gate === null || gate.maxParallelism === 0) return null;
  const released = await releaseDue(ctx, host);
  const waiting = await ctx.db.query("waiting").take(PAGE);
  const upTo = gate.maxParallelism;
  const free = waiting.length === 0 ? [] : await freeSlots(ctx, 0, upTo, upTo);
  if (free.length > 0) await ringDrain(ctx, host, await readDrain(ctx), 0, { leavesNone: true });
  if (released.length === 0 && free.length === 0) return null;
  const limited = await ctx.db.query("limited").take(PAGE);
  const first = [waiting, limited].map((rows) => [rows[0]?._id, rows.length]);
  return JSON.stringify([released, free.length, first]);
}

/** Releases what waits for a rate that allows a start now. @returns the names of the rates. */
async function releaseDue(ctx: HostCtx, host: Host): Promise<string[]> {
  const names = new Set<string>();
  for (const line of await ctx.db.query("lines").collect()) {
    const name = permitOfRate(line.blockedBy, false);
    if (!isRate(line.blockedBy) || names.has(name)) continue;
    const [row] = await firstOf(ctx, line, 1);
    const { nextAt = Infinity, paused } = (row && (await waitsForLimit(ctx, row.work))) ?? {};
    if (paused === undefined && nextAt <= Date.now()) names.add(name);
  }
  for (const name of names) {
    const bucket = await findBucket(ctx, name);
    if (bucket?.job !== undefined) await cancelPending(ctx, bucket.job);
    await releaseRate(ctx, host, { name });
  }
  return [...names];
}
