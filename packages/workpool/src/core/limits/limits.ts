import { type Infer, v } from "convex/values";
import type { Gate } from "../context.js";
import { MAX_PARALLELISM_LIMIT } from "../gate.js";

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
    const { total, perKey } = limit;
    if (total === undefined && perKey === undefined)
      throw new Error(`The limit "${name}" limits nothing: give it total, perKey or both`);
    for (const [field, value] of Object.entries({ total, perKey }))
      if (value !== undefined && !(Number.isSafeInteger(value) && value > 0))
        throw new Error(
          `The ${field} of the limit "${name}" is ${value}: it must be a whole number above 0`,
        );
  }
}

/** The names of the permits that a work needs, in order. @throws if a name or key is not valid. */
export function permitsFor(keys: LimitKeys, limits: Limits = {}): string[] | undefined {
  const names = Object.keys(keys).filter((name) => keys[name] !== undefined);
  if (names.length > MOST_OF_A_WORK)
    throw new Error(`limits has ${names.length} names: a work has at most ${MOST_OF_A_WORK}`);
  const permits = names.toSorted().flatMap((name) => permitsOf(name, keys[name]!, limits));
  return permits.length === 0 ? undefined : permits;
}

function permitsOf(name: string, key: string | true, limits: Limits): string[] {
  const limit = Object.hasOwn(limits, name) ? limits[name] : undefined;
  if (limit === undefined) {
    const known = Object.keys(limits).map((each) => `"${each}"`);
    const are = known.length === 0 ? "no limits are defined" : `the limits are ${known.join(", ")}`;
    throw new Error(`There is no limit "${name}": ${are}`);
  }
  if (limit.perKey === undefined) {
    if (key === true) return [name];
    throw new Error(`The limit "${name}" takes no key: it has no perKey. Give true`);
  }
  if (typeof key !== "string" || key.length === 0 || key.length > LONGEST_KEY)
    throw new Error(
      `The limit "${name}" needs a key, a text of 1 to ${LONGEST_KEY} characters: ${shown(key)} was given`,
    );
  return [name, `${name}:${key}`];
}

function shown(key: unknown): string {
  return typeof key === "string" ? `one of ${key.length}` : String(key);
}

/** The limit that a permit is named by, and its key if it has one. */
export function partsOfPermit(permit: string): { limit: string; key?: string } {
  const at = permit.indexOf(":");
  return at === -1 ? { limit: permit } : { limit: permit.slice(0, at), key: permit.slice(at + 1) };
}

/** How many permits of a name there are. No limit that has been removed holds anybody up. */
export function limitOf({ limits = {} }: Pick<Gate, "limits">, permit: string): number {
  const at = permit.indexOf(":");
  const of = at === -1 ? limits[permit]?.total : limits[permit.slice(0, at)]?.perKey;
  // No pool runs more at once.
  return of === undefined ? Infinity : Math.min(of, MAX_PARALLELISM_LIMIT);
}
