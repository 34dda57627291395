import type { z } from "zod";
import { Node } from "../ts-morph.js";
import { toJson, type GivenOptions } from "../plan/known.js";
import type { Policy } from "../plan/schema.js";
import type { DefinitionFile } from "./definition-file.js";
import { constantOf } from "./functions.js";
import { objectOf } from "./held.js";
import { knownValue } from "./known.js";
import { readOption, type Option } from "./option.js";

type Json = z.core.util.JSONType;

export type Options = ReadonlyMap<string, Option>;

/** Reads an options object written here or as a const; undefined, and reported, if it is not. */
export function readOptions(
  argument: Node | undefined,
  at: Node,
  of: string,
  file: DefinitionFile,
): Options | undefined {
  const literal = argument === undefined ? undefined : objectOf(argument, file);
  if (literal === undefined) {
    reportUnreadable(argument ?? at, of, file);
    return undefined;
  }
  const options = new Map<string, Option>();
  const unread = literal.getProperties().find((property) => {
    const option = readOption(property);
    if (option === undefined) return true;
    // The last one of a name is the one that counts.
    options.delete(option.name);
    if (!isUndefined(option.value)) options.set(option.name, option);
    return false;
  });
  if (unread === undefined) return options;
  const message = `the options of ${of} hold something that is only known when it runs`;
  const hint = "write every option as `name: value`, without spread, computed names or accessors";
  file.report("unreadableOptions", unread, message, hint);
  return undefined;
}

function reportUnreadable(at: Node, of: string, file: DefinitionFile): void {
  const isHeld = Node.isIdentifier(at) && Node.isObjectLiteralExpression(constantOf(at, file));
  const what = isHeld
    ? "are a const that something else may change"
    : "are not written out as an object";
  const message = `the options of ${of} ${what}`;
  const hint = isHeld
    ? `use ${at.getText()} as the options of nodes only, or write \`{ … }\` here`
    : "write `{ … }` here, or a const of this file that is `{ … }`, with every option in it";
  file.report("unreadableOptions", at, message, hint);
}

/** An option that is `undefined` is not there. */
const isUndefined = (value: Node): boolean =>
  Node.isIdentifier(value) && value.getText() === "undefined";

/** Each of the options where it stands, and as far as its value can be seen. */
export function givenOptions(options: Options | undefined, file: DefinitionFile): GivenOptions {
  return new Map(
    [...(options?.values() ?? [])].map(({ name, nameNode, value }) => [
      name,
      { place: file.placeOf(nameNode), value: knownValue(value, file) },
    ]),
  );
}

/** Those of the named options whose values can be seen. */
export function plannedValues(given: GivenOptions, names: readonly string[]): Record<string, Json> {
  const values: Record<string, Json> = {};
  for (const name of names) {
    const value = toJson(given.get(name)?.value);
    if (value !== undefined) values[name] = value;
  }
  return values;
}

export function policyOf(options: Options, file: DefinitionFile): Policy {
  const names = ["retry", "timeout", "isolate"];
  const given = givenOptions(options, file);
  const values = plannedValues(given, names);
  const computed = names.filter((name) => given.has(name) && !(name in values));
  return { values, computed, given };
}
