import { jsonToConvex, type JSONValue, type Value } from "convex/values";
import type { Bound, Range } from "./order.js";

/** One bound of an index range, as Convex's client serialises it. */
interface RangeFilter {
  readonly type: "Eq" | "Gt" | "Gte" | "Lt" | "Lte";
  readonly value: JSONValue;
}

export type Source =
  | { readonly type: "FullTableScan"; readonly tableName: string }
  | { readonly type: "IndexRange"; readonly indexName: string; readonly range: RangeFilter[] }
  | { readonly type: "Search" };

/**
 * The range that accepted filters describe: some are equal, and the next field has up to two
 * bounds.
 */
export function rangeOf(filters: readonly RangeFilter[]): Range {
  const equal = filters.filter(({ type }) => type === "Eq").map(({ value }) => valueOf(value));
  const from: Bound[] = equal.length === 0 ? [] : [{ values: equal, isAfter: false }];
  const to: Bound[] = equal.length === 0 ? [] : [{ values: equal, isAfter: true }];
  for (const { type, value } of filters) {
    if (type === "Eq") continue;
    const values = [...equal, valueOf(value)];
    if (type === "Gt" || type === "Gte") from.push({ values, isAfter: type === "Gt" });
    else to.push({ values, isAfter: type === "Lte" });
  }
  return { from, to };
}

/** Returns what of a range comes after a document with these values, in the order asked for. */
export function beyond(
  { from, to }: Range,
  values: readonly (Value | undefined)[],
  order: "asc" | "desc",
): Range {
  return order === "asc"
    ? { from: [...from, { values, isAfter: true }], to }
    : { from, to: [...to, { values, isAfter: false }] };
}

export function valueOf(json: JSONValue): Value | undefined {
  const isUndefined = typeof json === "object" && json !== null && "$undefined" in json;
  return isUndefined ? undefined : jsonToConvex(json);
}
