import { v } from "convex/values";
import type { Limit, Limits } from "./limits.js";
import { vRate } from "./rate.js";

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
const vNumbers = {
  total: v.optional(v.number()),
  perKey: v.optional(v.number()),
  rate: v.optional(vRate),
};

/** Names a limit or, with `key`, one of its keys. */
export const vWhich = { name: v.string(), key: v.optional(v.string()) };
export const pauseFields = { ...vWhich, ...vBy };
export const overrideFields = { ...pauseFields, ...vNumbers };

export interface Which {
  name: string;
  key?: string | undefined;
}
/** Without numbers it is a pause. Of a limit or a key there is one of each at most, and a hold. */
export interface Override extends Which, Limit {
  until?: number;
  by?: string;
  at: number;
  /** No operator has said so, but a work: see hold.ts. It stands beside a pause. */
  isHold?: boolean;
}

/** The part of the gate with the limits of a pool, and what was said of them. */
export interface Limited {
  readonly limits?: Limits;
  readonly overrides?: readonly Override[];
}

export const isPause = ({ total, perKey, rate }: Limit): boolean =>
  total === undefined && perKey === undefined && rate === undefined;

const of =
  (fits: (each: Override) => boolean) =>
  ({ overrides = [] }: Limited, { name, key }: Which): Override | undefined =>
    overrides.find((each) => each.name === name && each.key === key && fits(each));

/** What is over may stand there for a moment: works that were held start at the end of the hold. */
const isOn = ({ until = Infinity }: Override) => until > Date.now();
const ownHold = of((each) => each.isHold === true && isOn(each));
const ownPauseAlone = of((each) => isPause(each) && each.isHold !== true && isOn(each));

/** The pause of the limit or key itself: that of an operator, or a hold. */
export const ownPause = (gate: Limited, which: Which): Override | undefined =>
  ownPauseAlone(gate, which) ?? ownHold(gate, which);
/** The numbers of the limit or key itself. */
export const ownNumbers = of((each) => !isPause(each));

/** The pause that holds for a limit or a key: its own, or that of the limit. */
export function pauseOf(gate: Limited, { name, key }: Which): Override | undefined {
  return ownPause(gate, { name, key }) ?? ownPause(gate, { name });
}

/** The numbers that hold for a limit or a key: its own, or those of the limit. */
export function numbersOf(gate: Limited, { name, key }: Which): Override | undefined {
  const ofLimit = ownNumbers(gate, { name });
  if (key === undefined) return ofLimit;
  const isOfKeys = ofLimit?.perKey !== undefined || ofLimit?.rate !== undefined;
  return ownNumbers(gate, { name, key }) ?? (isOfKeys ? ofLimit : undefined);
}

/** Returns what holds of a limit or a key: an override changes numbers that the code gives. */
export function inForce(gate: Limited, asked: Limit, { name, key }: Which): Limit {
  const numbers = numbersOf(gate, { name, key });
  const of = <Field extends keyof Limit>(field: Field): Limit[Field] =>
    asked[field] === undefined ? undefined : (numbers?.[field] ?? asked[field]);
  return { total: of("total"), perKey: of("perKey"), rate: of("rate"), unit: asked.unit };
}
