import type { Doc, Host, HostCtx, Work } from "../context.js";
import { knownGate, MAX_PARALLELISM_LIMIT } from "../gate.js";
import { HALF_OF_A_TRANSACTION, hasRoom, MOST_TRIED } from "../room.js";
import { startWoken } from "../starts.js";
import { poolTx, writeBuckets } from "../transaction.js";
import {
  bucketNow,
  findBucket,
  type KeptBack,
  notLater,
  waitForBucket,
  writeBucket,
} from "./buckets.js";
import { permitOfRate } from "./limits.js";
import {
  afterLine,
  blockLine,
  endLine,
  firstOf,
  linesBlockedBy,
  passesOn,
  someBlockedBy,
} from "./lines.js";
import { ROUND_MS } from "./rate.js";
import { goOn, startable } from "./wake.js";

/**
 * Has works that wait for a bucket go on, as far as it has come back, and looks again when it will
 * have more: at most four times a second, but for what is too much for one transaction, and no
 * longer once nobody waits.
 */
export async function releaseRate(
  ctx: HostCtx,
  host: Host,
  { name }: { name: string },
): Promise<void> {
  const bucket = await findBucket(ctx, name);
  if (bucket === null) return;
  const written = { job: undefined, dueAt: undefined, at: notLater(bucket) };
  poolTx(ctx).releasing.set(name, bucket);
  await writeBucket(ctx, name, bucket, written);
  const { next, last } = await releaseSome(ctx, host, permitOfRate(name), bucket.after);
  if (last !== bucket.after)
    await writeBucket(ctx, name, await bucketNow(ctx, name), { after: last });
  // What ends a pause of the pool has all lines looked at.
  if (next !== null && (await knownGate(ctx)).maxParallelism > 0) {
    const { isUsedUp, ...full } = next;
    const notBefore = Date.now() + (isUsedUp === true ? 0 : ROUND_MS);
    await waitForBucket(ctx, host, { ...full, at: Math.max(full.at, notBefore) });
  }
  await writeBuckets(ctx);
}

/** @param isUsedUp the transaction is, and the bucket may not be. */
type Next = KeptBack & { readonly isUsedUp?: boolean };

/** @returns when to look again; null if nobody waits. And the turn of the line that went on last. */
async function releaseSome(ctx: HostCtx, host: Host, full: string, after: number | undefined) {
  const woken: Work[] = [];
  const released = await releaseInto(ctx, host, full, after, woken);
  await startWoken(ctx, host, woken);
  return released;
}

/** @param woken gets the works that start. */
async function releaseInto(
  ctx: HostCtx,
  host: Host,
  full: string,
  after: number | undefined,
  woken: Work[],
): Promise<{ next: Next | null; last: number | undefined }> {
  let lines: Doc<"lines">[] = [];
  let last = after;
  let hasPassed = false;
  for (
    let released = 0;
    woken.length < MAX_PARALLELISM_LIMIT && (await hasRoom(ctx, HALF_OF_A_TRANSACTION));
  ) {
    // Lines that wait for one bucket go on in turn.
    if (lines.length === 0) lines = await someBlockedBy(ctx, full, MOST_TRIED, last);
    const line = lines.shift();
    if (line === undefined) return { next: null, last };
    if (!hasPassed && lines.length > 0 && passesOn(line)) {
      hasPassed = true;
      lines.push(line);
      continue;
    }
    hasPassed = false;
    const [row] = await firstOf(ctx, line, 1);
    if (row === undefined) {
      // A line that was busy stays for a round: who enqueues then reads it alone.
      const stays = released > 0 && (await linesBlockedBy(ctx, full, 2)).length === 1;
      if (stays) return { next: { full, at: 0 }, last };
      await endLine(ctx, line);
      continue;
    }
    const gate = await knownGate(ctx);
    // To read permits for sure conflicts with ends of works: then this is repeated ever later, while
    // nothing of the bucket starts.
    const next = await startable(ctx, host, gate, line, row, { believes: true });
    if (next.full === full) return { next: { full, at: next.at ?? 0 }, last };
    if (next.full !== undefined) {
      await blockLine(ctx, host, line.line, next);
      continue;
    }
    const work = await goOn(ctx, host, gate, next);
    if (work !== null) {
      last = afterLine(line.hash, line.weight);
      if (last < line.hash) lines.unshift(line);
      else lines.push(line);
    }
    // A callback of the one that does not start may have ended them.
    else lines = [];
    released += Number(work !== null);
    if (work !== null && work !== "queued") woken.push(work);
  }
  return { next: { full, at: 0, isUsedUp: true }, last };
}
