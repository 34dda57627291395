import { type GenericId, type Infer, type ObjectType, v } from "convex/values";
import type { Doc, Gate, HostQueryCtx, MutationCtx, QueryCtx } from "../context.js";
import { poolTx } from "../transaction.js";
import { findBucket } from "./buckets.js";
import { limitOf } from "./limits.js";

export type PermitId = GenericId<"permits">;

export const lookAtLineArgs = {
  line: v.string(),
  permits: v.array(v.string()),
  /** Of the rates that its works need. Default: none. */
  buckets: v.optional(v.array(v.string())),
  /** So many works of the line are counted in the queue. */
  most: v.number(),
  /** So many of its first works are told. Default: none. */
  first: v.optional(v.number()),
};
export const vLook = v.object({
  /** The numbers that are held, for each of the permits. */
  held: v.array(v.array(v.number())),
  /** How many works of the line are in the queue. */
  queued: v.number(),
  first: v.array(v.id("limited")),
  buckets: v.array(v.union(v.null(), v.object({ taken: v.number(), at: v.number() }))),
});

export type Look = Infer<typeof vLook>;

/** What is held and queued of a line. From a stale snapshot it is no proof. */
export async function lookAtLine(
  ctx: HostQueryCtx,
  { line, permits, buckets = [], most, first = 0 }: ObjectType<typeof lookAtLineArgs>,
): Promise<Look> {
  const held: number[][] = [];
  for (const name of permits) {
    const rows: Doc<"permits">[] = await permitsNamed(ctx, name).collect();
    held.push(rows.map(({ number }) => number));
  }
  const queued = await ctx.db
    .query("waiting")
    .withIndex("by_group", (q) => q.eq("group", line))
    .take(most);
  const rows: Doc<"limited">[] = await ctx.db
    .query("limited")
    .withIndex("by_line", (q) => q.eq("line", line))
    .take(first);
  const seen: Look["buckets"] = [];
  for (const name of buckets) {
    const bucket = await findBucket(ctx, name);
    seen.push(bucket && { taken: bucket.taken, at: bucket.at });
  }
  return {
    held,
    queued: queued.length,
    first: rows.map(({ _id }) => _id),
    buckets: seen,
  };
}

/** The permits of a name that are held, of these numbers. */
const permitsNamed = (ctx: QueryCtx, name: string, from = 0, to = Infinity) =>
  ctx.db
    .query("permits")
    .withIndex("by_name", (q) => q.eq("name", name).gte("number", from).lt("number", to));

/** A number of each permit that is free; or the name of one of which none is, for sure. */
export type Free = { readonly numbers: ReadonlyMap<string, number> } | { readonly full: string };

/** The permits that limit anything. */
export function limitedBy(gate: Gate, permits: readonly string[] = []): string[] {
  return permits.filter((name) => limitOf(gate, name) !== Infinity);
}

/**
 * Finds free permits: of those that a stale snapshot shows as free, one at random, so that starts of
 * one moment take different ones. If it shows none, it reads them all: then it conflicts with ends.
 * @param seen the numbers that are held, for each of `names`. Default: none is known.
 */
export async function freePermits(
  ctx: MutationCtx,
  gate: Gate,
  names: readonly string[],
  seen?: readonly (readonly number[])[],
): Promise<Free> {
  const numbers = new Map<string, number>();
  for (const [index, name] of names.entries()) {
    const number = await freeNumber(ctx, name, limitOf(gate, name), seen?.[index]);
    if (number === null) return { full: name };
    numbers.set(name, number);
  }
  return { numbers };
}

async function freeNumber(
  ctx: MutationCtx,
  name: string,
  limit: number,
  seen: readonly number[] | undefined,
): Promise<number | null> {
  // Works that began before the limit was lowered may hold more than there are.
  const above = await permitsNamed(ctx, name, limit).first();
  if (above === null) {
    for (const number of poolTx(ctx).givenBack.get(name) ?? [])
      if (number < limit && (await isFree(ctx, name, number))) return number;
    const number = seen === undefined ? null : oneFree(seen, limit);
    if (number !== null && (await isFree(ctx, name, number))) return number;
  }
  const held = await permitsNamed(ctx, name).take(limit);
  if (held.length >= limit) return null;
  return oneFree(
    held.map(({ number }) => number),
    limit,
  );
}

async function isFree(ctx: QueryCtx, name: string, number: number): Promise<boolean> {
  return (await permitsNamed(ctx, name, number, number + 1).first()) === null;
}

/** A number below the limit that is not among these, at random; null if there is none. */
function oneFree(held: readonly number[], limit: number): number | null {
  const taken = new Set(held.filter((number) => number < limit));
  let left = Math.floor(Math.random() * (limit - taken.size));
  for (let number = 0; number < limit; number++)
    if (!taken.has(number) && left-- === 0) return number;
  return null;
}

/** Takes permits for a work, which is started in the same transaction. */
export async function takePermits(
  ctx: MutationCtx,
  work: string,
  numbers: ReadonlyMap<string, number>,
): Promise<PermitId[]> {
  const held: PermitId[] = [];
  for (const [name, number] of numbers)
    held.push(await ctx.db.insert("permits", { name, number, work }));
  return held;
}

/** Gives permits back. @returns their names. */
export async function giveBack(ctx: MutationCtx, held: readonly PermitId[] = []) {
  const names: string[] = [];
  const { givenBack } = poolTx(ctx);
  for (const id of held) {
    const permit = await ctx.db.get("permits", id);
    if (permit === null) continue;
    const { name, number } = permit;
    await ctx.db.delete("permits", id);
    givenBack.set(name, [...(givenBack.get(name) ?? []), number]);
    names.push(name);
  }
  return names;
}
