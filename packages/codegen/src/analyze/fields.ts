import { type Node, ts, type TypeScript } from "../typescript.js";
import type { Fields } from "../plan/schema.js";
import type { AppModules, Declared, Module } from "./app-modules.js";
import { calledWith, type Seen, some } from "./called-with.js";
import { isFunctionNode, returnedBy } from "./functions.js";
import type { DefinitionFile } from "./parser.js";
import { hashOfSource, moduleOf } from "./tokens.js";

/** The fields of `z.object({ … })` or `v.object({ … })`; undefined if they are not written out. */
export const fieldsOf = (schema: Node, file: DefinitionFile) =>
  fieldsIn({ node: schema, module: moduleOf(file) }, file.modules);

/** What changes nothing in the fields of an object. */
const ofWhole = "describe meta register clone strict strip loose passthrough".split(" ");

/** What gives the same for a missing value as the schema that it is called of. */
const asItIs = /^(describe|meta|register|clone|readonly|brand|refine|superRefine|check|overwrite)$/;

/** How many calls and names are followed: a schema may stand for itself by mistake. */
const maxDepth = 50;

function fieldsIn(schema: Declared, modules: AppModules, depth = 0): Fields | undefined {
  const { node, module } = valueOf(schema, modules);
  const called = calledIn(node);
  if (called === undefined || depth > maxDepth) return undefined;
  const { of, method, args } = called;
  const library = libraryOf(of, module);
  if (library === undefined) {
    const inner = ofWhole.includes(method) ? { node: of, module } : undefined;
    const fields = inner && fieldsIn(inner, modules, depth + 1);
    return fields && method === "strict" ? { exact: true, fields: fields.fields } : fields;
  }
  const [object] = args;
  if (!/^(object|strictObject|looseObject)$/.test(method) || object === undefined) return undefined;
  if (!ts.isObjectLiteralExpression(object)) return undefined;
  const fields = object.properties.map((property) => {
    const { name } = property;
    const value = ts.isPropertyAssignment(property) ? property.initializer : name;
    const isNamed = name && (ts.isIdentifier(name) || ts.isStringLiteral(name));
    const isPlain = ts.isPropertyAssignment(property) || ts.isShorthandPropertyAssignment(property);
    return isNamed && isPlain && value
      ? `${fieldText({ node: value, module }, modules)} ${name.text}`
      : undefined;
  });
  if (!fields.every((field) => field !== undefined)) return undefined;
  const isExact = library === "convex" || method === "strictObject";
  return { ...(isExact && { exact: true as const }), fields: fields.sort() };
}

/** A hash of a field's schema, with `?` if the field may be absent, or `=` if it is filled in. */
function fieldText(schema: Declared, modules: AppModules, flag = "", depth = 0): string {
  const { node, module } = valueOf(schema, modules);
  const { of, method, args } = calledIn(node) ?? {};
  const library = of && libraryOf(of, module);
  const isOfLibrary = library !== undefined;
  const inner = isOfLibrary ? args?.[0] : of;
  if (inner !== undefined && method !== undefined && depth < maxDepth) {
    const next = (of: TypeScript.Node, then: string) =>
      fieldText({ node: of, module }, modules, then, depth + 1);
    if (/^(_?default|prefault|catch)$/.test(method)) return next(inner, "=");
    if (/^(optional|exactOptional)$/.test(method)) return next(inner, flag || "?");
    if (!isOfLibrary && /^(describe|meta|register|clone)$/.test(method)) return next(inner, flag);
  }
  const isLoose = parsed(schema, undefined, modules, true) !== undefined;
  return hashOfSource([node], module, modules) + (flag || (isLoose ? "?" : ""));
}

/**
 * Returns what a schema gives for a value; undefined if it refuses that, or if it is not seen.
 * Other values than `undefined` and `null` are not compared with what it takes.
 *
 * @param isAbsent whether the field is missing, and nothing was made in its place
 */
function parsed(
  schema: Declared,
  value: unknown,
  modules: AppModules,
  isAbsent: boolean,
  depth = 0,
): Seen | undefined {
  const { node, module } = valueOf(schema, modules);
  const { of, method = "", args = [] } = calledIn(node) ?? {};
  const same = { value };
  const fits = value != null && !Number.isNaN(value) ? same : undefined;
  if (of === undefined || depth > maxDepth) return fits;
  const isOfLibrary = libraryOf(of, module) !== undefined;
  const [inner, then] = isOfLibrary ? args : [of, ...args];
  const through = (part: Node | undefined, given = same, absent = isAbsent) =>
    part && parsed({ node: part, module }, given.value, modules, absent, depth + 1);
  // A function that is not seen is taken to hand on what is missing.
  const called = (fn: Node | undefined, given = same) =>
    (fn && calledWith(valueOf({ node: fn, module }, modules).node, given.value)) ?? given;
  const is = (methods: RegExp) => methods.test(method);
  if (is(asItIs)) return through(inner);
  if (is(/^(any|unknown|undefined|void)$/)) return isAbsent ? undefined : same;
  if (is(/^(optional|exactOptional|nullish)$/) && value === undefined) return same;
  if (is(/^(nullable|nullish|null)$/) && value === null) return same;
  if (is(/^(optional|exactOptional|nullish|nullable)$/)) return through(inner);
  if (is(/^(_?default|prefault)$/) && value === undefined) return { value: some };
  if (is(/^(_?default|prefault)$/)) return through(inner);
  if (is(/^catch$/)) return through(inner) ?? { value: some };
  if (is(/^(union|or)$/)) {
    const parts = (isOfLibrary ? [...args] : [of, ...args]).flatMap((part) =>
      ts.isArrayLiteralExpression(part) ? [...part.elements] : [part],
    );
    return parts.map((part) => through(part)).find((found) => found !== undefined);
  }
  if (is(/^lazy$/)) return inner && isFunctionNode(inner) ? through(returnedBy(inner)) : fits;
  if (is(/^preprocess$/)) return through(then, called(inner), false);
  if (is(/^transform$/) && isOfLibrary) return called(inner);
  const first = is(/^(transform|pipe|codec)$/) ? through(inner) : undefined;
  if (first === undefined) return fits;
  if (is(/^codec$/)) return { value: some };
  return is(/^pipe$/) ? through(then, first, false) : called(then, first);
}

/** What an expression is without parentheses and types, or what the name in it stands for. */
function valueOf({ node, module }: Declared, modules: AppModules, depth = 0): Declared {
  if (
    ts.isParenthesizedExpression(node) ||
    ts.isAsExpression(node) ||
    ts.isSatisfiesExpression(node)
  )
    return valueOf({ node: node.expression, module }, modules, depth);
  const found = ts.isIdentifier(node)
    ? modules.find(node.text, module)
    : ts.isPropertyAccessExpression(node)
      ? modules.member(node.name.text, node.expression, module)
      : undefined;
  return found === undefined || depth > maxDepth
    ? { node, module }
    : valueOf(found, modules, depth + 1);
}

function calledIn(node: TypeScript.Node) {
  if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression))
    return undefined;
  const { expression: of, name } = node.expression;
  return { of, method: name.text, args: node.arguments };
}

function libraryOf(node: TypeScript.Node, { imports }: Module): "zod" | "convex" | undefined {
  const from = ts.isIdentifier(node) ? imports.get(node.text)?.module : undefined;
  if (from === "convex/values") return "convex";
  return from !== undefined && /^zod(\/|$)/.test(from) ? "zod" : undefined;
}
