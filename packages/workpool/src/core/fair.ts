import type { QueryInitializer } from "convex/server";
import { type Infer, type ObjectType, v } from "convex/values";
import type { Doc, Gate, HostQueryCtx, PoolDataModel, Work } from "./context.js";
import { LONGEST_KEY, shownKey } from "./limits/limits.js";
import { isPlain, literalText } from "./literal.js";
import { HALF_PAIR, wellFormed } from "./result.js";

/*
 * Works with a key of fairness have lanes of their own in the queue, so that a look finds one work
 * of each of several keys. A slot goes to the key that holds the fewest slots per weight, of those
 * that are seen. Ties go round: to the next key after the one that had the slot last, in the order
 * of lanes. So no key waits for all that others have enqueued before. All works without a key are
 * one key more. Slots say whose they are, or were last, so that what a key holds is read, and no
 * counter can drift.
 */

/** Whose a work is, and how many slots that one gets for each of one of weight 1. */
export const vFair = v.object({ key: v.string(), weight: v.number() });
export type Fair = Infer<typeof vFair>;

/** How far weights may be from 1. */
const MOST_WEIGHT = 1_000;

/** @throws if the key or the weight is not valid. */
export function fairFor(fairness: { key: string; weight?: number | undefined }): Fair {
  if (!isPlain(fairness))
    throw new Error(
      `fairness is ${literalText(fairness)}: write an object, such as { key: tenant }`,
    );
  const { key, weight = 1 } = fairness;
  if (typeof key !== "string" || key.length === 0 || key.length > LONGEST_KEY)
    throw new Error(
      `The key of fairness must be a text of 1 to ${LONGEST_KEY} characters: ${shownKey(key)} was given`,
    );
  if (wellFormed(key) !== key) throw new Error(`The key of fairness has ${HALF_PAIR}`);
  const given: unknown = weight;
  if (!(typeof given === "number" && weight >= 1 / MOST_WEIGHT && weight <= MOST_WEIGHT))
    throw new Error(
      `The weight of fairness is ${literalText(given)}: it must be a number from ${1 / MOST_WEIGHT} to ${MOST_WEIGHT}`,
    );
  return { key, weight };
}

/** Keys are this many lanes apart: a pool has at most 200 slots. */
const LANES_OF_KEY = 1_024;
/** A key has one lane for so many of the pool's: ends of one moment take from different ones. */
const POOL_LANES_PER_LANE = 8;

/** A lane for a work: at random, of its key's. @param lanes how many the pool has without keys. */
export function randomLane({ fair }: Pick<Work, "fair">, lanes: number): number {
  return firstLaneOf(fair?.key) + Math.floor(Math.random() * lanesOf(fair, lanes));
}

const lanesOf = (fair: Fair | undefined, lanes: number): number =>
  fair === undefined ? lanes : Math.ceil(lanes / POOL_LANES_PER_LANE);

// Keys that have the same hash share what they get.
const firstLaneOf = (key: string | undefined): number =>
  key === undefined ? 0 : (hashOf(key) + 1) * LANES_OF_KEY;

/** FNV-1a: a whole number below 2^32. */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++)
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193) >>> 0;
  return hash;
}

/** Says whether works with keys may wait: since the gate was closed, one has joined the queue. */
export const isFair = ({ fair }: Gate): boolean => fair === true;

/** A look sees works of so many keys, or of as many as there are slots to fill. */
const KEYS_SEEN = 8;
/** So many slots are read for each slot to fill, to see what the keys hold. */
const SLOTS_READ = 3;
export const fairlyArgs = {
  /** How many works are wanted. */
  count: v.number(),
  /** How many lanes the queue has without keys, and how many slots there are. */
  lanes: v.number(),
  slots: v.number(),
  /** The key that had the slot last: the one after it comes first. Absent if that had none. */
  after: v.optional(v.string()),
  /** It is asked whether few wait. Default: it is not. */
  tells: v.optional(v.boolean()),
};
export const vFairly = v.object({
  /** The works that are wanted, in their order, and then others that were seen. */
  rows: v.array(v.id("waiting")),
  /** Says whether few works wait, as far as was seen. */
  areFew: v.boolean(),
});

type Row = Doc<"waiting">;
interface Key {
  readonly first: Row;
  readonly weight: number;
  held: number;
  /** Its works that are to start, and whether these are all that it has. */
  rows: Row[];
  isWhole: boolean;
}

/** Works for free slots, so that each key gets its share. Read it from a stale snapshot. */
export async function lookFairly(
  ctx: HostQueryCtx,
  { count, lanes, slots, after, tells }: ObjectType<typeof fairlyArgs>,
): Promise<Infer<typeof vFairly>> {
  const most = Math.max(KEYS_SEEN, count);
  const firsts = await oneOfEach(ctx, after, most);
  const each = Math.max(1, Math.floor((SLOTS_READ * count) / Math.max(1, firsts.length)));
  const keys: Key[] = [];
  for (const first of firsts) {
    const { key, weight = 1 } = first.fair ?? {};
    const held = await heldBy(ctx, key, slots, each);
    keys.push({ first, weight, held, rows: [], isWhole: false });
  }
  for (let left = count; left > 0;) {
    const open = keys
      .filter(({ isWhole }) => !isWhole)
      .map((key) => ({ ...key, key, held: key.held + key.rows.length, left: Infinity }));
    const shares = new Map<Key, number>();
    for (const { key } of inTurn(open, left)) shares.set(key, (shares.get(key) ?? 0) + 1);
    if (shares.size === 0) break;
    for (const [key, share] of shares) {
      const had = key.rows.length;
      key.rows = await worksOf(ctx, key.first.fair, lanes, had + share);
      key.isWhole = key.rows.length < had + share;
      left -= key.rows.length - had;
    }
  }
  const owners = keys.map((key) => ({ ...key, inLine: [...key.rows], left: key.rows.length }));
  const wanted = inTurn(owners, count).map(({ inLine }) => inLine.shift()!);
  const others = keys.toSorted(byShare).map(({ first }) => first);
  const rows = [...new Set([...wanted, ...others].map(({ _id }) => _id))];
  return { rows, areFew: tells === true && (await seemFew(ctx, keys, lanes)) };
}

/** Says whether an end should leave the works to a drain. The key that holds most has most. */
async function seemFew(ctx: HostQueryCtx, keys: readonly Key[], lanes: number): Promise<boolean> {
  const left = KEYS_SEEN - keys.length;
  const deepest = keys.toSorted(byShare).at(-1);
  if (deepest === undefined || left <= 0) return deepest === undefined;
  return (await worksOf(ctx, deepest.first.fair, lanes, left + 1)).length <= left;
}

/** One work of each of so many keys: of those after this one, all around, and of it as the last. */
async function oneOfEach(ctx: HostQueryCtx, after: string | undefined, most: number) {
  const waiting: QueryInitializer<PoolDataModel["waiting"]> = ctx.db.query("waiting");
  const first = async (from: number | undefined, to: number) =>
    await waiting.withIndex("by_lane", (q) => q.gte("lane", from).lt("lane", to)).first();
  const rows: Row[] = [];
  const begin = firstLaneOf(after) + LANES_OF_KEY;
  for (const [from, to] of [
    [begin, Infinity],
    // Rows of an earlier version have no lane.
    [undefined, begin],
  ] as const)
    for (let next: number | undefined = from; rows.length < most;) {
      const row = await first(next, to);
      if (row === null) break;
      rows.push(row);
      next = firstLaneOf(row.fair?.key) + LANES_OF_KEY;
    }
  return rows;
}

/**
 * How many slots a key holds: exactly if these are fewer than `most`, else as far as the ones from
 * a random number on tell.
 */
async function heldBy(ctx: HostQueryCtx, key: string | undefined, slots: number, most: number) {
  const slotsOf: QueryInitializer<PoolDataModel["slots"]> = ctx.db.query("slots");
  const begin = Math.floor(Math.random() * slots);
  const of = (from: number, to: number) =>
    slotsOf.withIndex("by_fair", (q) => q.eq("fair", key).gte("number", from).lt("number", to));
  const seen: Doc<"slots">[] = await of(begin, slots).take(most);
  if (seen.length < most) seen.push(...(await of(0, begin).take(most - seen.length)));
  const held = seen.filter(({ work }) => work !== undefined).length;
  const last = seen.at(-1);
  if (seen.length < most || last === undefined) return held;
  const span = ((last.number - begin + slots) % slots) + 1;
  return Math.max(held, (held * slots) / span);
}

/** So many works of a key, of its lanes from a random one on, in their order in each. */
async function worksOf(ctx: HostQueryCtx, fair: Fair | undefined, lanes: number, most: number) {
  const first = firstLaneOf(fair?.key);
  const begin = first + Math.floor(Math.random() * lanesOf(fair, lanes));
  const of = (from: number | undefined, to: number) =>
    ctx.db.query("waiting").withIndex("by_lane", (q) => q.gte("lane", from).lt("lane", to));
  // Rows of an earlier version have no lane: they are the first of the first one.
  const lowest = first === 0 ? undefined : first;
  const rows: Row[] = await of(begin === 0 ? undefined : begin, first + LANES_OF_KEY).take(most);
  if (rows.length < most && begin > first)
    rows.push(...(await of(lowest, begin).take(most - rows.length)));
  return rows;
}

type Share = Pick<Key, "held" | "weight">;

/** Fewest slots per weight first; with as many, they keep their order. */
const byShare = (one: Share, other: Share): number =>
  one.held / one.weight - other.held / other.weight;

/** Whose each of so many slots is. A key gets none beyond what is `left`, and holds what it gets. */
function inTurn<Of extends Share & { left: number }>(keys: readonly Of[], count: number): Of[] {
  const turns: Of[] = [];
  while (turns.length < count) {
    const open = keys.filter(({ left }) => left > 0);
    if (open.length === 0) break;
    const next = open.reduce((one, other) => (byShare(other, one) < 0 ? other : one));
    next.held += 1;
    next.left -= 1;
    turns.push(next);
  }
  return turns;
}
