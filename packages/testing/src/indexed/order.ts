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
  const prototype = Object.getPrototypeOf(value) as { constructor?: { name?: string } } | null;
  // By its name, as convex-test does it, where the object comes from another realm.
  return prototype === null || prototype.constructor?.name === "Object";
}

/**
 * `compareValues` of Convex, with the usual cases first: it wraps both values anew for each
 * comparison.
 */
export function compare(a: Value | undefined, b: Value | undefined): number {
  if (typeof a === "string" && typeof b === "string") {
    if (a === b) return 0;
    const compared = compareTexts(a, b);
    if (compared !== 0) return compared;
  } else if (typeof a === "number" && typeof b === "number") {
    // What is neither is for Convex to order: the two zeros, and what is not a number.
    if (a < b) return -1;
    if (a > b) return 1;
  }
  return compareValues(a, b);
}

/**
 * Returns where two texts first differ; 0 if that is for Convex to say. It orders by UTF-8, which
 * halves of characters do not tell.
 */
function compareTexts(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at += 1) {
    const [one, other] = [a.charCodeAt(at), b.charCodeAt(at)];
    if (one !== other) return one < 0xd800 && other < 0xd800 ? one - other : 0;
  }
  return 0;
}

/** Compares the first fields of a document to `values`, one for each. */
function compareTo(
  document: Document,
  fields: readonly Field[],
  values: readonly (Value | undefined)[],
): number {
  for (let at = 0; at < values.length; at += 1) {
    const compared = compare(fields[at]?.(document), values[at]);
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

/**
 * A place in an index, by the values of its first fields. All documents that begin with these are
 * on one side of it.
 */
export interface Bound {
  readonly values: readonly (Value | undefined)[];
  /** Says whether documents that begin with the values are before the place. */
  readonly isAfter: boolean;
}

/** What is after all the bounds of `from` and before all of `to`. */
export interface Range {
  readonly from: readonly Bound[];
  readonly to: readonly Bound[];
}

export function isBeyond(document: Document, fields: readonly Field[], bound: Bound): boolean {
  const compared = compareTo(document, fields, bound.values);
  return bound.isAfter ? compared > 0 : compared >= 0;
}

export function isWithin(document: Document, fields: readonly Field[], range: Range): boolean {
  return (
    range.from.every((bound) => isBeyond(document, fields, bound)) &&
    !range.to.some((bound) => isBeyond(document, fields, bound))
  );
}
