import { type Infer, type ObjectType, v } from "convex/values";
import type { Doc, Gate, Host, HostQueryCtx, MutationCtx, QueryCtx } from "../context.js";
import { poolTx } from "../transaction.js";
import { findBucket } from "./buckets.js";
import { limitOf } from "./limits.js";

/** A permit that a work holds; its slot has all of it, so that its end need not read it. */
export const vHeld = v.object({ id: v.id("permits"), name: v.string(), number: v.number() });
export type Held = Infer<typeof vHeld>;

export const lookAtLineArgs = {
  line: v.string(),
  /** A number of each is looked for. Default: of none. */
  permits: v.optional(v.array(v.object({ name: v.string(), limit: v.number() }))),
  /** So many works of the line are counted in the queue; each of them needs a number too. */
  most: v.number(),
  /** The buckets of the rates that its works need. Default: none. */
  buckets: v.optional(v.array(v.string())),
  /** So many works from this place of the line on are looked for. Default: none. */
  place: v.optional(v.number()),
  count: v.optional(v.number()),
};
export const vLook = v.object({
  /** A number of each permit that nobody holds; null if there is none beyond what is queued. */
  free: v.array(v.union(v.null(), v.number())),
  /** How many works of the line are in the queue. */
  queued: v.number(),
  buckets: v.array(v.union(v.null(), v.object({ taken: v.number(), at: v.number() }))),
  /** The works from the place on; one of those before it if the line is shorter. */
  works: v.array(v.id("limited")),
});

export type Look = Infer<typeof vLook>;

/** What is free and queued of a line. From a stale snapshot it is no proof. */
export async function lookAtLine(
  ctx: HostQueryCtx,
  {
    line,
    permits = [],
    most,
    buckets = [],
    place = 0,
    count = 0,
  }: ObjectType<typeof lookAtLineArgs>,
): Promise<Look> {
  const queued = most === 0 ? 0 : (await queuedOfLine(ctx, line).take(most)).length;
  const free: Look["free"] = [];
  for (const { name, limit } of permits) free.push(await freeNumber(ctx, name, limit, queued));
  const seen: Look["buckets"] = [];
  for (const name of buckets) {
    const bucket = await findBucket(ctx, name);
    seen.push(bucket && { taken: bucket.taken, at: bucket.at });
  }
  const works = count === 0 ? [] : await worksFrom(ctx, line, place, count);
  return { free, queued, buckets: seen, works };
}

const queuedOfLine = (ctx: QueryCtx, line: string) =>
  ctx.db.query("waiting").withIndex("by_group", (q) => q.eq("group", line));

async function worksFrom(ctx: HostQueryCtx, line: string, place: number, count: number) {
  const first: Doc<"limited">[] = await ctx.db
    .query("limited")
    .withIndex("by_line", (q) => q.eq("line", line))
    .take(place + count);
  const from = first.length > place ? place : Math.floor(Math.random() * first.length);
  return first.slice(from, from + count).map(({ _id }) => _id);
}

/** The permits of a name that are held, of these numbers. */
const permitsNamed = (ctx: QueryCtx, name: string, from = 0, to = Infinity) =>
  ctx.db
    .query("permits")
    .withIndex("by_name", (q) => q.eq("name", name).gte("number", from).lt("number", to));

/** A number below the limit that nobody holds, if more are free than works are queued. */
async function freeNumber(
  ctx: QueryCtx,
  name: string,
  limit: number,
  queued: number,
): Promise<number | null> {
  // Works that began before the limit was lowered may hold more than there are.
  if (await isLowered(ctx, name, limit))
    if ((await permitsNamed(ctx, name).collect()).length + queued >= limit) return null;
  const free = await freeNumbers(ctx, name, limit, queued + 1);
  return free.length > queued ? free[0]! : null;
}

/** So many numbers below the limit that nobody holds: all that there are, if these are fewer. */
async function freeNumbers(
  ctx: QueryCtx,
  name: string,
  limit: number,
  most: number,
): Promise<number[]> {
  // Starts of one moment look from different ones on.
  const from = Math.floor(Math.random() * limit);
  const above = await freeIn(ctx, name, { from, to: limit }, most);
  const left = most - above.length;
  return left > 0 ? [...above, ...(await freeIn(ctx, name, { from: 0, to: from }, left))] : above;
}

/** The first numbers of a range that nobody holds. It reads few of those that are held. */
async function freeIn(
  ctx: QueryCtx,
  name: string,
  { from, to }: { from: number; to: number },
  most: number,
): Promise<number[]> {
  const free: number[] = [];
  let next = from;
  for (let width = most; next < to && free.length < most; width *= 2) {
    const end = Math.min(next + width, to);
    const held = await permitsNamed(ctx, name, next, end).collect();
    const isHeld = new Set(held.map(({ number }) => number));
    for (; next < end; next++) if (!isHeld.has(next)) free.push(next);
  }
  return free.slice(0, most);
}

async function isLowered(ctx: QueryCtx, name: string, limit: number): Promise<boolean> {
  return (await permitsNamed(ctx, name, limit).first()) !== null;
}

/** So many works that start together, and the numbers that are free for them, by name. */
export interface Together {
  readonly count: number;
  readonly free: Map<string, number[]>;
}

/** A number that nobody holds, for sure; null if there is none. */
async function oneOf(ctx: QueryCtx, name: string, limit: number, among?: Together) {
  if (among === undefined) return await freeNumber(ctx, name, limit, 0);
  const known = among.free.get(name)?.shift();
  if (known !== undefined) return known;
  const [first = null, ...others] = await freeNumbers(ctx, name, limit, among.count);
  among.free.set(name, others);
  return first;
}

/** A permit of which none is free, for sure; or as a stale snapshot shows it, and no more. */
export interface Taken {
  readonly full: string;
  readonly isSeen?: true;
}
/** A number of each permit that is free; or one of which none is. */
export type Free = { readonly numbers: ReadonlyMap<string, number> } | Taken;

/** The permits that limit anything. */
export function limitedBy(gate: Gate, permits: readonly string[] = []): string[] {
  return permits.filter((name) => limitOf(gate, name) !== Infinity);
}

interface Looks {
  /** Sees a stale snapshot. Default: nothing is known of it. */
  readonly host?: Host | undefined;
  /** What was read for works that start together. Default: it starts alone. */
  readonly among?: Together | undefined;
  /** If the snapshot shows none, that is enough. Default: they are read for sure. */
  readonly believes?: boolean | undefined;
}

/**
 * Finds free permits: of those that a stale snapshot shows as free, one at random, so that starts
 * of one moment take different ones. If it shows none, it reads them for sure: it conflicts with
 * ends.
 */
export async function freePermits(
  ctx: MutationCtx,
  gate: Gate,
  names: readonly string[],
  { host, among, believes = false }: Looks = {},
): Promise<Free> {
  const numbers = new Map<string, number>();
  let seen: Look["free"] | undefined;
  for (const [index, name] of names.entries()) {
    const limit = limitOf(gate, name);
    const lowered = await isLowered(ctx, name, limit);
    let number = lowered ? null : await givenBackOf(ctx, name, limit);
    if (number === null && !lowered && host !== undefined) {
      seen ??= await seeFree(ctx, host, gate, names);
      number = seen[index] ?? null;
      if (number === null && believes) return { full: name, isSeen: true };
      if (number !== null && !(await isFree(ctx, name, number))) number = null;
    }
    number ??= await oneOf(ctx, name, limit, lowered ? undefined : among);
    if (number === null) return { full: name };
    numbers.set(name, number);
  }
  return { numbers };
}

/** Permits with their limits. */
export function numbered(gate: Gate, names: readonly string[]) {
  return names.map((name) => ({ name, limit: limitOf(gate, name) }));
}

/** What a stale snapshot shows of each. */
async function seeFree(ctx: MutationCtx, host: Host, gate: Gate, names: readonly string[]) {
  const args = { line: "", permits: numbered(gate, names), most: 0 };
  return (await ctx.runQuery(host.functions.lookAtLine, args, { useStaleSnapshot: true })).free;
}

/** One that this transaction has given back, and not taken again. */
async function givenBackOf(ctx: MutationCtx, name: string, limit: number): Promise<number | null> {
  for (const number of poolTx(ctx).givenBack.get(name) ?? [])
    if (number < limit && (await isFree(ctx, name, number))) return number;
  return null;
}

async function isFree(ctx: QueryCtx, name: string, number: number): Promise<boolean> {
  return (await permitsNamed(ctx, name, number, number + 1).first()) === null;
}

/** Takes permits for a work, which is started in the same transaction. */
export async function takePermits(
  ctx: MutationCtx,
  work: string,
  numbers: ReadonlyMap<string, number>,
): Promise<Held[]> {
  const held: Held[] = [];
  const { givenBack } = poolTx(ctx);
  for (const [name, number] of numbers) {
    held.push({ id: await ctx.db.insert("permits", { name, number, work }), name, number });
    const left = givenBack.get(name)?.filter((other) => other !== number);
    if (left !== undefined) givenBack.set(name, left);
  }
  return held;
}

/** Gives permits back. @returns their names. */
export async function giveBack(
  ctx: MutationCtx,
  held: readonly (Held | Held["id"])[] = [],
): Promise<string[]> {
  const names: string[] = [];
  const { givenBack } = poolTx(ctx);
  for (const each of held) {
    // Slots of an earlier version have the id alone.
    const permit = typeof each === "string" ? await ctx.db.get("permits", each) : each;
    if (permit === null) continue;
    const { name, number } = permit;
    await ctx.db.delete("permits", typeof each === "string" ? each : each.id);
    givenBack.set(name, [...(givenBack.get(name) ?? []), number]);
    names.push(name);
  }
  return names;
}
