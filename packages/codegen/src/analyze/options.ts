import { type Node, ts } from "../typescript.js";
import { once } from "../plan/once.js";
import { type GivenOptions, type Json, toJson } from "../plan/known.js";
import type { FunctionKind, Policy } from "../plan/schema.js";
import type { DefinitionFile } from "./parser.js";
import { constantOf, type Option, readOption, unwrap } from "./functions.js";
import { knownValue, objectOf } from "./known.js";
import type { CodeName } from "../diagnostics/codes.js";
import { meant, nearest } from "../diagnostics/nearest.js";

export const handlerKinds: readonly FunctionKind[] = ["action", "mutation", "query"];

export const policies: readonly string[] = ["retry", "timeout", "isolate"];

/** Options by their names. `rest` is what may hold others, as it is not seen. */
export type Options = ReadonlyMap<string, Option> & { readonly rest?: readonly Node[] | undefined };

/** Reads options. Those that are not written here, or in a const of this file, are computed. */
export function readOptions(
  argument: Node | undefined,
  at: Node,
  of: string,
  file: DefinitionFile,
): Options | undefined {
  if (argument !== undefined) return optionsIn(argument, file);
  const message = `the options of ${of} are missing`;
  return file.report("unreadableOptions", at, message, "write `{ … }`");
}

export const writeEach =
  "write every one as `name: value`, without spread, computed names or accessors";

/** What a later spread cannot change unseen: the generated code would not fit, and says so. */
const structural: ReadonlySet<string> = new Set([
  "body",
  "cases",
  "compensate",
  "finalize",
  "onEnd",
]);

/** The options of an expression. The value of one that may be another is what may change it. */
export function optionsIn(
  expression: Node,
  file: DefinitionFile,
  nameOfKey?: (key: Node) => string | undefined,
  seen: readonly Node[] = [],
): Options {
  const node = unwrap(expression);
  const held = ts.isIdentifier(node) ? constantOf(node, file) : (memberOf(node, file) ?? node);
  if (held === undefined || !ts.isObjectLiteralExpression(held) || seen.includes(held))
    return Object.assign(new Map<string, Option>(), { rest: [expression] });
  const options = new Map<string, Option>();
  const rest: Node[] = [];
  const computed = (by: Node, all: Options) => {
    for (const [name, option] of all)
      options.set(name, structural.has(name) ? option : { ...option, value: by });
  };
  for (const property of held.properties) {
    const option = readOption(property, nameOfKey);
    const isSpread = ts.isSpreadAssignment(property);
    const spread = isSpread
      ? optionsIn(property.expression, file, nameOfKey, [...seen, held])
      : undefined;
    for (const each of option === undefined ? (spread?.values() ?? []) : [option]) {
      // The last one of a name is the one that counts. One that is `undefined` is not there.
      options.delete(each.name);
      if (!ts.isIdentifier(each.value) || each.value.text !== "undefined")
        options.set(each.name, each);
    }
    if (option !== undefined || (isSpread && spread?.rest === undefined)) continue;
    rest.push(property);
    computed(property, options);
  }
  // Something else may change what a const holds.
  if (held !== node && objectOf(node, file) === undefined) computed(held.parent, options);
  return Object.assign(options, { rest: rest.length === 0 ? undefined : rest });
}

/** The options that a const holds under a name: `steps.first`. What it holds may still change. */
function memberOf(node: Node, file: DefinitionFile): Node | undefined {
  if (!ts.isPropertyAccessExpression(node)) return undefined;
  const { expression: of, name } = node;
  const object = ts.isIdentifier(of) ? constantOf(of, file) : undefined;
  if (object === undefined || !ts.isObjectLiteralExpression(object)) return undefined;
  const members = object.properties.map((each) => readOption(each));
  const [only, second] = members.filter((each) => each?.name === name.text);
  return second === undefined && members.every((each) => each !== undefined)
    ? only && unwrap(only.value)
    : undefined;
}

/** The values of options. A node asks for them, and each of its stages. */
export const givenOptions = once((options: Options, file: DefinitionFile): GivenOptions => {
  const given = [...options.values()].map(({ name, nameNode, value }) => {
    return [name, { place: file.placeOf(nameNode), value: knownValue(value, file) }] as const;
  });
  const [rest] = options.rest ?? [];
  const unseen = rest && { place: file.placeOf(rest), value: undefined, isUnsure: true };
  return new Map([...(unseen ? maybe.map((name) => [name, unseen] as const) : []), ...given]);
});

/** What may be among options that are not seen, and has a value that `explain` tells. */
const maybe = [...policies, "concurrency", "retention"];

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
  { label, at }: { readonly label: string; readonly at: Node },
  file: DefinitionFile,
): void {
  for (const [name, example] of Object.entries(needed)) {
    if (options.has(name) || (options.rest !== undefined && !structural.has(name))) continue;
    const hint = slipHint(options, [name]) ?? `add \`${name}: ${example}\``;
    file.report("missingOption", at, `${label} has no \`${name}\``, hint);
  }
}
