import { compareValues, type Value } from "convex/values";

/** A document as convex-test stores it. It is never written to: a change makes a new one. */
export type Document = Readonly<Record<string, unknown>> & {
  readonly _id: string;
  readonly _creationTime: number;
};

/** Reads one field of a document; undefined where it has none. */
export type Field = (document: Document) => Value | undefined;

/** The field at a path such as `a.b`. */
export function fieldAt(path: string): Field {
  const parts = path.split(".");
  const [only] = parts;
  if (parts.length === 1 && only !== undefined) return (document) => document[only] as Value;
  return (document) => {
    let value: unknown = document;
    for (const part of parts) value = isPlain(value) ? value[part] : undefined;
    return value as Value | undefined;
  };
}

function isPlain(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}

/** `compareValues` of Convex, with the usual cases first: it wraps both values anew for each comparison. */
export function compare(a: Value | undefined, b: Value | undefined): number {
  if (typeof a === "string") {
    if (a === b) return 0;
  } else if (typeof a === "number" && typeof b === "number") {
    // What is neither is for Convex to order: the two zeros, and what is not a number.
    if (a < b) return -1;
    if (a > b) return 1;
  }
  return compareValues(a, b);
}

/** Compares the first fields of a document to `values`, one for each. */
export function compareTo(
  document: Document,
  fields: readonly Field[],
  values: readonly (Value | undefined)[],
): number {
  for (const [at, value] of values.entries()) {
    const compared = compare(fields[at]?.(document), value);
    if (compared !== 0) return compared;
  }
  return 0;
}

export function compareDocuments(fields: readonly Field[], a: Document, b: Document): number {
  for (const field of fields) {
    const compared = compare(field(a), field(b));
    if (compared !== 0) return compared;
  }
  return 0;
}

/** One end of a range: the values of an index's first fields. Of fewer values, all that begin so are at one place. */
export interface Bound {
  readonly values: readonly (Value | undefined)[];
  /** Whether documents that begin with the values are on the far side of the bound. */
  readonly isAfter: boolean;
}

/** From the first bound to the second; without one, from or to the end. */
export interface Range {
  readonly from?: Bound;
  readonly to?: Bound;
}

/** Whether a document is on the far side of a bound. */
export function isBeyond(document: Document, fields: readonly Field[], bound: Bound): boolean {
  const compared = compareTo(document, fields, bound.values);
  return bound.isAfter ? compared > 0 : compared >= 0;
}

export function isWithin(document: Document, fields: readonly Field[], range: Range): boolean {
  if (range.from !== undefined && !isBeyond(document, fields, range.from)) return false;
  return range.to === undefined || !isBeyond(document, fields, range.to);
}
