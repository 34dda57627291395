import type {
  Doc,
  Gate,
  Host,
  HostCtx,
  HostQueryCtx,
  MutationCtx,
  QueryCtx,
  Work,
} from "../context.js";
import { knownGate } from "../gate.js";
import { cancelPending } from "../jobs.js";
import { PAGE } from "../room.js";
import { LATE_MS } from "../times.js";
import { poolTx } from "../transaction.js";
import { costOf, permitOfRate, whichOf } from "./limits.js";
import { inForce, type Limited } from "./overrides.js";
import {
  fullAtOf,
  mayStartAt,
  type Pace,
  paceOf,
  type Rate,
  ROUND_MS,
  type Stored,
  takenAt,
} from "./rate.js";

/*
 * The buckets of rates: a document each, from the first start on. A start spends in the transaction
 * that gives the slot. While somebody waits for a bucket, a releaser (release.ts) is scheduled, and
 * whoever else would start something of it leaves that to the releaser: it alone writes.
 */

export type Bucket = Doc<"buckets">;
type Asking = Pick<Work, "permits" | "isAgain">;

/** A bucket that a work needs, and how much it takes of it. */
export interface Spent extends Pace {
  /** Names the bucket as the permit of the limit, or of the key if it has keys. */
  readonly name: string;
  readonly cost: number;
}

/** What a start of a work takes of buckets. No rate that has been removed holds anybody up. */
export function spentBy(gate: Gate, { permits = [], isAgain = false }: Asking): Spent[] {
  return permits.flatMap((name, index) => {
    // That of a key comes after that of its limit.
    const next = permits[index + 1];
    const isOfKeys = next !== undefined && whichOf(next).name === whichOf(name).name;
    const rate = isOfKeys ? undefined : rateOf(gate, name);
    if (rate === undefined || (rate.count === "works" && isAgain)) return [];
    const isCounted = gate.limits?.[whichOf(name).name]?.unit !== undefined;
    const cost = isCounted ? (costOf(name) ?? 1) : 1;
    return [{ ...paceOf(rate), name: permitOfRate(name, false), cost }];
  });
}

/** The rate that holds for a limit or a key. */
export function rateOf(gate: Limited, permit: string): Rate | undefined {
  const which = whichOf(permit);
  const asked = gate.limits?.[which.name];
  return asked && inForce(gate, asked, which).rate;
}

/** Written so soon before, a bucket is probably being written now by others too. */
const CONTENDED_MS = 25;

export async function findBucket(ctx: HostQueryCtx, name: string): Promise<Bucket | null> {
  return await ctx.db
    .query("buckets")
    .withIndex("by_name", (q) => q.eq("name", name))
    .first();
}

/** A bucket as this transaction has left it: its releaser need not read it again. */
export async function bucketNow(ctx: MutationCtx, name: string): Promise<Bucket | null> {
  const { releasing } = poolTx(ctx);
  const known = releasing.get(name);
  if (known !== undefined) return known;
  const bucket = await findBucket(ctx, name);
  if (bucket !== null && releasing.has(name)) releasing.set(name, bucket);
  return bucket;
}

type Changed = Partial<Omit<Bucket, "_id" | "_creationTime" | "name">>;

/** Writes a bucket that was just read. What its releaser writes is put together. */
export async function writeBucket(
  ctx: MutationCtx,
  name: string,
  bucket: Bucket | null,
  changed: Changed,
): Promise<void> {
  if (bucket === null) {
    await ctx.db.insert("buckets", { name, taken: 0, at: 0, fullAt: 0, ...changed });
    return;
  }
  const { releasing, unwritten } = poolTx(ctx);
  if (!releasing.has(name)) return await ctx.db.patch("buckets", bucket._id, changed);
  releasing.set(name, { ...bucket, ...changed });
  unwritten.set(bucket._id, { ...unwritten.get(bucket._id), ...changed });
}

/** Why a work may not start yet: what its line waits for, and when to look again. */
export interface KeptBack {
  readonly full: string;
  readonly at: number;
}

/**
 * Null if the buckets have what the work takes, which this transaction then keeps for it; else the
 * one that it waits for.
 * @param takes it leaves the queue for a slot: nobody else can start it.
 */
export async function keepOfBuckets(
  ctx: MutationCtx,
  gate: Gate,
  work: Asking & Pick<Work, "work">,
  takes = false,
): Promise<KeptBack | null> {
  const spent = spentBy(gate, work);
  letGo(ctx, work.work);
  const { kept, keptOf, releasing } = poolTx(ctx);
  const now = Date.now();
  for (const { name, cost, ...pace } of spent) {
    const bucket = await bucketNow(ctx, name);
    const isWriter = takes || releasing.has(name);
    const full = permitOfRate(name);
    const fullAt = fullAtOf(pace, bucket, now) + (keptOf.get(name) ?? 0) * pace.everyMs;
    const at = mayStartAt(pace, fullAt, cost);
    if (at > now || (!isWriter && bucket?.job !== undefined)) return { full, at };
  }
  kept.set(work.work, new Map(spent.map(({ name, cost }) => [name, cost])));
  for (const { name, cost } of spent) keptOf.set(name, (keptOf.get(name) ?? 0) + cost);
  return null;
}

/** Keeps nothing more for a work: it starts, and spends that, or has found no slot. */
export function letGo(ctx: MutationCtx, work: string): void {
  const { kept, keptOf } = poolTx(ctx);
  for (const [name, cost] of kept.get(work) ?? []) keptOf.set(name, keptOf.get(name)! - cost);
  kept.delete(work);
}

/**
 * Null if a stale snapshot shows room for a work and for those of its line in the queue, and no
 * start a moment ago; else the bucket that it is to wait for.
 * @param queued how many of the line are in the queue, if this one would join it.
 * @param isWanted many may write a bucket at this moment: then a start a moment ago counts. Default:
 * each is wanted.
 */
export function seenKeptBack(
  ctx: MutationCtx,
  spent: readonly Spent[],
  seen: readonly (Stored | null)[],
  queued: number,
  isWanted: (bucket: string) => boolean = () => true,
): KeptBack | null {
  const now = Date.now();
  for (const [index, { name, cost, ...pace }] of spent.entries()) {
    const bucket = seen[index] ?? null;
    const full = permitOfRate(name);
    const isRecent = bucket !== null && Math.abs(now - bucket.at) < CONTENDED_MS;
    if (isRecent && isWanted(name) && !poolTx(ctx).releasing.has(name))
      return { full, at: now + ROUND_MS };
    const fullAt = fullAtOf(pace, bucket, now);
    if (mayStartAt(pace, fullAt + queued * cost * pace.everyMs, cost) <= now) continue;
    const at = mayStartAt(pace, fullAt, cost);
    return { full, at: queued === 0 ? at : Math.max(at, lookAgainAt(bucket, now)) };
  }
  return null;
}

/**
 * Works in the queue wait for slots, and not for the bucket. If one leaves the queue, those behind it
 * are looked at. Otherwise looks come ever less often, but never further apart than this.
 */
const LONGEST_LOOK_MS = 30_000;

/** When to look again at a line of which works are in the queue. */
function lookAgainAt(bucket: Stored | null, now: number): number {
  const restsFor = bucket === null ? 0 : now - bucket.at;
  return now + Math.max(2 * ROUND_MS, Math.min(restsFor, LONGEST_LOOK_MS));
}

/** A work that was to take of buckets has left the queue: those behind it are looked at. */
export async function hasLeftQueue(ctx: HostCtx, host: Host, work: Asking): Promise<void> {
  if (work.permits === undefined) return;
  const gate = await knownGate(ctx);
  const now = Date.now();
  for (const { name, cost, ...pace } of spentBy(gate, work)) {
    const bucket = await findBucket(ctx, name);
    if (bucket?.job === undefined) continue;
    const at = mayStartAt(pace, fullAtOf(pace, bucket, now), cost);
    await waitForBucket(ctx, host, { full: permitOfRate(name), at });
  }
}

/** Spends what a start takes. It is called where a work gets its slot. */
export async function spend(
  ctx: MutationCtx,
  host: Host,
  work: Asking & Pick<Work, "work">,
): Promise<void> {
  if (work.permits === undefined) return;
  letGo(ctx, work.work);
  const now = Date.now();
  for (const { name, cost, ...pace } of spentBy(await knownGate(ctx), work)) {
    const bucket = await bucketNow(ctx, name);
    const taken = takenAt(pace, bucket, now) + cost;
    const fields = { taken, at: now, fullAt: now + taken * pace.everyMs };
    // Those behind it may join the queue, as soon as there is enough for one more.
    const next = Math.max(now + ROUND_MS, mayStartAt(pace, fields.fullAt, cost));
    const due = bucket?.job === undefined ? {} : await dueBy(ctx, host, name, bucket, next);
    await writeBucket(ctx, name, bucket, { ...fields, ...due });
  }
}

/** Its time, but now if the clock went back since: what it lacks comes back from now on. */
export const notLater = ({ at }: Stored): number => Math.min(at, Date.now());

/** Has a releaser look at the lines that wait for a bucket, at a time or soon after it. */
export async function waitForBucket(
  ctx: HostCtx,
  host: Host,
  { full, at }: KeptBack,
): Promise<void> {
  const name = permitOfRate(full, false);
  const bucket = await bucketNow(ctx, name);
  const due = await dueBy(ctx, host, name, bucket, at);
  if (due.job === undefined) return;
  await writeBucket(ctx, name, bucket, bucket === null ? due : { ...due, at: notLater(bucket) });
}

/** What changes of a bucket as its releaser is to come at a time: nothing if it does anyway. */
export async function dueBy(
  ctx: HostCtx,
  { functions }: Host,
  name: string,
  bucket: Bucket | null,
  at: number,
): Promise<Pick<Changed, "job" | "dueAt">> {
  const now = Date.now();
  const dueAt = Math.ceil(Math.max(at, now));
  const { job, dueAt: before = 0 } = bucket ?? {};
  const isInTime = before <= dueAt + ROUND_MS && before > now - LATE_MS;
  if (job !== undefined && isInTime) return {};
  if (job !== undefined) await cancelPending(ctx, job);
  return { job: await ctx.scheduler.runAt(dueAt, functions.releaseRate, { name }), dueAt };
}

/** Removes buckets that are full again. */
export async function removeFullBuckets(ctx: HostCtx, gate: Gate): Promise<void> {
  const queries: QueryCtx["db"] = ctx.db;
  const now = Date.now();
  const full = await queries
    .query("buckets")
    .withIndex("by_full", (q) => q.eq("job", undefined).lt("fullAt", now))
    .take(PAGE);
  for (const bucket of full) {
    const rate = rateOf(gate, bucket.name);
    // It may have been lowered since.
    if (rate === undefined || fullAtOf(paceOf(rate), bucket, now) <= now)
      await ctx.db.delete("buckets", bucket._id);
  }
}
