import { type Infer, v } from "convex/values";
import type { Doc, Gate, HostQueryCtx, QueryCtx } from "../context.js";
import { readGate } from "../gate.js";
import { findBucket, rateOf, spentBy } from "./buckets.js";
import { isRate, limitOf, permitOfRate, whichOf } from "./limits.js";
import { findLine, limitedRow, permitsIn } from "./lines.js";
import { ownPause } from "./overrides.js";
import { fullAtOf, leftOf, mayStartAt, paceOf } from "./rate.js";

/** How many works that come before one are counted, and how many that run. */
const MOST_COUNTED = 200;

export const vWaitsFor = v.object({
  limit: v.string(),
  key: v.optional(v.string()),
  /** How many run that hold it, and how many may: 0 while it is paused. */
  running: v.number(),
  atMost: v.number(),
  /**
   * Its place among those with the same limits and keys, also of fairness, from 1; 201 if more than
   * 200 come first.
   */
  place: v.number(),
  /** Its key of fairness. Works of other keys go on by turns with those of this one. */
  fairness: v.optional(v.string()),
  /**
   * If its rate is used up: when the next may start. Then `running` is how many of the burst are
   * used.
   */
  nextAt: v.optional(v.number()),
  /** If the limit or the key is paused, or held: by whom, and until when. */
  paused: v.optional(v.object({ by: v.optional(v.string()), until: v.optional(v.number()) })),
  /** When it fails if it still waits, in ms since the epoch. Default: never. */
  until: v.optional(v.number()),
});
/** What a work waits for that one of its limits keeps back. */
export type WaitsFor = Infer<typeof vWaitsFor>;

/**
 * Returns what a work waits for: a pause of one of its limits; else as its line was looked at last.
 * Undefined if it waits for no limit.
 */
export async function waitsForLimit(
  ctx: HostQueryCtx,
  work: string,
): Promise<WaitsFor | undefined> {
  const row = await limitedRow(ctx, work);
  const line = row === null ? null : await findLine(ctx, row.line);
  const gate = line === null ? null : await readGate(ctx);
  if (row === null || line === null || gate === null) return undefined;
  const { line: permits } = line;
  const pause = pauseOfLine(gate, permitsIn(line));
  // What else was full then has room again before a pause ends.
  const blockedBy = pause?.of ?? line.blockedBy;
  const uses = await usesOf(ctx, gate, blockedBy, row);
  // The limit was removed a moment ago.
  if (uses === undefined) return undefined;
  const queries: QueryCtx["db"] = ctx.db;
  // Those that came in one transaction are in the order of their rows.
  const upToOwn = await queries
    .query("limited")
    .withIndex("by_line", (q) => q.eq("line", permits).lte("at", row.at))
    .take(MOST_COUNTED);
  const at = upToOwn.findIndex(({ _id }) => _id === row._id);
  const place = (at === -1 ? upToOwn.length : at) + 1;
  const { name: limit, key } = whichOf(blockedBy);
  const fairness = row.fair?.key;
  return {
    limit,
    key,
    ...uses,
    place,
    fairness,
    paused: pause?.paused,
    until: await untilOf(ctx, row),
  };
}

type Paused = NonNullable<WaitsFor["paused"]>;

/** Returns the pause that keeps a line back the longest, and the permit that is paused. */
function pauseOfLine(
  gate: Gate,
  permits: readonly string[],
): { of: string; paused: Paused } | undefined {
  const endOf = ({ until = Infinity }: Paused) => until;
  return permits
    .flatMap((permit) => {
      const isStopped = limitOf(gate, permit) === 0;
      const { by, until } = (isStopped ? ownPause(gate, whichOf(permit)) : undefined) ?? {};
      return isStopped ? [{ of: permit, paused: { by, until } }] : [];
    })
    .toSorted((one, other) => endOf(other.paused) - endOf(one.paused))[0];
}

async function untilOf(ctx: HostQueryCtx, { wait }: Doc<"limited">): Promise<number | undefined> {
  const row: Doc<"waits"> | null = wait === undefined ? null : await ctx.db.get("waits", wait);
  return row?.until;
}

type Uses = Pick<WaitsFor, "running" | "atMost" | "nextAt">;

/** Returns how much of a permit, or of a rate, is used; undefined if there is no such limit. */
async function usesOf(
  ctx: HostQueryCtx,
  gate: Gate,
  blockedBy: string,
  row: Doc<"limited">,
): Promise<Uses | undefined> {
  if (isRate(blockedBy)) return await usesOfRate(ctx, gate, permitOfRate(blockedBy, false), row);
  const atMost = limitOf(gate, blockedBy);
  if (atMost === Infinity) return undefined;
  const queries: QueryCtx["db"] = ctx.db;
  const held = await queries
    .query("permits")
    .withIndex("by_name", (q) => q.eq("name", blockedBy))
    .take(MOST_COUNTED);
  return { running: held.length, atMost };
}

async function usesOfRate(
  ctx: HostQueryCtx,
  gate: Gate,
  name: string,
  row: Doc<"limited">,
): Promise<Uses | undefined> {
  const rate = rateOf(gate, name);
  if (rate === undefined) return undefined;
  const { cost = 1 } = spentBy(gate, row).find((spent) => spent.name === name) ?? {};
  const [pace, now] = [paceOf(rate), Date.now()];
  const fullAt = fullAtOf(pace, await findBucket(ctx, name), now);
  const running = pace.burst - leftOf(pace, fullAt, now);
  return {
    running,
    atMost: pace.burst,
    nextAt: Math.ceil(Math.max(now, mayStartAt(pace, fullAt, cost))),
  };
}
