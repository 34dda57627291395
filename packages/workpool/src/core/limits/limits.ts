import { type Infer, v } from "convex/values";
import { MAX_PARALLELISM_LIMIT } from "../gate.js";
import { checkFields, isText } from "../given.js";
import { isPlain, literalText } from "../literal.js";
import { HALF_PAIR, wellFormed } from "../result.js";
import { inForce, type Limited, ownPause, POOL, type Which } from "./overrides.js";
import { checkRate, vRate } from "./rate.js";

/*
 * A limit has a name, and says how many works run at once that name it: in all, or of each key. A
 * work takes a permit of each of its limits in the transaction that gives it a slot, and gives them
 * back with the slot. A permit is named by its limit, `exports`, or with the key, `tenant:acme`.
 */

export const vLimit = v.object({
  /** How many works of the limit run at once. Default: as many as there are slots. */
  total: v.optional(v.number()),
  /** How many works of each key run at once. Default: the limit takes no keys. */
  perKey: v.optional(v.number()),
  /** How many works start in a time; with `perKey`, of each key. Default: as many as may run. */
  rate: v.optional(vRate),
  /**
   * How many works wait for it at most; of a limit with keys, for each key. Default: any number.
   */
  maxWaiting: v.optional(v.number()),
  /** What the rate counts, such as `"tokens"`: works say how many. Default: it counts starts. */
  unit: v.optional(v.string()),
});
export const vLimits = v.record(v.string(), vLimit);

/** How many works of a limit run at once, in all or of each key, and how many start in a time. */
export type Limit = Infer<typeof vLimit>;
export type Limits = Infer<typeof vLimits>;

/** What a work says of a limit with a `unit`. */
export interface Budget {
  /** How much it will probably use. Its start takes that much. */
  readonly estimate: number;
  /**
   * The path in its result to how much it used: `"usage.totalTokens"`. Default: the estimate stays.
   */
  readonly spend?: string;
  /** Its key, for a limit with `perKey`. */
  readonly key?: string;
}

/** What a work says of its limits: the key, or `true` for a limit that takes none; or a budget. */
export type LimitKeys = Readonly<Record<string, string | true | Budget | undefined>>;

/** What a work may say of these limits. */
export type KeysOf<Defined extends Limits> = [keyof Defined] extends [never]
  ? Readonly<Record<string, never>>
  : { readonly [Name in keyof Defined]?: KeyOf<Defined[Name]> };

type KeyOf<Of extends Limit> = Of extends { unit: string }
  ? Budget
  : Of extends { perKey: number }
    ? string
    : "perKey" extends keyof Of
      ? string | true
      : true;

/** A limit is a field of the gate: a name of letters is allowed there, and needs no quotes. */
const NAME = /^[A-Za-z][A-Za-z0-9_]{0,63}$/;
/** A key is part of index entries, and shown in messages. So is who overrides a limit. */
export const LONGEST_KEY = 256;
/** A start that has to wait counts those that do. */
const MOST_WAITING = 1_000;
/** A start looks at the permits of each of its limits. */
const MOST_OF_A_WORK = 8;
/** The gate holds limits, overrides and holds, so many of each, and each enqueue reads that. */
export const MOST_IN_GATE = 100;

/** @throws if a name or a number is not allowed. */
export function checkLimits(limits: Limits): void {
  checkObject("limits", limits);
  const entries = Object.entries(limits);
  if (entries.length > MOST_IN_GATE)
    throw new Error(`There are ${entries.length} limits: a pool has at most ${MOST_IN_GATE}`);
  for (const [name, limit] of entries) {
    if (!NAME.test(name))
      throw new Error(
        `The limit ${literalText(name)} has no valid name: use a letter, then letters, digits and "_", 64 in all`,
      );
    if (name === POOL)
      throw new Error(`A limit cannot be called "${POOL}": that is the limit of the whole pool`);
    checkObject(`The limit "${name}"`, limit);
    checkFields(`The limit "${name}"`, limit, vLimit);
    const { total, perKey, rate, unit, maxWaiting = 0 } = limit;
    if (unit !== undefined && !(isText(unit) && unit !== ""))
      throw new Error(`The unit of the limit "${name}" is ${literalText(unit)}: it must be a text`);
    if (unit !== undefined && rate === undefined)
      throw new Error(`The limit "${name}" has the unit ${unit}, and no rate that counts it`);
    if (total === undefined && perKey === undefined && rate === undefined)
      throw new Error(`The limit "${name}" limits nothing: give it total, perKey or rate`);
    if (rate !== undefined) checkRate(name, rate);
    checkNumbers(name, { total, perKey });
    if (!(Number.isInteger(maxWaiting) && maxWaiting >= 0 && maxWaiting <= MOST_WAITING))
      throw new Error(
        `The maxWaiting of the limit "${name}" is ${literalText(maxWaiting)}: it must be a whole number from 0 to ${MOST_WAITING}`,
      );
  }
}

function checkObject(what: string, given: unknown): void {
  if (!isPlain(given)) throw new Error(`${what} is ${literalText(given)}: it must be an object`);
}

/** @throws if one is given that is no whole number above 0. */
export function checkNumbers(
  name: string,
  { total, perKey }: Pick<Limit, "total" | "perKey">,
): void {
  for (const [field, value] of Object.entries({ total, perKey }))
    if (value !== undefined && !(Number.isSafeInteger(value) && value > 0))
      throw new Error(
        `The ${field} of the limit "${name}" is ${literalText(value)}: it must be a whole number above 0`,
      );
}

/** The names of the permits that a work needs, in order. @throws if a name or key is not valid. */
export function permitsFor(keys: LimitKeys, limits: Limits = {}): string[] | undefined {
  if (!isPlain(keys))
    throw new Error(
      `limits is ${literalText(keys)}: write an object, such as { exports: true, tenant: key }`,
    );
  const names = Object.keys(keys).filter((name) => keys[name] !== undefined);
  if (names.length > MOST_OF_A_WORK)
    throw new Error(`limits has ${names.length} names: a work has at most ${MOST_OF_A_WORK}`);
  const permits = names.toSorted().flatMap((name) => permitsOf(name, keys[name]!, limits));
  return permits.length === 0 ? undefined : permits;
}

/** @throws if it is no key. */
export function checkKey(name: string, key: unknown): void {
  if (typeof key === "string" && wellFormed(key) !== key)
    throw new Error(`The key of the limit "${name}" has ${HALF_PAIR}`);
  if (typeof key === "string" && key.length > 0 && key.length <= LONGEST_KEY) return;
  throw new Error(
    `The limit "${name}" needs a key, a text of 1 to ${LONGEST_KEY} characters: ${shownKey(key)} was given`,
  );
}

function permitsOf(name: string, given: string | true | Budget, limits: Limits): string[] {
  const limit = knownLimit(name, limits);
  if (!isBudget(given)) {
    if (limit.unit === undefined) return permitsOfKey(name, given, limit);
    throw new Error(
      `The limit "${name}" counts ${limit.unit}: give { estimate: 2_000 }, and not ${literalText(given)}`,
    );
  }
  const { estimate, key = true, spend } = given;
  if (limit.unit === undefined) {
    if (limit.perKey !== undefined) checkKey(name, given);
    throw new Error(`The limit "${name}" has no unit: it takes no estimate`);
  }
  if (!(Number.isSafeInteger(estimate) && estimate > 0))
    throw new Error(
      `The estimate for the limit "${name}" is ${literalText(estimate)}: it must be a whole number above 0`,
    );
  if (spend !== undefined && !(isText(spend) && spend !== ""))
    throw new Error(
      `The spend for the limit "${name}" is ${literalText(spend)}: it must say where the result has a number, as "usage.totalTokens"`,
    );
  const permits = permitsOfKey(name, key, limit);
  return [...permits, `${name}${COST}${estimate}${key === true ? "" : `:${key}`}`];
}

const isBudget = (given: string | true | Budget): given is Budget => isPlain(given);

function permitsOfKey(name: string, key: string | true, limit: Limit): string[] {
  if (limit.perKey === undefined) {
    if (key === true) return [name];
    throw new Error(
      `The limit "${name}" takes no key: it has no perKey. Give true, and not ${literalText(key)}`,
    );
  }
  checkKey(name, key);
  return [name, `${name}:${key}`];
}

/** @throws if there is none of that name. */
export function knownLimit(name: string, limits: Limits = {}): Limit {
  const limit = Object.hasOwn(limits, name) ? limits[name] : undefined;
  if (limit !== undefined) return limit;
  const known = Object.keys(limits).map((each) => `"${each}"`);
  const are = known.length === 0 ? "no limits are defined" : `the limits are ${known.join(", ")}`;
  throw new Error(`There is no limit "${name}": ${are}`);
}

/** A key that is refused, without its text. */
export function shownKey(key: unknown): string {
  return typeof key === "string" ? `one of ${key.length}` : literalText(key);
}

/** The limit of a permit, or of what a line waits for, and its key. */
export function whichOf(permit: string): Which {
  const at = permit.indexOf(":");
  const name = (at === -1 ? permit : permit.slice(0, at)).replace(/[%=].*$/, "");
  return at === -1 ? { name } : { name, key: permit.slice(at + 1) };
}

/** Stands between the name of a limit and how much a work takes of it. No name has it. */
const COST = "=";

/**
 * Returns how much a work takes of a limit with a unit: that is no permit. Undefined for a permit.
 */
export function costOf(permit: string): number | undefined {
  const [, cost] = /^\w+=(\d+)/.exec(permit) ?? [];
  return cost === undefined ? undefined : Number(cost);
}

/** Ends the name of a limit where a line waits for its rate. No name of a limit has it. */
const RATE = "%";

/**
 * Returns what a line waits for that waits for the rate of a permit's limit; or that permit, of
 * this.
 */
export function permitOfRate(permit: string, isRate = true): string {
  const { name, key } = whichOf(permit);
  return `${name}${isRate ? RATE : ""}${key === undefined ? "" : `:${key}`}`;
}

export const isRate = (blockedBy: string): boolean => /^\w+%/.test(blockedBy);

/**
 * Returns how many permits of a name there are. No limit that has been removed holds anybody up.
 */
export function limitOf(gate: Limited, permit: string): number {
  const which = whichOf(permit);
  const asked = gate.limits?.[which.name];
  if (asked === undefined || costOf(permit) !== undefined) return Infinity;
  if (ownPause(gate, which) !== undefined) return 0;
  const of = inForce(gate, asked, which)[which.key === undefined ? "total" : "perKey"];
  // No pool runs more at once.
  return of === undefined ? Infinity : Math.min(of, MAX_PARALLELISM_LIMIT);
}
