import { isSeat } from "../ahead.js";
import { compareValues, v } from "convex/values";
import type { Doc, Gate, HostQueryCtx, Slot } from "../context.js";
import { MAX_PARALLELISM_LIMIT, readGate } from "../gate.js";
import { findBucket, rateOf } from "./buckets.js";
import type { ListedLimit, SeenLimit } from "./client.js";
import { configuredOf } from "../parallelism.js";
import { type Limit, permitOfRate, vLimit, whichOf } from "./limits.js";
import { inForce, numbersOf, type Override, pauseOf, POOL, type Which } from "./overrides.js";
import { fullAtOf, leftOf, paceOf } from "./rate.js";

const vSaid = { by: v.optional(v.string()), at: v.number(), until: v.optional(v.number()) };

/** The fields of a {@link SeenLimit}. */
const seenFields = {
  name: v.string(),
  key: v.optional(v.string()),
  running: v.number(),
  waiting: v.number(),
  waitingIsAtLeast: v.boolean(),
  oldest: v.optional(v.number()),
  left: v.optional(v.number()),
  ...vLimit.fields,
  asked: vLimit,
  origin: v.union(v.literal("code"), v.literal("config"), v.literal("override")),
  override: v.optional(v.object({ ...vLimit.fields, ...vSaid })),
  paused: v.optional(v.object(vSaid)),
};
export const vSeenLimit = v.object(seenFields);
export const vListedLimit = v.object({ ...seenFields, keys: v.array(vSeenLimit) });

/** How many lines and works that wait are read. */
const MOST_READ = 100;
/** … and of all limits together. */
const MOST_OF_ALL = 1_000;

/**
 * What there is of a limit or a key; null if it is not known.
 * @throws if a key is given, and the limit takes none.
 */
export async function seeLimit(ctx: HostQueryCtx, which: Which): Promise<SeenLimit | null> {
  const gate = await readGate(ctx);
  if (gate === null || !isKnown(gate, which.name)) return null;
  const limit: Limit | undefined = which.name === POOL ? {} : gate.limits?.[which.name];
  if (which.key !== undefined && limit !== undefined && limit.perKey === undefined)
    throw new Error(`The limit "${which.name}" takes no key`);
  if (which.name === POOL) return await seePool(ctx, gate);
  const facts = factsOf(gate, which, (await usesOf(ctx, which, MOST_READ)).all);
  return { ...facts, left: await leftIn(ctx, gate, which) };
}

/**
 * How many may start at once by the rate of a limit; undefined without, or if keys have their own.
 */
async function leftIn(ctx: HostQueryCtx, gate: Gate, { name, key }: Which) {
  const permit = key === undefined ? name : `${name}:${key}`;
  const rate = rateOf(gate, permit);
  const hasOwn = key === undefined && gate.limits?.[name]?.perKey !== undefined;
  if (rate === undefined || hasOwn) return undefined;
  const [pace, now] = [paceOf(rate), Date.now()];
  return leftOf(pace, fullAtOf(pace, await findBucket(ctx, permit), now), now);
}

/** What there is of all limits, of the pool itself first. */
export async function listLimits(ctx: HostQueryCtx): Promise<ListedLimit[]> {
  const gate = await readGate(ctx);
  if (gate === null) return [];
  const said = (gate.overrides ?? []).filter(({ name }) => name !== POOL);
  const names = new Set([...Object.keys(gate.limits ?? {}), ...said.map(({ name }) => name)]);
  const most = Math.min(MOST_READ, Math.floor(MOST_OF_ALL / names.size));
  const listed: ListedLimit[] = [{ ...(await seePool(ctx, gate)), keys: [] }];
  for (const name of names) {
    const { all, byKey } = await usesOf(ctx, { name }, most);
    for (const { key } of said.filter((each) => each.name === name))
      if (key !== undefined && !byKey.has(key)) byKey.set(key, new Uses());
    const keys = [...byKey].map(([key, uses]) => factsOf(gate, { name, key }, uses));
    listed.push({ ...factsOf(gate, { name }, all), left: await leftIn(ctx, gate, { name }), keys });
  }
  return listed;
}

class Uses {
  readonly works = new Set<string>();
  waiting = 0;
  isAtLeast = false;
  oldest: number | undefined;

  wait(since: number): void {
    this.waiting += 1;
    this.oldest = Math.min(this.oldest ?? Infinity, Math.floor(since));
  }
}

const isKnown = ({ limits = {}, overrides = [] }: Gate, wanted: string): boolean =>
  wanted === POOL || Object.hasOwn(limits, wanted) || overrides.some(({ name }) => name === wanted);

/** Who runs, and who waits for a permit of it: of a limit, also those of its keys. */
async function usesOf(ctx: HostQueryCtx, { name, key }: Which, most: number) {
  const all = new Uses();
  const byKey = new Map<string, Uses>();
  const using = (permit: string): Uses[] => {
    const of = whichOf(permit).key;
    if (of === undefined || key !== undefined) return [all];
    const uses = byKey.get(of) ?? new Uses();
    byKey.set(of, uses);
    return [all, uses];
  };
  // The next text after it, and the texts that begin with the name and a colon.
  const own = key === undefined ? name : `${name}:${key}`;
  const ranges: (readonly [string, string])[] = [own, permitOfRate(own)].map(
    (each) => [each, `${each}\0`] as const,
  );
  if (key === undefined)
    for (const each of [name, permitOfRate(name)]) ranges.push([`${each}:`, `${each};`]);
  let left = most;
  for (const [from, to] of ranges) {
    const permits: Doc<"permits">[] = await ctx.db
      .query("permits")
      .withIndex("by_name", (q) => q.gte("name", from).lt("name", to))
      .take(MAX_PARALLELISM_LIMIT);
    for (const permit of permits)
      for (const uses of using(permit.name)) uses.works.add(permit.work);
    const lines: Doc<"lines">[] = await ctx.db
      .query("lines")
      .withIndex("by_blocked", (q) => q.gte("blockedBy", from).lt("blockedBy", to))
      .take(most);
    if (lines.length === most) all.isAtLeast = true;
    for (const { line, blockedBy } of lines) {
      const rows: Doc<"limited">[] = await ctx.db
        .query("limited")
        .withIndex("by_line", (q) => q.eq("line", line))
        .take(left + 1);
      const of = using(blockedBy);
      for (const row of rows.slice(0, left)) for (const uses of of) uses.wait(row._creationTime);
      if (rows.length > left) for (const uses of of) uses.isAtLeast = true;
      left = Math.max(0, left - rows.length);
    }
  }
  return { all, byKey };
}

const saidBy = ({ by, at, until }: Override) => ({ by, at, until });

function factsOf(gate: Gate, { name, key }: Which, uses: Uses): SeenLimit {
  const ofKey = ({ total, perKey, rate, unit }: Limit): Limit =>
    key === undefined ? { total, perKey, rate, unit } : { perKey, rate, unit };
  const stored = gate.limits?.[name] ?? {};
  const asked = ofKey(gate.asked?.limits?.[name] ?? {});
  const numbers = numbersOf(gate, { name, key });
  const pause = pauseOf(gate, { name, key });
  const isAsked = compareValues(ofKey(stored), asked) === 0;
  return {
    name,
    key,
    running: uses.works.size,
    waiting: uses.waiting,
    waitingIsAtLeast: uses.isAtLeast,
    oldest: uses.oldest,
    ...ofKey(inForce(gate, stored, { name, key })),
    maxWaiting: stored.maxWaiting,
    asked,
    origin: numbers !== undefined ? "override" : isAsked ? "code" : "config",
    override: numbers && { ...ofKey(numbers), ...saidBy(numbers) },
    paused: pause && saidBy(pause),
  };
}

async function seePool(ctx: HostQueryCtx, gate: Gate): Promise<SeenLimit> {
  const slots: Slot[] = await ctx.db
    .query("slots")
    .withIndex("by_work", (q) => q.gt("work", undefined))
    .collect();
  const queue: Doc<"waiting">[] = await ctx.db
    .query("waiting")
    .withIndex("by_commit")
    .take(MOST_READ + 1);
  const [numbers, pause] = [numbersOf(gate, { name: POOL }), pauseOf(gate, { name: POOL })];
  const configured = configuredOf(gate);
  const asked = gate.asked?.maxParallelism;
  const isAsked = asked === undefined || asked === configured;
  return {
    name: POOL,
    running: slots.filter((slot) => !isSeat(slot)).length,
    waiting: Math.min(queue.length, MOST_READ),
    waitingIsAtLeast: queue.length > MOST_READ,
    oldest: queue[0] && Math.floor(queue[0]._creationTime),
    total: numbers?.total ?? configured,
    asked: { total: asked },
    origin: numbers !== undefined ? "override" : isAsked ? "code" : "config",
    override: numbers && { total: numbers.total, ...saidBy(numbers) },
    paused: pause && saidBy(pause),
  };
}
