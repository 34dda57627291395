import { v } from "convex/values";
import { applyConfig, type Config, vConfig } from "../config.js";
import type { Gate, Host, HostCtx } from "../context.js";
import { ensureGate, MAX_PARALLELISM_LIMIT, readGate } from "../gate.js";
import { applyOverrides } from "../parallelism.js";
import {
  checkKey,
  checkNumbers,
  knownLimit,
  type Limit,
  type Limits,
  LONGEST_KEY,
  MOST_IN_GATE,
} from "./limits.js";
import { ringAllLines } from "./lines.js";
import { HALF_PAIR, wellFormed } from "../result.js";
import { YEAR_MS } from "../times.js";
import { checkRate } from "./rate.js";
import {
  isPause,
  type Override,
  overrideFields,
  pauseFields,
  POOL,
  vWhich,
  type Which,
} from "./overrides.js";

/** What the class asks for: it may know limits that no start has told of yet. */
const ofClass = { config: v.optional(vConfig) };
export const pauseArgs = { ...pauseFields, ...ofClass };
export const overrideArgs = { ...overrideFields, ...ofClass };
export const endArgs = { ...vWhich, ...ofClass };

interface Given extends Which, Limit {
  until?: number;
  by?: string;
}
interface OfClass {
  config?: Config;
}
type Asking = Given & OfClass;
type Ending = Which & OfClass;

/** Puts other numbers in force for a limit or a key. @throws if the limit has no such number. */
export async function overrideLimit(
  ctx: HostCtx,
  host: Host,
  { config = {}, ...given }: Asking,
): Promise<void> {
  if (isPause(given))
    throw new Error(
      `An override of the limit "${given.name}" says nothing: give total, perKey or rate. To stop works, use pause`,
    );
  await say(ctx, host, config, given);
}

/** Starts no work of a limit or a key. Running works go on. */
export async function pauseLimit(
  ctx: HostCtx,
  host: Host,
  { config = {}, ...given }: Asking,
): Promise<void> {
  await say(ctx, host, config, given);
}

export async function resumeLimit(ctx: HostCtx, host: Host, asked: Ending): Promise<void> {
  await end(ctx, host, asked, isPause);
}

/** Has the numbers of the code hold again. A pause stays. */
export async function resetLimit(ctx: HostCtx, host: Host, asked: Ending): Promise<void> {
  await end(ctx, host, asked, (each) => !isPause(each));
}

/** @throws if there is no such limit. One that the code has no more may still be overridden. */
async function end(
  ctx: HostCtx,
  host: Host,
  { config, ...which }: Ending,
  isMeant: (each: Override) => boolean,
): Promise<void> {
  const { limits, overrides = [] } = (await readGate(ctx)) ?? {};
  const { name } = which;
  const isKnown = name === POOL || overrides.some((each) => each.name === name);
  if (!isKnown) knownLimit(name, { ...limits, ...config?.limits });
  await keep(ctx, host, (each) => !(isSame(each, which) && isMeant(each)));
}

/** Ends what was said until now at the latest. @returns the gate as it is then. */
export async function endOverrides(ctx: HostCtx, host: Host): Promise<Gate | null> {
  const now = Date.now();
  return await keep(ctx, host, ({ until = Infinity }) => until > now);
}

const isSame = (each: Which, { name, key }: Which) => each.name === name && each.key === key;

async function say(ctx: HostCtx, host: Host, config: Config, given: Given): Promise<void> {
  await applyConfig(ctx, host, config);
  const { limits, overrides = [] } = await ensureGate(ctx);
  check(given, limits);
  // The clock has whole ms: what ends it would come before a fraction of one is over.
  const until = given.until && Math.ceil(given.until);
  const others = overrides.filter(
    (each) => !isSame(each, given) || isPause(each) !== isPause(given) || each.isHold === true,
  );
  const said = others.filter(({ isHold }) => isHold !== true);
  if (said.length >= MOST_IN_GATE)
    throw new Error(
      `There are ${said.length} overrides and pauses of limits: a pool has at most ${MOST_IN_GATE}`,
    );
  const ends = until === undefined ? {} : { until };
  await put(ctx, host, [...others, { ...given, ...ends, at: Date.now() }]);
  if (until !== undefined) await ctx.scheduler.runAt(until, host.functions.endOverrides, {});
}

/** @throws if there is no such limit, key or number. */
function check({ name, key, total, perKey, rate, until, by }: Given, limits?: Limits): void {
  const limit: Limit = name === POOL ? { total: MAX_PARALLELISM_LIMIT } : knownLimit(name, limits);
  if (key !== undefined) checkKey(name, key);
  const isKeyed = limit.perKey !== undefined;
  if (key !== undefined && !isKeyed) throw new Error(`The limit "${name}" takes no key`);
  if (key !== undefined && total !== undefined)
    throw new Error(`The limit "${name}" has a total in all, and not of a key: give perKey`);
  if ((perKey !== undefined && !isKeyed) || (total !== undefined && limit.total === undefined))
    throw new Error(
      `The limit "${name}" has no ${perKey !== undefined && !isKeyed ? "perKey" : "total"} that could be overridden`,
    );
  if (rate !== undefined && limit.rate === undefined)
    throw new Error(`The limit "${name}" has no rate that could be overridden`);
  if (rate !== undefined) checkRate(name, rate);
  checkNumbers(name, { total, perKey });
  if (name === POOL && (total ?? 0) > MAX_PARALLELISM_LIMIT)
    throw new Error(`${POOL} is at most ${MAX_PARALLELISM_LIMIT}: ${total} was given`);
  if (until !== undefined && !(Number.isFinite(until) && until > Date.now()))
    throw new Error(`until of the limit "${name}" is ${until}: it must be a time that is to come`);
  if (until !== undefined && until > Date.now() + YEAR_MS)
    throw new Error(`until of the limit "${name}" is ${until}: it must be within a year`);
  if (by !== undefined && by.length > LONGEST_KEY)
    throw new Error(`by has ${by.length} characters: ${LONGEST_KEY} are the most`);
  if (by !== undefined && wellFormed(by) !== by) throw new Error(`by has ${HALF_PAIR}`);
}

async function keep(ctx: HostCtx, host: Host, stays: (each: Override) => boolean) {
  const gate = await readGate(ctx);
  const { overrides = [] } = gate ?? {};
  const left = overrides.filter(stays);
  return left.length < overrides.length ? await put(ctx, host, left) : gate;
}

/** Works that run, run on; those that have waited for what is free now begin. */
async function put(ctx: HostCtx, host: Host, left: readonly Override[]): Promise<Gate | null> {
  const overrides = left.length === 0 ? undefined : [...left];
  await ctx.db.patch("gate", (await ensureGate(ctx))._id, { overrides });
  await applyOverrides(ctx, host, await ensureGate(ctx));
  const gate = await readGate(ctx);
  await ringAllLines(ctx, host);
  return gate;
}
