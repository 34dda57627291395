import type { FunctionReference } from "convex/server";
import type { api, internal } from "../src/component/_generated/api.js";
import type { TableNames } from "../src/component/_generated/dataModel.js";
import schema from "../src/component/schema.js";

export type { Doc, Id, TableNames } from "../src/component/_generated/dataModel.js";

type NamesIn<Api, Path extends string = ""> = {
  [Key in keyof Api & string]: Api[Key] extends FunctionReference<any, any, any, any>
    ? `${Path}:${Key}`
    : NamesIn<Api[Key], Path extends "" ? Key : `${Path}/${Key}`>;
}[keyof Api & string];

/** The name of a function of the component, such as `watchdog:sweep`. */
export type ComponentFunction = NamesIn<typeof api> | NamesIn<typeof internal>;

/**
 * Says whether a call or a scheduled function is of one of these functions. A name that there is
 * not is a type error.
 */
export function isOf(...names: readonly ComponentFunction[]): (call: { name: string }) => boolean {
  const all = new Set<string>(names);
  return ({ name }) => all.has(name);
}

/** @throws if the component has no such table: without rows, a check of it could not fail. */
export function checkTable(name: string): asserts name is TableNames {
  if (!Object.hasOwn(schema.tables, name)) throw new Error(`The component has no table "${name}"`);
}
