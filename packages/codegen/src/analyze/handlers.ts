import { type Node, ts, type TypeScript } from "../typescript.js";
import { computedReference } from "../plan/constants.js";
import type { FunctionKind, LimitName, Read } from "../plan/schema.js";
import type { DefinitionFile } from "./parser.js";
import { functionOf, isCalled, keyText, parametersOf, referencePath } from "./functions.js";
import { stringOf, unwrap, wrapping } from "./functions.js";
import type { FunctionNode, Option } from "./functions.js";
import { fileOf, handlerKinds, type Options, optionsIn } from "./options.js";
import { policyOf, readOptions } from "./options.js";
import { knownValue } from "./known.js";
import { identifiersIn } from "./descendants.js";
import { isReference, namesIn, referencesIn } from "./scoping.js";
import { listed, reportUnknown, slipHint, slipOf, strangersIn } from "./told-options.js";

/** An example of each kind of function: whatever has a function needs one of them. */
export const oneHandler: Readonly<Record<FunctionKind, string>> = {
  action: "async (ctx, { input }) => …",
  mutation: "async (ctx, { input }) => …",
  query: "async (ctx, { input }) => …",
};

/**
 * Finds the one action, mutation or query of a node; `isInline` allows no reference.
 * @param known all of its options
 */
export function readHandler(
  options: Options,
  at: Node,
  of: string,
  file: DefinitionFile,
  known: readonly string[],
  isInline = false,
) {
  const given = handlerKinds.flatMap((kind) => {
    const option = options.get(kind);
    return option === undefined ? [] : [{ kind, option }];
  });
  // That there is only one is for TypeScript to say.
  const [only] = given;
  if (only === undefined) {
    const [rest] = options.rest ?? [];
    const kinds = handlerKinds.filter((kind) => known.includes(kind));
    const lacks = `${of} has no ${listed(kinds, "or")}`;
    const slip = slipHint(options, kinds);
    if (rest !== undefined) {
      const message = `${lacks} that can be seen here`;
      return file.report("oneFunction", rest, message, slip ?? hintForUnseen(rest, file));
    }
    const place = options.get(slipOf(options, kinds) ?? "")?.nameNode ?? at;
    const others = slip === undefined ? strangersIn(options, known) : "";
    const which = `exactly one of the ${kinds.length === 2 ? "two" : "three"}`;
    const hint = slip ?? `give it ${which}, such as \`action: ${oneHandler.action}\``;
    return file.report("oneFunction", place, `${lacks}${others}`, hint);
  }
  return classify(only.kind, only.option, options, of, file, isInline);
}

const givenBy = (rest: Node): Node => unwrap(ts.isSpreadAssignment(rest) ? rest.expression : rest);

function isOnCondition(rest: Node): boolean {
  const given = givenBy(rest);
  return ts.isConditionalExpression(given) || ts.isBinaryExpression(given);
}

function hintForUnseen(rest: Node, file: DefinitionFile): string {
  const given = givenBy(rest);
  const path = referencePath(given, file);
  if (path !== undefined)
    return `say what kind of function it is: \`{ action: ${path}, args: ({ input }) => ({ … }) }\``;
  if (ts.isArrowFunction(given) || ts.isFunctionExpression(given))
    return "say what kind of function it is: `{ action: async (ctx, { input }) => … }`";
  return isOnCondition(rest)
    ? "write it without the condition, and have its function ask for that: `{ action: async (ctx, scope) => { if (…) … } }`"
    : "write it beside the others: `{ ...shared, action: shared.action }`";
}

/** The options of what undoes a node, or runs at the end. */
export const ofAside = ["action", "mutation", "args", "retry", "timeout"];

/** A function that an option holds with options of its own, in whichever file these are. */
export function readHeld(
  option: Option | undefined,
  label: string,
  { known, whyNoQuery }: { readonly known: readonly string[]; readonly whyNoQuery?: string },
  definition: DefinitionFile,
) {
  const file = fileOf(option, definition);
  const options = option && readOptions(option.value, option.nameNode, label, file);
  if (option === undefined || options === undefined) return undefined;
  const query = whyNoQuery === undefined ? undefined : options.get("query");
  if (query !== undefined) {
    const message = `${label} is a query, ${whyNoQuery}`;
    return file.report("oneFunction", query.nameNode, message, "make it a mutation or an action");
  }
  const { condition } = option;
  if (condition !== undefined && !handlerKinds.some((kind) => options.has(kind))) {
    const how = option.isSure === false ? "only there on" : "chosen by";
    const message = `${label} is ${how} a condition`;
    return file.report("oneFunction", condition, message, hintForUnseen(condition, file));
  }
  reportUnknown(options, known, label, file, { needsOne: oneHandler });
  const handler = readHandler(options, option.nameNode, label, file, known);
  if (handler === undefined) return undefined;
  const reads = option.isSure === false ? ("*" as const) : handler.reads;
  return { options, handler: { ...handler, reads }, file };
}

function classify(
  kind: FunctionKind,
  option: Option,
  options: Options,
  of: string,
  file: DefinitionFile,
  isInline: boolean,
) {
  const { value, nameNode: at } = option;
  const fn = functionOf(value, file);
  const policy = policyOf(options, file);
  const args = options.get("args");
  if (fn !== undefined) {
    reportArgs(options, of, file);
    return { kind, at, reads: readsOf(fn, "handler", file), policy };
  }
  const path = referencePath(value, file);
  // Only a reference has `args`. What has none is a handler, which may read anything.
  const reference = path ?? (args === undefined ? undefined : computedReference);
  if (reference === undefined || isInline) return { kind, at, reads: "*" as const, policy };
  if (args === undefined && options.rest === undefined) {
    const message = `${of} runs ${reference}, but nothing says with which arguments`;
    const hint =
      "add `args: ({ input }) => ({ … })`; for a function without arguments `args: () => ({})`";
    return file.report("referenceArgs", at, message, hint);
  }
  const given = args && functionOf(args.value, file);
  const reads = given === undefined ? "*" : readsOf(given, "args", file);
  const takesInfo = given === undefined || readsOf(given, "args", file, "info").length > 0;
  return { kind, at, reads, reference, info: takesInfo || undefined, policy };
}

/** Reports `args` that nothing calls. */
export function reportArgs(options: Options, of: string, file: DefinitionFile): void {
  const args = options.get("args");
  if (args === undefined) return;
  const hint = "it is for function references only; a handler gets the scope itself: remove it";
  file.report("noEffect", args.nameNode, `\`args\` has no effect on ${of}`, hint);
}

/** What an option reads of the scope: everything, unless it is a function that is seen. */
export function scopeReads(
  option: Option | undefined,
  file: DefinitionFile,
  role: Role = "ofScope",
): Reads {
  const fn = option && functionOf(option.value, file);
  return fn === undefined ? "*" : readsOf(fn, role, file);
}

export function readRecover(
  options: Options,
  visible: readonly string[],
  file: DefinitionFile,
): { reads: Reads; visible: readonly string[] } | undefined {
  const option = options.get("recover");
  if (option !== undefined) return { reads: scopeReads(option, file, "recover"), visible };
  return options.rest === undefined ? undefined : { reads: "*", visible };
}

/**
 * What the keys of limits are made of, by functions in an object, or in those of a list; and which
 * limits these are, as far as they are seen.
 */
export function readLimits(
  options: Options,
  visible: readonly string[],
  definition: DefinitionFile,
): { reads: Reads; visible: readonly string[]; names: readonly LimitName[] } | undefined {
  const option = options.get("limits");
  if (option === undefined)
    return options.rest === undefined ? undefined : { reads: "*", visible, names: [] };
  const file = fileOf(option, definition);
  const value = unwrap(option.value);
  const list = ts.isArrayLiteralExpression(value) ? value.elements.map(unwrap) : [value];
  const names: LimitName[] = [];
  const reads = list.map((each): Reads => {
    const name = stringOf(each);
    if (name !== undefined) {
      if (value !== each) names.push({ name, place: file.placeOf(each), value: true });
      return [];
    }
    const keys = optionsIn(each, file);
    const made = [...keys.values()].map((key): Reads => {
      const of = fileOf(key, file);
      const given = unwrap(key.value);
      // An estimate, and how the key is made: what it has used is made of the output alone.
      const budget = ts.isObjectLiteralExpression(given) ? optionsIn(given, of) : undefined;
      const made = budget === undefined ? key : budget.get("key");
      const isKeyless = made === undefined || made.value.kind === ts.SyntaxKind.TrueKeyword;
      const place = of.placeOf(key.nameNode);
      const body = made && functionOf(made.value, fileOf(made, of))?.body;
      const makesNumber = body !== undefined && typeof knownValue(unwrap(body), of) === "number";
      const own = { name: key.name, place, value: knownValue(given, of) };
      names.push(makesNumber ? { ...own, makesNumber } : own);
      if (budget?.rest !== undefined) return "*";
      return isKeyless ? [] : scopeReads(made, fileOf(made, of));
    });
    return keys.rest === undefined ? allReads(made) : "*";
  });
  return { reads: allReads(reads), visible, names };
}

/** What each kind of function in a definition is called with, in order. */
const calledWith = {
  handler: ["ctx", "scope", "info"],
  args: ["scope", "info"],
  recover: ["error", "scope"],
  match: ["payload", "scope"],
  /** Children, a duration, the key of a branch, the state of a loop, the input of a child. */
  ofScope: ["scope"],
  body: ["builder"],
} as const;

export type Role = keyof typeof calledWith;
export type Argument = (typeof calledWith)[Role][number];

/** What a function calls an argument; undefined if not taken, `"hidden"` if reached another way. */
export function bindingOf(fn: FunctionNode, role: Role, argument: Argument) {
  return parameterAt(fn, (calledWith[role] as readonly Argument[]).indexOf(argument));
}

/** What a function calls its argument at an index; `"hidden"` if it is reached another way. */
export function parameterAt(fn: FunctionNode, index: number) {
  const parameters = parametersOf(fn);
  const gathers = parameters.slice(0, index + 1).some((each) => each.dotDotDotToken !== undefined);
  return gathers || looksAround(fn) ? "hidden" : parameters[index]?.name;
}

/**
 * Says whether code in a function may see what it does not name; arrows have no own `arguments`.
 */
function looksAround(fn: FunctionNode): boolean {
  const isOpen = (name: string) =>
    name === "eval" || (name === "arguments" && !ts.isArrowFunction(fn));
  const text = fn.getText();
  // A name may be escaped.
  if (!/eval|arguments|\\u/.test(text)) return false;
  return identifiersIn(fn).some((id) => isOpen(id.text) && isReference(id));
}

/** What a handler reads of its scope; `"*"` when its use hides which names it reads. */
export type Reads = Read[] | "*";

/** What several functions read together. */
export const allReads = (all: readonly Reads[]): Reads =>
  all.includes("*") ? "*" : all.flatMap((reads) => (reads === "*" ? [] : reads));

/** Finds which names of its scope, or of another argument, a function reads, by syntax. */
export function readsOf(
  fn: FunctionNode,
  role: Role,
  file: DefinitionFile,
  argument: Argument = "scope",
): Reads {
  const binding = bindingOf(fn, role, argument);
  if (binding === undefined) return [];
  if (binding === "hidden") return "*";
  if (ts.isObjectBindingPattern(binding)) return readsOfPattern(binding, file, fn);
  return ts.isIdentifier(binding) ? readsThrough(binding, fn, file) : "*";
}

/**
 * `{ a, b: renamed, c = 1, d: { e } }` reads a, b, c and d.
 * @param fn of which it is a parameter: what that reads of each of them is seen too
 */
function readsOfPattern(
  pattern: TypeScript.ObjectBindingPattern,
  file: DefinitionFile,
  fn?: FunctionNode,
): Reads {
  const reads: Read[] = [];
  for (const element of pattern.elements) {
    if (element.dotDotDotToken !== undefined) return "*";
    const { name: binding, propertyName: key = binding } = element;
    const name = keyText(key);
    if (name === undefined) return "*";
    const inside = ts.isObjectBindingPattern(binding)
      ? readsOfPattern(binding, file)
      : fn !== undefined && ts.isIdentifier(binding)
        ? readsThrough(binding, fn, file, false)
        : "*";
    reads.push({ name, place: file.placeOf(key), fields: fieldsOf(inside) });
  }
  return reads;
}

const fieldsOf = (reads: Reads): readonly string[] | undefined =>
  reads === "*" ? undefined : reads.map(({ name }) => name);

/** Every use of the scope must read one name; the first that does not makes it all names. */
function readsThrough(
  parameter: TypeScript.Identifier,
  fn: FunctionNode,
  file: DefinitionFile,
  isWhole = true,
): Reads {
  const reads: Read[] = [];
  const name = parameter.text;
  const { body } = fn;
  // A `var` of the same name belongs to the whole function.
  if (body !== undefined && ts.isBlock(body) && namesIn(body).has(name)) return "*";
  for (const id of referencesIn(fn, (text) => text === name, fn)) {
    const found = readsOfUse(id, file, isWhole);
    if (found === "*") return "*";
    reads.push(...found);
  }
  return reads;
}

/** @param isWhole whether it is the scope itself, and not one of its values */
function readsOfUse(value: Node, file: DefinitionFile, isWhole: boolean): Reads {
  const use = wrapping(value);
  const { parent } = use;
  /** The read of one name, by `by`; of all names if it cannot be seen. */
  const readOf = (name: string | undefined, at: Node, by: Node): Reads => {
    // A method of a value may read all of it; the scope has those of every object.
    const isMethod = isWhole ? name !== undefined && name in {} : isCalled(wrapping(by));
    if (name === undefined || isMethod) return "*";
    const fields = isWhole ? fieldsOf(readsOfUse(by, file, false)) : undefined;
    return [{ name, place: file.placeOf(at), fields }];
  };
  // `typeof scope` in a type reads nothing.
  if (ts.isTypeQueryNode(parent) || ts.isQualifiedName(parent)) return [];
  if (ts.isPropertyAccessExpression(parent)) {
    const { name: member } = parent;
    return readOf(ts.isIdentifier(member) ? member.text : undefined, member, parent);
  }
  if (ts.isElementAccessExpression(parent) && parent.expression === use) {
    const { argumentExpression: argument } = parent;
    return readOf(stringOf(argument), argument, parent);
  }
  if (ts.isVariableDeclaration(parent) && parent.initializer === use) {
    const { name: pattern } = parent;
    if (ts.isObjectBindingPattern(pattern)) return readsOfPattern(pattern, file);
  }
  return "*";
}
