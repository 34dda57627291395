import { type Node, ts } from "../typescript.js";
import { once } from "../plan/once.js";
import { type GivenOptions, type Json, toJson } from "../plan/known.js";
import type { FunctionKind, Policy } from "../plan/schema.js";
import type { DefinitionFile } from "./parser.js";
import { isAbsent, isFreeze, type Option, readOption, unwrap, wrappedIn } from "./functions.js";
import { constantText, knownValue, staysAsItIs } from "./known.js";
import { madeBy, maxLinks, type Placed } from "./made.js";
import { moduleOf } from "./tokens.js";

export const handlerKinds: readonly FunctionKind[] = ["action", "mutation", "query"];

export const policies: readonly string[] = ["retry", "timeout", "isolate"];

/** Options by their names. `rest` is what may hold others, as it is not seen. */
export type Options = ReadonlyMap<string, Option> & {
  readonly rest?: readonly Node[] | undefined;
  /** The names of options that are `undefined`: a spread takes these away. */
  readonly absent?: ReadonlySet<string>;
};

/**
 * Reads options. Those that are not written here, or in a const of this file, are computed.
 * @param example what to write if there are none
 */
export function readOptions(
  argument: Node | undefined,
  at: Node,
  of: string,
  file: DefinitionFile,
  example = "`{ … }`",
): Options | undefined {
  if (argument !== undefined) return optionsIn(argument, file);
  const message = `the options of ${of} are missing`;
  return file.report("unreadableOptions", at, message, `write ${example}`);
}

export const writeEach =
  "write every one as `name: value`, without spread, computed names or accessors";

/** What a later spread cannot change unseen: the generated code would not fit, and says so. */
export const structural: ReadonlySet<string> = new Set([
  "body",
  "branches",
  "cases",
  "compensate",
  "default",
  "finalize",
  "onEnd",
  "renamed",
  "renamedFrom",
]);

/** What makes a node the kind that it is: it is written beside what is not seen. */
export const essential: ReadonlySet<string> = new Set([...structural, "children"]);

/** The options of an expression. The value of one that may be another is what may change it. */
export function optionsIn(
  expression: Node,
  file: DefinitionFile,
  areBodies = false,
  seen: readonly Node[] = [],
  taken?: Placed["taken"],
  known: Map<Node, Options> = new Map(),
): Options {
  // A const may be spread many times over by the next one.
  const isKnown = taken === undefined || taken.size === 0;
  const before = isKnown ? known.get(expression) : undefined;
  if (before !== undefined) return before;
  const options = readIn(expression, file, areBodies, seen, taken, known);
  if (isKnown) known.set(expression, options);
  return options;
}

function readIn(
  expression: Node,
  file: DefinitionFile,
  areBodies: boolean,
  seen: readonly Node[],
  taken: Placed["taken"],
  known: Map<Node, Options>,
): Options {
  const node = unwrap(expression);
  const made = madeBy({ node, file, taken });
  const { node: held, file: within, isMade, taken: given, without = [] } = made;
  const isWhole = without.length === 0;
  const sides = held && isWhole && !seen.includes(held) ? sidesOf(held) : undefined;
  if (held !== undefined && sides !== undefined)
    return eitherOf(sides, expression, within, areBodies, [...seen, held], known);
  if (held === undefined || !ts.isObjectLiteralExpression(held) || seen.includes(held))
    return Object.assign(new Map<string, Option>(), { rest: [expression] });
  const options = new Map<string, Option>();
  const absent = new Set<string>();
  const rest: Node[] = [];
  const stays = (name: string) => areBodies || structural.has(name);
  const computed = (by: Node) => {
    for (const [name, option] of options)
      options.set(name, stays(name) ? { ...option, isSure: false } : { ...option, value: by });
  };
  for (const property of held.properties) {
    const read = readOption(property, (key) => constantText(key, within));
    const option = read && given ? givenFor(read, given) : read;
    const isSpread = ts.isSpreadAssignment(property);
    const spread = isSpread
      ? optionsIn(property.expression, within, areBodies, [...seen, held], given, known)
      : undefined;
    for (const name of spread?.rest === undefined ? (spread?.absent ?? []) : []) {
      options.delete(name);
      absent.add(name);
    }
    for (const each of option === undefined ? (spread?.values() ?? []) : [option]) {
      const { name } = each;
      const before = each.isSure === false ? options.get(name) : undefined;
      if (before !== undefined) {
        options.set(name, { ...before, isSure: false });
        continue;
      }
      // The last one of a name is the one that counts.
      options.delete(name);
      absent.delete(name);
      if (isAbsent(each.value)) absent.add(name);
      else options.set(name, each);
    }
    if (option !== undefined || (isSpread && spread?.rest === undefined)) continue;
    rest.push(property);
    computed(property);
  }
  for (const name of without) {
    options.delete(name);
    absent.delete(name);
  }
  const hidden = rest.length === 0 ? undefined : rest;
  if (within !== file || isMade) {
    const seen = [...options].flatMap(([name, option]): [string, Option][] => {
      const elsewhere = fileOf(option, within);
      if (!stays(name) && maybe.includes(name)) return [];
      return [
        [name, { ...option, value: stays(name) ? option.value : around(expression), elsewhere }],
      ];
    });
    // Of what others share is seen which options there are, not what.
    return Object.assign(new Map(seen), { rest: areBodies ? hidden : [expression] });
  }
  // Something else may change what a const holds.
  const mayChange = held !== node && !staysAsItIs(held, moduleOf(file));
  if (mayChange) computed(around(held));
  const unseen = mayChange && absent.size > 0 ? [expression] : undefined;
  return Object.assign(options, { rest: hidden ?? unseen, absent });
}

/**
 * Returns what stands for a value in an object that is not seen: what is around the object. A list
 * and `object as const` have a value of their own, so it is what is around these.
 */
function around({ parent }: Node): Node {
  const isValue = wrappedIn(parent) ?? (ts.isArrayLiteralExpression(parent) || isFreeze(parent));
  return isValue ? around(parent) : parent;
}

/** The option with what stands for its value, if that is a name that a function takes or holds. */
function givenFor(option: Option, taken: Placed["taken"], links = 0): Option {
  const value = unwrap(option.value);
  const found = ts.isIdentifier(value) ? taken?.get(value.text) : undefined;
  if (found === undefined || links > maxLinks) return option;
  const { node, file } = found;
  const given = { ...option, nameNode: node, value: node, elsewhere: file };
  return givenFor(given, found.taken, links + 1);
}

/** What a condition chooses from; `condition && { … }` may give nothing. */
function sidesOf(node: Node): readonly [Node, Node?] | undefined {
  if (ts.isConditionalExpression(node)) return [node.whenTrue, node.whenFalse];
  const isAnd =
    ts.isBinaryExpression(node) &&
    node.operatorToken.kind === ts.SyntaxKind.AmpersandAmpersandToken;
  return isAnd ? [node.right] : undefined;
}

/**
 * Returns the options with functions that both sides of a condition have, and those of the
 * structure that one has: nobody can read them, and they are reported.
 */
function eitherOf(
  sides: readonly [Node, Node?],
  value: Node,
  file: DefinitionFile,
  areBodies: boolean,
  seen: readonly Node[],
  known: Map<Node, Options>,
): Options {
  const [one, other] = sides.map(
    (side) => side && optionsIn(side, file, areBodies, seen, undefined, known),
  );
  const options = [...(one ?? []), ...(other ?? [])].flatMap(([name, each]) => {
    const isSure = one?.has(name) === true && other?.has(name) === true;
    if (!(isSure ? ofFunctions : structural).has(name)) return [];
    return [[name, { ...each, value: value.parent, isSure, condition: value }] as const];
  });
  return Object.assign(new Map(options), { rest: [value] });
}

export const ofFunctions: ReadonlySet<string> = new Set([...handlerKinds, "args", ...essential]);

/** The file that the value of an option is written in, if it is an option of this one. */
export const fileOf = (option: Option | undefined, file: DefinitionFile): DefinitionFile =>
  option?.elsewhere ?? file;

/** The values of options. A node asks for them, and each of its stages. */
export const givenOptions = once((options: Options, file: DefinitionFile): GivenOptions => {
  const given = [...options.values()].map((option) => {
    const { name, nameNode, value } = option;
    const place = fileOf(option, file).placeOf(nameNode);
    return [name, { place, value: knownValue(value, file) }] as const;
  });
  const [rest] = options.rest ?? [];
  const unseen = rest && { place: file.placeOf(rest), value: undefined, isUnsure: true };
  return new Map([...(unseen ? maybe.map((name) => [name, unseen] as const) : []), ...given]);
});

/** What may be among options that are not seen, and `explain` or generated code tells. */
const maybe = [...policies, "limits", "concurrency", "retention"];

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
