import { type Infer, v } from "convex/values";
import { MAX_PARALLELISM_LIMIT } from "../gate.js";
import { inForce, type Limited, ownPause, POOL, type Which } from "./overrides.js";

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
});
export const vLimits = v.record(v.string(), vLimit);

/** How many works of a limit run at once: in all (`total`), of each key (`perKey`), or both. */
export type Limit = Infer<typeof vLimit>;
export type Limits = Infer<typeof vLimits>;

/** What a work says of its limits: the key, or `true` for a limit that takes none. */
export type LimitKeys = Readonly<Record<string, string | true | undefined>>;

/** What a work may say of these limits. */
export type KeysOf<Defined extends Limits> = [keyof Defined] extends [never]
  ? Readonly<Record<string, never>>
  : { readonly [Name in keyof Defined]?: KeyOf<Defined[Name]> };

type KeyOf<Of extends Limit> = Of extends { perKey: number }
  ? string
  : "perKey" extends keyof Of
    ? string | true
    : true;

/** A limit is a field of the gate: a name of letters is allowed there, and needs no quotes. */
const NAME = /^[A-Za-z][A-Za-z0-9_]{0,63}$/;
/** A key is part of index entries, and shown in messages. */
const LONGEST_KEY = 256;
/** A start looks at the permits of each of its limits. */
const MOST_OF_A_WORK = 8;
/** The gate holds them, and each enqueue reads that. */
const MOST_LIMITS = 100;

/** @throws if a name or a number is not allowed. */
export function checkLimits(limits: Limits): void {
  const entries = Object.entries(limits);
  if (entries.length > MOST_LIMITS)
    throw new Error(`There are ${entries.length} limits: a pool has at most ${MOST_LIMITS}`);
  for (const [name, limit] of entries) {
    if (!NAME.test(name))
      throw new Error(
        `The limit "${name}" has no valid name: use a letter, then letters, digits and "_", 64 in all`,
      );
    if (name === POOL)
      throw new Error(`A limit cannot be called "${POOL}": that is the limit of the whole pool`);
    const { total, perKey } = limit;
    if (total === undefined && perKey === undefined)
      throw new Error(`The limit "${name}" limits nothing: give it total, perKey or both`);
    checkNumbers(name, { total, perKey });
  }
}

/** @throws if one is given that is no whole number above 0. */
export function checkNumbers(name: string, { total, perKey }: Limit): void {
  for (const [field, value] of Object.entries({ total, perKey }))
    if (value !== undefined && !(Number.isSafeInteger(value) && value > 0))
      throw new Error(
        `The ${field} of the limit "${name}" is ${value}: it must be a whole number above 0`,
      );
}

/** The names of the permits that a work needs, in order. @throws if a name or key is not valid. */
export function permitsFor(keys: LimitKeys, limits: Limits = {}): string[] | undefined {
  if (Array.isArray(keys))
    throw new Error("limits is a list: write an object, such as { exports: true, tenant: key }");
  const names = Object.keys(keys).filter((name) => keys[name] !== undefined);
  if (names.length > MOST_OF_A_WORK)
    throw new Error(`limits has ${names.length} names: a work has at most ${MOST_OF_A_WORK}`);
  const permits = names.toSorted().flatMap((name) => permitsOf(name, keys[name]!, limits));
  return permits.length === 0 ? undefined : permits;
}

/** @throws if it is no key. */
export function checkKey(name: string, key: unknown): void {
  if (typeof key === "string" && key.length > 0 && key.length <= LONGEST_KEY) return;
  throw new Error(
    `The limit "${name}" needs a key, a text of 1 to ${LONGEST_KEY} characters: ${shown(key)} was given`,
  );
}

function permitsOf(name: string, key: string | true, limits: Limits): string[] {
  const limit = knownLimit(name, limits);
  if (limit.perKey === undefined) {
    if (key === true) return [name];
    throw new Error(`The limit "${name}" takes no key: it has no perKey. Give true`);
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

function shown(key: unknown): string {
  return typeof key === "string" ? `one of ${key.length}` : String(key);
}

/** The limit of a permit, and its key. */
export function whichOf(permit: string): Which {
  const at = permit.indexOf(":");
  return at === -1 ? { name: permit } : { name: permit.slice(0, at), key: permit.slice(at + 1) };
}

/** How many permits of a name there are. No limit that has been removed holds anybody up. */
export function limitOf(gate: Limited, permit: string): number {
  const which = whichOf(permit);
  const asked = gate.limits?.[which.name];
  if (asked === undefined) return Infinity;
  if (ownPause(gate, which) !== undefined) return 0;
  const of = inForce(gate, asked, which)[which.key === undefined ? "total" : "perKey"];
  // No pool runs more at once.
  return of === undefined ? Infinity : Math.min(of, MAX_PARALLELISM_LIMIT);
}
