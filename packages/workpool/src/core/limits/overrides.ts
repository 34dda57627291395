import { v } from "convex/values";
import type { Limit, Limits } from "./limits.js";

/*
 * What an operator says of a limit or of one of its keys, beside what the code says: other numbers,
 * or a pause. The gate holds it, so that whoever starts a work has read it, and nothing is read for
 * it where there is none.
 */

/** Names `maxParallelism` where a limit is named. */
export const POOL = "maxParallelism";

const vBy = {
  /** When it ends by itself, in ms since the epoch. Default: never. */
  until: v.optional(v.number()),
  /** Who has said so. */
  by: v.optional(v.string()),
};
const vNumbers = { total: v.optional(v.number()), perKey: v.optional(v.number()) };

/** Of a limit or, with `key`, of one of its keys. */
export const vWhich = { name: v.string(), key: v.optional(v.string()) };
export const pauseFields = { ...vWhich, ...vBy };
export const overrideFields = { ...pauseFields, ...vNumbers };

export interface Which {
  name: string;
  key?: string | undefined;
}
/** Without numbers it is a pause. Of a limit or a key there is one of each at most. */
export interface Override extends Which, Limit {
  until?: number;
  by?: string;
  at: number;
}

/** Where a pool has limits, and what was said of them. */
export interface Limited {
  readonly limits?: Limits;
  readonly overrides?: readonly Override[];
}

export const isPause = ({ total, perKey }: Limit): boolean =>
  total === undefined && perKey === undefined;

const of =
  (wanted: boolean) =>
  ({ overrides = [] }: Limited, { name, key }: Which): Override | undefined =>
    overrides.find((each) => each.name === name && each.key === key && isPause(each) === wanted);

/** The pause of the limit or key itself. */
export const ownPause = of(true);
/** The numbers of the limit or key itself. */
export const ownNumbers = of(false);

/** The pause that holds for a limit or a key: its own, or that of the limit. */
export function pauseOf(gate: Limited, { name, key }: Which): Override | undefined {
  return ownPause(gate, { name, key }) ?? ownPause(gate, { name });
}

/** The numbers that hold for a limit or a key: its own, or those of the limit. */
export function numbersOf(gate: Limited, { name, key }: Which): Override | undefined {
  const ofLimit = ownNumbers(gate, { name });
  if (key === undefined) return ofLimit;
  return ownNumbers(gate, { name, key }) ?? (ofLimit?.perKey === undefined ? undefined : ofLimit);
}

/** How many works run at once, in all or of each key: an override changes what the code gives. */
export function inForce(gate: Limited, asked: Limit, { name, key }: Which): Limit {
  const numbers = numbersOf(gate, { name, key });
  const of = (field: keyof Limit) =>
    asked[field] === undefined ? undefined : (numbers?.[field] ?? asked[field]);
  return { total: of("total"), perKey: of("perKey") };
}
