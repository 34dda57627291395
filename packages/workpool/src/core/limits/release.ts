import type { Doc, Host, HostCtx, Work } from "../context.js";
import { knownGate, MAX_PARALLELISM_LIMIT } from "../gate.js";
import { cancelPending } from "../jobs.js";
import { HALF_OF_A_TRANSACTION, hasRoom, MOST_TRIED } from "../room.js";
import { startWoken } from "../starts.js";
import { poolTx, writeBuckets } from "../transaction.js";
import {
  type Bucket,
  bucketNow,
  findBucket,
  type KeptBack,
  notLater,
  readyAt,
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
  permitsIn,
  someBlockedBy,
} from "./lines.js";
import { ROUND_MS } from "./rate.js";
import { goOn, startable } from "./go-on.js";

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
  await release(ctx, host, bucket, async (released) => await startWoken(ctx, host, released));
  await writeBuckets(ctx);
}

/**
 * Does that where an end has booked what it used, in the place of the releaser, which comes later.
 * Call `writeBuckets` once what has been woken was started.
 * @param room with the gate closed, so many start. @param woken gets the works that start.
 */
export async function releaseAtEnd(
  ctx: HostCtx,
  host: Host,
  full: string,
  room: number,
  woken: Work[],
): Promise<void> {
  const bucket = await bucketNow(ctx, permitOfRate(full, false));
  if (bucket?.job === undefined) return;
  await release(ctx, host, bucket, async (released) => void woken.push(...released), room);
}

async function release(
  ctx: HostCtx,
  host: Host,
  bucket: Bucket,
  start: (released: readonly Work[]) => Promise<void>,
  room?: number,
): Promise<void> {
  const { name, after, job, dueAt = 0 } = bucket;
  const isAtEnd = room !== undefined;
  const isSoon = !isAtEnd || dueAt < Date.now() + ROUND_MS;
  if (isAtEnd && isSoon && job !== undefined) await cancelPending(ctx, job);
  poolTx(ctx).releasing.set(name, bucket);
  if (isSoon)
    await writeBucket(ctx, name, bucket, {
      job: undefined,
      dueAt: undefined,
      at: notLater(bucket),
    });
  const woken: Work[] = [];
  const { next, last } = await releaseInto(ctx, host, permitOfRate(name), after, woken, room);
  await start(woken);
  if (last !== after) await writeBucket(ctx, name, await bucketNow(ctx, name), { after: last });
  // What ends a pause of the pool has all lines looked at.
  if (next !== null && (await knownGate(ctx)).maxParallelism > 0) {
    const { isUsedUp, ...full } = next;
    // After an end, other ends may do its part until then.
    const pauseMs = isAtEnd && isSoon ? 2 * ROUND_MS : ROUND_MS;
    const notBefore = Date.now() + (isUsedUp === true ? 0 : pauseMs);
    await waitForBucket(ctx, host, { ...full, at: Math.max(full.at, notBefore) });
  }
}

/** @param isUsedUp the transaction is, and the bucket may not be. */
type Next = KeptBack & { readonly isUsedUp?: boolean };

/**
 * @param woken gets the works that start. @param room with the gate closed, so many do.
 * @returns when to look again; null if nobody waits. And the turn of the line that went on last.
 */
async function releaseInto(
  ctx: HostCtx,
  host: Host,
  full: string,
  after: number | undefined,
  woken: Work[],
  room?: number,
): Promise<{ next: Next | null; last: number | undefined }> {
  let lines: Doc<"lines">[] = [];
  let last = after;
  let hasPassed = false;
  for (
    let released = 0;
    woken.length < MAX_PARALLELISM_LIMIT && (await hasRoom(ctx, HALF_OF_A_TRANSACTION));
  ) {
    // Lines that wait for one bucket go on in turn.
    // At an end few may start: two lines take turns, and the next end goes on with others.
    const most = room === undefined ? MOST_TRIED : 2;
    if (lines.length === 0) lines = await someBlockedBy(ctx, full, most, last);
    const line = lines.shift();
    if (line === undefined) return { next: null, last };
    if (!hasPassed && lines.length > 0 && passesOn(line)) {
      hasPassed = true;
      lines.push(line);
      continue;
    }
    hasPassed = false;
    const gate = await knownGate(ctx);
    const at = room === undefined ? 0 : await readyAt(ctx, gate, permitsIn(line), full);
    if (at > Date.now()) return { next: { full, at }, last };
    const [row] = await firstOf(ctx, line, 1);
    if (row === undefined) {
      // A line that was busy stays for a round: who enqueues then reads it alone.
      const stays = released > 0 && (await linesBlockedBy(ctx, full, 2)).length === 1;
      if (stays) return { next: { full, at: 0 }, last };
      await endLine(ctx, line);
      continue;
    }
    const next = await startable(ctx, host, gate, line, row);
    if (next.full === full) return { next: { full, at: next.at ?? 0 }, last };
    if (next.full !== undefined) {
      await blockLine(ctx, host, line.line, next);
      continue;
    }
    const work = await goOn(ctx, host, gate, next, gate.open || woken.length < (room ?? 0));
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
