import { type Node, ts, type TypeScript } from "../typescript.js";
import type { Fields } from "../plan/schema.js";
import type { AppModules, Declared, Module } from "./app-modules.js";
import { allBelow } from "./descendants.js";
import type { DefinitionFile } from "./parser.js";
import { hashOfSource, moduleOf } from "./tokens.js";

/** The fields of `z.object({ … })` or `v.object({ … })`; undefined if they are not written out. */
export const fieldsOf = (schema: Node, file: DefinitionFile) =>
  fieldsIn({ node: schema, module: moduleOf(file) }, file.modules);

/** What changes nothing in the fields of an object. */
const ofWhole = ["describe", "meta", "strict", "strip", "loose", "passthrough"];

/** What takes a missing value if the schema does that it is called of, or one of those it is given. */
const ofValue = /^(nullable|readonly|brand|refine|superRefine|check|overwrite|transform|or|union)$/;
/** What does if what a value goes through does, first of all. */
const ofFirst = /^(pipe|codec|preprocess)$/;
/** What takes a missing value that a schema before it has let through. */
const ofAny = /^(any|unknown|undefined|void|transform)$/;

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
    if (!isOfLibrary && /^(describe|meta)$/.test(method)) return next(inner, flag);
  }
  const given = [...(isOfLibrary || of === undefined ? [] : [of]), ...(args ?? [])];
  const isOf = (methods: RegExp) => method !== undefined && methods.test(method);
  const parts = isOf(ofValue) ? given : isOf(ofFirst) ? given.slice(0, 1) : [];
  if (method === "preprocess") parts.push(...given.slice(1));
  const mayBeAbsent = (part: TypeScript.Node): boolean => {
    if (ts.isArrayLiteralExpression(part)) return part.elements.some(mayBeAbsent);
    // What follows a schema sees what that has let through.
    if (ts.isArrowFunction(part) || ts.isFunctionExpression(part))
      return isOfLibrary && fillsIn(part);
    return /[?=]$/.test(fieldText({ node: part, module }, modules, "", depth + 1));
  };
  // What is piped on has to be there by then, or may be absent there, too.
  const isPassed = ([first, then]: readonly TypeScript.Node[]): boolean =>
    first === undefined ||
    then === undefined ||
    makesValue({ node: first, module }, modules) ||
    mayBeAbsent(then) ||
    ofAny.test(calledIn(then)?.method ?? "");
  const isLoose =
    method === "nullish" ||
    (depth < maxDepth && parts.some(mayBeAbsent) && (method !== "pipe" || isPassed(given)));
  return hashOfSource([node], module, modules) + (flag || (isLoose ? "?" : ""));
}

/** Says whether a schema that takes a missing value gives one in its place, as far as is seen. */
function makesValue(schema: Declared, modules: AppModules): boolean {
  const { node } = valueOf(schema, modules);
  if (fieldText(schema, modules).includes("=")) return true;
  const isFilling = (part: Node) =>
    (ts.isArrowFunction(part) || ts.isFunctionExpression(part)) && fillsIn(part);
  return allBelow(node).some(isFilling);
}

/** Says whether a function shows that it gives something for what is missing: by `=` or `??`. */
function fillsIn({
  parameters: [value],
  body,
}: TypeScript.FunctionLike & { body?: Node }): boolean {
  if (value === undefined || body === undefined) return false;
  const { name, initializer } = value;
  const isFilling = (part: Node) =>
    ts.isBinaryExpression(part) &&
    /^(\?\?|\|\|)=?$/.test(ts.tokenToString(part.operatorToken.kind) ?? "") &&
    ts.isIdentifier(name) &&
    ts.isIdentifier(part.left) &&
    part.left.text === name.text;
  return initializer !== undefined || [body, ...allBelow(body)].some(isFilling);
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
