import type * as z from "zod";
import type { Place } from "../diagnostics/diagnostic.js";

/** A value as far as a definition shows it. Undefined is only known when it runs. */
export type Known = string | number | boolean | KnownObject | KnownOther | undefined;

export interface KnownObject {
  readonly fields: GivenOptions;
  /** Says whether it has no others: none is spread into it, or has a computed name. */
  readonly isWhole: boolean;
}

/** What is not written as a value of JSON: `null`, `a list`, `a function`, `a Date`. */
export interface KnownOther {
  readonly is: string;
  /** What a list holds, if all of it is written in this place. */
  readonly items?: readonly Known[];
}

const aFunction = "a function";
export const asyncFunction = "an async function";

export interface Given {
  readonly place: Place;
  readonly value: Known;
  /** Says whether it may not be there: it would be in an object that is not seen. */
  readonly isUnsure?: boolean;
}

export type GivenOptions = ReadonlyMap<string, Given>;

export function isObject(value: Known): value is KnownObject {
  return typeof value === "object" && "fields" in value;
}

export function isOther(value: Known): value is KnownOther {
  return typeof value === "object" && "is" in value;
}

export const ofFunction = (isAsync: boolean): KnownOther => ({
  is: isAsync ? asyncFunction : aFunction,
});

export const isFunction = (value: Known): boolean =>
  isOther(value) && (value.is === aFunction || value.is === asyncFunction);

export type Json = z.core.util.JSONType;

/** The same as JSON, when all of it can be seen and JSON has it; else undefined. */
export function toJson(value: Known): Json | undefined {
  if (typeof value === "number") return Number.isFinite(value) ? value : undefined;
  if (typeof value !== "object") return value;
  if (!isObject(value) || !value.isWhole) return undefined;
  const fields: Record<string, Json> = {};
  for (const [name, field] of value.fields) {
    const json = toJson(field.value);
    if (json === undefined) return undefined;
    fields[name] = json;
  }
  return fields;
}

/** Returns it as it would be written, for messages; a part that cannot be seen is `…`. */
export function textOf(value: Known): string {
  if (value === undefined) return "…";
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value !== "object") return String(value);
  if (!isObject(value)) return value.is;
  const fields = [...value.fields].map(([name, field]) => `${name}: ${textOf(field.value)}`);
  return fields.length === 0 ? "{}" : `{ ${fields.join(", ")} }`;
}
