import type { ObjectLiteralExpression } from "ts-morph";
import { Node } from "../ts-morph.js";
import { once } from "../plan/once.js";
import { type GivenOptions, type Json, toJson } from "../plan/known.js";
import type { FunctionKind, Policy } from "../plan/schema.js";
import type { DefinitionFile } from "./parser.js";
import { constantOf, type Option, readOption } from "./functions.js";
import { knownValue, objectOf } from "./known.js";
import type { CodeName } from "../diagnostics/codes.js";
import { meant, nearest } from "../diagnostics/nearest.js";

export const handlerKinds: readonly FunctionKind[] = ["action", "mutation", "query"];

export const policies: readonly string[] = ["retry", "timeout", "isolate"];

export type Options = ReadonlyMap<string, Option>;

/** Reads an options object written here or as a const; undefined, and reported, if it is not. */
export function readOptions(
  argument: Node | undefined,
  at: Node,
  of: string,
  file: DefinitionFile,
): Options | undefined {
  const literal = argument === undefined ? undefined : objectOf(argument, file);
  if (literal === undefined) return reportUnreadable(argument ?? at, of, file);
  const { options, unread } = optionsIn(literal);
  const [first] = unread;
  if (first === undefined) return options;
  const message = `the options of ${of} hold something that is only known when it runs`;
  return file.report("unreadableOptions", first, message, writeEach);
}

export const writeEach =
  "write every option as `name: value`, without spread, computed names or accessors";

/** The options of an object, and those of its properties that cannot be read. */
export function optionsIn(literal: ObjectLiteralExpression) {
  const options = new Map<string, Option>();
  const unread = literal.getProperties().filter((property) => {
    const option = readOption(property);
    if (option === undefined) return true;
    // The last one of a name is the one that counts. One that is `undefined` is not there.
    options.delete(option.name);
    if (!Node.isIdentifier(option.value) || option.value.getText() !== "undefined")
      options.set(option.name, option);
    return false;
  });
  return { options, unread };
}

function reportUnreadable(at: Node, of: string, file: DefinitionFile): undefined {
  const isHeld = Node.isIdentifier(at) && Node.isObjectLiteralExpression(constantOf(at, file));
  const what = isHeld
    ? "are a const that something else may change"
    : "are not written out as an object";
  const message = `the options of ${of} ${what}`;
  const hint = isHeld
    ? `use ${at.getText()} as the options of nodes only, or write \`{ … }\` here`
    : "write `{ … }` here, or a const of this file that is `{ … }`, with every option in it";
  return file.report("unreadableOptions", at, message, hint);
}

/** The values of options. A node asks for them, and each of its stages. */
export const givenOptions = once((options: Options, file: DefinitionFile): GivenOptions => {
  const given = [...options.values()].map(({ name, nameNode, value }) => {
    return [name, { place: file.placeOf(nameNode), value: knownValue(value, file) }] as const;
  });
  return new Map(given);
});

export function plannedValues(given: GivenOptions, names: readonly string[]): Record<string, Json> {
  const values: Record<string, Json> = {};
  for (const name of names) {
    const value = toJson(given.get(name)?.value);
    if (value !== undefined) values[name] = value;
  }
  return values;
}

export function policyOf(options: Options, file: DefinitionFile): Policy {
  const given = givenOptions(options, file);
  const values = plannedValues(given, policies);
  const computed = policies.filter((name) => given.has(name) && !(name in values));
  return { values, computed, given };
}

export function reportUnknown(
  options: Options,
  known: readonly string[],
  of: string,
  file: DefinitionFile,
  code: CodeName = "noEffect",
): void {
  // Of what has no handler, the options of one are reported as what has no effect there.
  const isWhole = known.includes("mutation") || known.includes("input") || code !== "noEffect";
  const others = isWhole ? [] : policies;
  for (const { name, nameNode } of options.values()) {
    if (known.includes(name) || others.includes(name)) continue;
    const near = nearest(name, known);
    // What stands in the place of something that is missing is reported as that.
    if (near !== undefined && !options.has(near) && needed.has(near)) continue;
    const message = `\`${name}\` is no option of ${of}${code === "noEffect" ? ": it has no effect" : ""}`;
    const hint = meant(name, known, `its options are ${known.join(", ")}`);
    file.report(code, nameNode, message, hint);
  }
}

/** Options whose absence is reported, by whichever kind of node. */
const needed: ReadonlySet<string> = new Set([
  ...handlerKinds,
  ..."children on cases initial body until maxIterations step".split(" "),
]);

export const slipOf = (options: Options, wanted: readonly string[]): string | undefined =>
  [...options.keys()].find((name) => nearest(name, wanted) !== undefined);

export function slipHint(options: Options, wanted: readonly string[]): string | undefined {
  const slip = slipOf(options, wanted);
  return slip && `did you mean \`${nearest(slip, wanted)}\` where it has \`${slip}\`?`;
}

/** Reports options in an order in which TypeScript infers `unknown` or `any`. */
export function reportOrder(
  options: Options,
  order: readonly (readonly string[])[],
  of: string,
  file: DefinitionFile,
): void {
  const rank = (name: string) => order.findIndex((names) => names.includes(name));
  const ranked = [...options.values()].filter(({ name }) => rank(name) >= 0);
  for (const [index, option] of ranked.entries()) {
    const before = ranked.slice(0, index).find((other) => rank(other.name) > rank(option.name));
    if (before === undefined) continue;
    const right = ranked.map(({ name }) => name).sort((a, b) => rank(a) - rank(b));
    const message = `${of} has \`${option.name}\` after \`${before.name}\`: TypeScript cannot infer their types in this order`;
    const hint = `write them in the order ${right.join(", ")}`;
    file.report("optionOrder", option.nameNode, message, hint);
    return;
  }
}

export function reportMissing(
  options: Options,
  needed: Readonly<Record<string, string>>,
  { label, at }: { readonly label: string; readonly at: Parameters<DefinitionFile["report"]>[1] },
  file: DefinitionFile,
): void {
  for (const [name, example] of Object.entries(needed)) {
    if (options.has(name)) continue;
    const hint = slipHint(options, [name]) ?? `add \`${name}: ${example}\``;
    file.report("missingOption", at, `${label} has no \`${name}\``, hint);
  }
}
