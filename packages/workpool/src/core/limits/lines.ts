import type { ObjectType } from "convex/values";
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
import { hashOf } from "../fair.js";
import { queuedOf, workOfQueued } from "../queued.js";
import { keepSweeping } from "../watch.js";
import { rateOf, type Spent, waitForBucket } from "./buckets.js";
import { nthHere } from "./joined.js";
import { giveBack, type lookAtLineArgs, type Taken } from "./permits.js";
import { watchWait } from "./unattended.js";

/*
 * Works with the same limits and keys, also of fairness, that wait for one of them are a line, in
 * the order in which they came. A line has a document while works are in it: who enqueues reads
 * that, and no permits, so that enqueues of a busy key conflict with nobody. The document names one
 * permit of which none was free. The end of a work that held one of these looks at the line, and
 * nobody else does. Lines that wait for one permit take turns: the next one after that of the work
 * which has ended. By the weights of their keys of fairness, a line keeps its turn, or passes it on.
 */

type Line = Doc<"lines">;

/** A permit of which none is free; or a rate, with the time at which it may be. */
export interface Full extends Taken {
  readonly at?: number;
}

type Lined = Pick<Work, "permits" | "fair" | "isAgain">;

/**
 * Names the line of works that need these permits, and have this key of fairness. Those that are
 * tried again have their own if a rate counts works alone: nobody who waits for that is before them.
 */
export function lineOf(gate: Gate, { permits = [], fair, isAgain = false }: Lined): string {
  const again =
    (isAgain && permits.some((each) => rateOf(gate, each)?.count === "works")) || undefined;
  return JSON.stringify(again || fair ? { permits, fair: fair?.key, again } : permits);
}

/** What the works of a line need. */
export function permitsIn({ line }: Pick<Line, "line">): string[] {
  const of = JSON.parse(line) as string[] | { permits: string[] };
  return Array.isArray(of) ? of : of.permits;
}

/** Where a line comes in the turns of those that wait for one permit. */
const turnOf = (line: string): number => hashOf(line) / 2 ** 32;

/** Returns the turn after which lines go on if a work starts: its own line comes first, or last. */
export function turnAfter(gate: Gate, work: Lined): number {
  return afterLine(turnOf(lineOf(gate, work)), work.fair?.weight);
}

/** One of n works of a line of weight n passes its turn on. Turns are 2 ** -32 apart, or more. */
export function afterLine(hash: number, weight = 1): number {
  return weight > 1 && Math.random() * weight > 1 ? hash - 2 ** -33 : hash;
}

/** A line of a weight below 1 passes its turn on as often as its weight says. */
export const passesOn = ({ weight = 1 }: Line): boolean => weight < 1 && Math.random() > weight;

export async function findLine(ctx: QueryCtx, line: string): Promise<Line | null> {
  return await ctx.db
    .query("lines")
    .withIndex("by_line", (q) => q.eq("line", line))
    .first();
}

/**
 * Lines that wait for the permit, all around.
 * @param after they begin after this turn. Default: after a random one.
 */
export async function someBlockedBy(
  ctx: QueryCtx,
  permit: string,
  most: number,
  after = Math.random(),
): Promise<Line[]> {
  const behind = await ctx.db
    .query("lines")
    .withIndex("by_blocked", (q) => q.eq("blockedBy", permit).gt("hash", after))
    .take(most);
  if (behind.length === most) return behind;
  const before = await ctx.db
    .query("lines")
    .withIndex("by_blocked", (q) => q.eq("blockedBy", permit).lte("hash", after))
    .take(most - behind.length);
  return [...behind, ...before];
}

/** Lines that wait for the permit. */
export async function linesBlockedBy(ctx: QueryCtx, permit: string, most: number) {
  return await ctx.db
    .query("lines")
    .withIndex("by_blocked", (q) => q.eq("blockedBy", permit))
    .take(most);
}

/** Has a work wait in its line. */
export async function joinLine(ctx: HostCtx, host: Host, line: string, work: Work): Promise<void> {
  const nth = await nthHere(ctx, work, line, false);
  await ctx.db.insert("limited", { ...(await queuedOf(ctx, host, work)), nth, line });
  await watchWait(ctx, host, work);
}

/**
 * Says of which permit a line waits for one; begins the line if there is none.
 * @param weight of its key of fairness, if it begins. Default: 1.
 */
export async function blockLine(
  ctx: HostCtx,
  host: Host,
  line: string,
  { full: blockedBy, at, isSeen }: Full,
  weight = 1,
): Promise<void> {
  if (isSeen === true) await lookForSure(ctx, host, line);
  if (at !== undefined) await waitForBucket(ctx, host, { full: blockedBy, at });
  const found = await findLine(ctx, line);
  if (found === null) {
    const ofWeight = weight === 1 ? {} : { weight };
    await ctx.db.insert("lines", { line, blockedBy, hash: turnOf(line), ...ofWeight });
    // Nothing may run while it waits for a rate.
    if (at !== undefined) await keepSweeping(ctx, host);
  } else if (found.blockedBy !== blockedBy) await ctx.db.patch("lines", found._id, { blockedBy });
}

/** The given number of the first works of a line. */
export async function firstOf(ctx: QueryCtx, { line }: Pick<Line, "line">, count: number) {
  return await ctx.db
    .query("limited")
    .withIndex("by_line", (q) => q.eq("line", line))
    .take(count);
}

export async function endLine(ctx: MutationCtx, { _id }: Line): Promise<void> {
  await ctx.db.delete("lines", _id);
}

/** Takes a work out of its line; null if it had to be set aside. */
export async function leaveLine(ctx: MutationCtx, row: Doc<"limited">): Promise<Work | null> {
  await ctx.db.delete("limited", row._id);
  return await workOfQueued(ctx, row);
}

/** Takes a work that shall not run out of its line. @returns its place in it; null if in none. */
export async function leaveLineCanceled(ctx: HostCtx, work: string) {
  const row = await limitedRow(ctx, work);
  if (row === null) return null;
  await leaveLine(ctx, row);
  return row.at;
}

export async function limitedRow(ctx: HostQueryCtx, work: string) {
  const row: Doc<"limited"> | null = await ctx.db
    .query("limited")
    .withIndex("by_work", (q) => q.eq("work", work))
    .first();
  return row;
}

/** What a stale snapshot shows of a line: no dependency, and no proof. */
export async function seeLine(
  ctx: MutationCtx,
  { functions }: Host,
  line: string,
  {
    spent = [],
    most = 0,
    ...asked
  }: Partial<Omit<ObjectType<typeof lookAtLineArgs>, "line">> & { spent?: readonly Spent[] },
) {
  const buckets = spent.length === 0 ? undefined : spent.map(({ name }) => name);
  const args = { line, most, buckets, ...asked };
  return await ctx.runQuery(functions.lookAtLine, args, { useStaleSnapshot: true });
}

/** So many works from a place of a line on, as a stale snapshot shows it: none before that. */
export async function someFrom(
  ctx: HostCtx,
  host: Host,
  { line }: Pick<Line, "line">,
  place: number,
  count: number,
): Promise<Doc<"limited">[]> {
  const { works } = await seeLine(ctx, host, line, { place, count });
  const rows: (Doc<"limited"> | null)[] = [];
  for (const id of works) rows.push(await ctx.db.get("limited", id));
  return rows.filter((row) => row !== null);
}

/**
 * Has lines looked at soon for which something is free, though no work ends: one that was about to
 * take it does not start.
 * @param permits each as often as it is free.
 */
export async function ringLines(ctx: HostCtx, host: Host, permits: readonly string[] = []) {
  const waitedFor = new Set<string>();
  for (const name of new Set(permits))
    if ((await linesBlockedBy(ctx, name, 1)).length > 0) waitedFor.add(name);
  if (waitedFor.size === 0) return;
  const free = permits.filter((name) => waitedFor.has(name));
  await ctx.scheduler.runAfter(0, host.functions.wakeLines, { permits: free });
  await keepSweeping(ctx, host);
}

/** Has a line looked at soon that a stale snapshot has blocked: perhaps some of it may go on. */
async function lookForSure(ctx: HostCtx, host: Host, line: string): Promise<void> {
  await ctx.scheduler.runAfter(0, host.functions.wakeLines, { line });
  await keepSweeping(ctx, host);
}

/** Has all lines looked at, as limits have changed, or if what was to look at one was lost. */
export async function ringAllLines(ctx: HostCtx, host: Host): Promise<void> {
  if ((await ctx.db.query("lines").first()) === null) return;
  await ctx.scheduler.runAfter(0, host.functions.wakeLines, {});
  await keepSweeping(ctx, host);
}

/** Gives the permits of a work back that was about to start, and does not. */
export async function giveBackUnused(
  ctx: HostCtx,
  host: Host,
  { permits, held }: Pick<Work, "permits" | "held">,
): Promise<void> {
  await giveBack(ctx, held);
  await ringLines(ctx, host, permits);
}
