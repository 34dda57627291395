import { type Node, ts, type TypeScript } from "../typescript.js";
import type { Fields } from "../plan/schema.js";
import type { AppModules, Declared, Module } from "./app-modules.js";
import { readOption, returnedBy, stringOf } from "./functions.js";
import type { DefinitionFile } from "./parser.js";
import { parsed, type ParsedOf } from "./parsed.js";
import { sortedBy } from "../plan/sorted.js";
import { calledIn, libraryOf, maxDepth, valueOf } from "./schema-parts.js";
import { moduleOf, schemaHash } from "./tokens.js";

/** What is read of one schema: another may name it many times. */
interface Reading extends ParsedOf {
  readonly shapes: Map<Node, Shape | undefined>;
  readonly given: Map<Node, FieldsOf | undefined>;
  readonly alternatives: Map<Node, readonly string[]>;
  /** The schemas of fields that are written out. */
  readonly written: Map<FieldOf, Declared>;
  /** What is seen of objects, by how deep they are inside others. */
  readonly inside: readonly Map<Node, Fields>[];
  /** The fields that are being read: one may stand for itself. */
  readonly open: Set<Node>;
}

/** How deep objects inside objects are read: one may be inside many others. */
const mostInside = 3;

const reading = (modules: AppModules): Reading => ({
  modules,
  shapes: new Map(),
  given: new Map(),
  alternatives: new Map(),
  written: new Map(),
  parsed: new Map(),
  inside: Array.from({ length: mostInside + 1 }, () => new Map<Node, Fields>()),
  open: new Set(),
});

/** The fields of `z.object({ … })` or `v.object({ … })`, or what else a schema is made of. */
export const fieldsOf = (schema: Node, file: DefinitionFile) =>
  fieldsIn({ node: schema, module: moduleOf(file) }, reading(file.modules));

/** What changes nothing in the fields of an object. */
const ofWhole = /^(describe|meta|register|clone|refine|superRefine|check)$/;

function fieldsIn(schema: Declared, app: Reading, depth = 0): Fields {
  const { isExact, isRefined, fields } = shapeOf(schema, app) ?? { isRefined: true };
  const all = [...(fields ?? [])].map(([name, fieldOf]) => ({ name, ...fieldOf() }));
  const { node } = valueOf(schema, app);
  app.open.add(node);
  const objects = depth < mostInside ? sortedBy(all, ({ name }) => name) : [];
  const inside = objects.flatMap(({ name, inside }) =>
    // One may be inside itself.
    inside.some(({ object }) => app.open.has(object.node))
      ? []
      : inside.map((each) => ({
          name: name + each.list,
          ...(each.as !== "" && { as: each.as }),
          of: fieldsInside(each, app, depth + 1),
        })),
  );
  app.open.delete(node);
  return {
    ...(isExact === true && { exact: true as const }),
    ...(fields && { fields: all.map(({ name, text }) => `${text} ${name}`).sort() }),
    ...(inside.length > 0 && { inside }),
    ...(isRefined && { oneOf: [...new Set(alternativesIn(schema, app))] }),
  };
}

function fieldsInside({ object }: Inside, app: Reading, depth: number): Fields {
  const known = app.inside[depth];
  const found = known?.get(object.node) ?? fieldsIn(object, app, depth);
  known?.set(object.node, found);
  return found;
}

/** An object, with `[]` for each list that it is in. */
interface Inside {
  readonly list: string;
  readonly object: Declared;
  /** What is around it, such as how long a list may be, and the tag that tells it from others. */
  readonly as: string;
}

/**
 * Returns the object that a schema is, or that it is a list of, or those of a union. Gives none if
 * a function refines one of them, or if one is not seen.
 */
function objectsIn(schema: Declared, app: Reading, list = "", as = ""): readonly Inside[] {
  const object = valueOf(schema, app);
  const { module } = object;
  const { of, method = "", args = [] } = calledIn(object.node) ?? {};
  if (of === undefined || list.length > maxDepth) return [];
  const isOfLibrary = libraryOf(of, module) !== undefined;
  if (method === "array") {
    const item = isOfLibrary ? args[0] : of;
    return item === undefined ? [] : objectsIn({ node: item, module }, app, `${list}[]`, as);
  }
  if (around.test(method)) {
    const [inner = of, ...by] = isOfLibrary ? args : [of, ...args];
    const hashes = by.map((each) => schemaHash(each, module, app.modules));
    const now = [as, method, ...hashes].join(" ");
    return objectsIn({ node: inner, module }, app, list, now);
  }
  if (isOfLibrary && /^(discriminatedU|u)nion$/.test(method))
    return membersIn(object, app, list, as);
  const shape = shapeOf(schema, app);
  return shape === undefined || shape.isRefined === true ? [] : [{ list, object, as }];
}

/** What changes nothing inside: how long a list may be, or that it may be null. */
const around = /^(min|max|length|nonempty|nullable|nullish)$/;

/**
 * Returns the objects of a union that a tag tells apart, so that each value is of one of them; of
 * one that may also be null, that object.
 */
function membersIn(union: Declared, app: Reading, list: string, as: string): readonly Inside[] {
  const { method = "", args = [] } = calledIn(union.node) ?? {};
  const isTagged = method === "discriminatedUnion";
  const [given] = isTagged ? args.slice(1) : args;
  const whole = given && valueOf({ node: given, module: union.module }, app);
  const isList = whole !== undefined && ts.isArrayLiteralExpression(whole.node);
  const { module } = isList ? whole : union;
  const parts = isList ? whole.node.elements : args;
  const members = parts.map((node) => valueOf({ node, module }, app));
  const objects = members.filter(({ node }) => calledIn(node)?.method !== "null");
  const mayBeNull = objects.length < members.length ? " null" : "";
  const shapes = objects.flatMap((each) => {
    const shape = shapeOf(each, app);
    return shape === undefined || shape.isRefined === true ? [] : [shape];
  });
  const named = isTagged ? stringOf(args[0]) : undefined;
  const tags = shapes.length < objects.length ? [] : tagsOf(shapes, named, app);
  return objects.flatMap((object, at) => {
    const tag = tags[at];
    return tag === undefined ? [] : [{ list, object, as: `${as}${mayBeNull} ${tag}` }];
  });
}

/** The hashes of what each of several objects has in a field in which no other has the same. */
function tagsOf(
  shapes: readonly Shape[],
  named: string | undefined,
  app: Reading,
): readonly string[] {
  const [first] = shapes;
  if (shapes.length === 1) return [""];
  for (const name of first?.fields.keys() ?? []) {
    const tags = shapes.flatMap(({ fields }) => {
      const fieldOf = fields.get(name);
      const isOne = name === named || isLiteral(fieldOf && app.written.get(fieldOf), app);
      return fieldOf && isOne ? fieldOf().text : [];
    });
    const isTag = tags.length === shapes.length && !tags.some((tag) => /[?=]$/.test(tag));
    if (isTag && new Set(tags).size === tags.length) return tags;
  }
  return [];
}

/** Says whether a schema takes one value alone, which is written out. */
function isLiteral(schema: Declared | undefined, app: Reading): boolean {
  const found = schema && valueOf(schema, app);
  const { of, method } = (found && calledIn(found.node)) ?? {};
  if (found === undefined || of === undefined || method !== "literal") return false;
  return libraryOf(of, found.module) !== undefined && alternativesIn(found, app).length === 1;
}

/** What a schema takes beside what it is made of: it is taken as it is, or filled in. */
const takesMore: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries({
    optional: ["undefined"],
    exactOptional: ["undefined"],
    nullable: ["null"],
    nullish: ["null", "undefined"],
    default: ["undefined"],
    _default: ["undefined"],
    prefault: ["undefined"],
    readonly: [],
    brand: [],
  }),
);

/** Hashes of the schemas of a union, and of the values of an enum; else that of the schema. */
function alternativesIn(schema: Declared, app: Reading, depth = 0): readonly string[] {
  const found = valueOf(schema, app);
  const made = app.alternatives.get(found.node) ?? alternativesOf(found, app, depth);
  app.alternatives.set(found.node, made);
  return made;
}

function alternativesOf({ node, module }: Declared, app: Reading, depth: number) {
  const { of, method = "", args = [] } = calledIn(node) ?? {};
  const library = of && libraryOf(of, module);
  const all = (parts: readonly Node[], from = module) =>
    fewest(parts.flatMap((part) => alternativesIn({ node: part, module: from }, app, depth + 1)));
  if (of === undefined || depth > maxDepth) return [schemaHash(node, module, app.modules)];
  if (library === undefined && method === "or") return all([of, ...args]);
  if (library === undefined && /^(describe|meta|register|clone)$/.test(method)) return all([of]);
  const more = library === "convex" ? undefined : takesMore.get(method);
  const around = more && all(library === undefined ? [of] : args.slice(0, 1));
  // Of what is no union, no more is told than that it is another schema.
  if (more !== undefined && around !== undefined && around.length > 1) return [...around, ...more];
  if (library === "convex" && method === "union") return all(args);
  const isEnum = /^(enum|nativeEnum)$/.test(method);
  const isListed = isEnum || /^(union|discriminatedUnion|literal)$/.test(method);
  const given = isEnum ? args.slice(0, 1) : args;
  for (const each of library === "zod" && isListed ? given : []) {
    const list = valueOf({ node: each, module }, app);
    const parts = ts.isArrayLiteralExpression(list.node)
      ? list.node.elements
      : isEnum && valuesIn(list.node);
    if (parts) return all(parts, list.module);
    if (method === "literal") return all([each]);
  }
  return [schemaHash(node, module, app.modules)];
}

/** The values of an `enum`, or of an object that stands for one, if all are written out. */
function valuesIn(node: TypeScript.Node): readonly Node[] | undefined {
  const isObject = ts.isObjectLiteralExpression(node);
  if (!isObject && !ts.isEnumDeclaration(node)) return undefined;
  const members = isObject ? node.properties : node.members;
  const values = [...members].map((each) =>
    ts.isPropertyAssignment(each) || ts.isEnumMember(each) ? each.initializer : undefined,
  );
  return values.every((each) => each !== undefined) ? values : undefined;
}

/** Each once; the same twice, if it is the only one of several. */
function fewest(alternatives: readonly string[]): readonly string[] {
  const each = [...new Set(alternatives)];
  return each.length === 1 ? alternatives.slice(0, 2) : each;
}

/**
 * Gives each field by name when asked for: one may be taken from among many, and its schema may be
 * in another that has a flag.
 */
type FieldsOf = ReadonlyMap<string, FieldOf>;

type FieldOf = (flag?: string) => Field;

interface Field {
  readonly text: string;
  readonly inside: readonly Inside[];
}

/** The fields of an object's schema; `isExact` if it takes no others. `isRefined` by a function. */
interface Shape {
  readonly isExact: boolean;
  readonly isRefined?: boolean;
  readonly fields: FieldsOf;
}

function shapeOf(schema: Declared, app: Reading, depth = 0): Shape | undefined {
  const found = valueOf(schema, app);
  if (app.shapes.has(found.node)) return app.shapes.get(found.node);
  const shape = shapeMade(found, app, depth);
  app.shapes.set(found.node, shape);
  return shape;
}

function shapeMade({ node, module }: Declared, app: Reading, depth: number): Shape | undefined {
  const called = calledIn(node);
  if (called === undefined || depth > maxDepth) return undefined;
  const { of, method, args } = called;
  const [argument] = args;
  const library = libraryOf(of, module);
  const more = argument && { node: argument, module };
  if (library !== undefined) {
    if (!/^(object|strictObject|looseObject)$/.test(method) || more === undefined) return undefined;
    const fields = fieldsGiven(more, app, depth);
    return fields && { isExact: library === "convex" || method === "strictObject", fields };
  }
  const inner = shapeOf({ node: of, module }, app, depth + 1);
  if (inner === undefined) return inner;
  if (ofWhole.test(method))
    return /refine|check/i.test(method) ? { ...inner, isRefined: true } : inner;
  const { fields } = inner;
  if (method === "strict") return { ...inner, isExact: true };
  if (/^(strip|loose|passthrough)$/.test(method)) return { ...inner, isExact: false };
  if (/^(safeExtend|extend)$/.test(method)) {
    const others = more && fieldsGiven(more, app, depth);
    return others && { ...inner, fields: new Map([...fields, ...others]) };
  }
  if (method === "merge") {
    const other = more && shapeOf(more, app, depth + 1);
    return other && { ...other, fields: new Map([...fields, ...other.fields]) };
  }
  const change = changes.get(method);
  const named = more === undefined ? undefined : namesIn(more, app);
  if (change === undefined || (more !== undefined && named === undefined)) return undefined;
  const changed = [...fields].flatMap(([name, fieldOf]) => {
    const now = change(fieldOf, named === undefined || named.has(name));
    return now === undefined ? [] : [[name, now] as const];
  });
  return { ...inner, fields: new Map(changed) };
}

/** What a method makes of a field; undefined if it takes the field away. */
const changes: ReadonlyMap<string, Change> = new Map(
  Object.entries<Change>({
    pick: (fieldOf, isNamed) => (isNamed ? fieldOf : undefined),
    omit: (fieldOf, isNamed) => (isNamed ? undefined : fieldOf),
    partial: (fieldOf, isNamed) => (isNamed ? (flag) => fieldOf(flag || "?") : fieldOf),
    required: (fieldOf, isNamed) => (isNamed ? (flag = "") => required(fieldOf(), flag) : fieldOf),
  }),
);

type Change = (fieldOf: FieldOf, isNamed: boolean) => FieldOf | undefined;

const required = ({ text, ...field }: Field, flag: string): Field => ({
  ...field,
  text: text.replace(/[?=]$/, "") + flag,
});

/** The names in a mask such as `{ id: true }`. */
function namesIn(mask: Declared, app: Reading): ReadonlySet<string> | undefined {
  const { node } = valueOf(mask, app);
  const names = ts.isObjectLiteralExpression(node)
    ? node.properties.map((each) => readOption(each)?.name)
    : [undefined];
  return names.every((name) => name !== undefined) ? new Set(names) : undefined;
}

/** The fields that are given as an object: written out, spread, or the `shape` of a schema. */
function fieldsGiven(given: Declared, app: Reading, depth: number): FieldsOf | undefined {
  const { node, module } = valueOf(given, app);
  if (ts.isPropertyAccessExpression(node) && /^(shape|fields)$/.test(node.name.text))
    return shapeOf({ node: node.expression, module }, app, depth + 1)?.fields;
  if (!ts.isObjectLiteralExpression(node) || depth > maxDepth) return undefined;
  if (!app.given.has(node)) app.given.set(node, fieldsWritten(node, module, app, depth));
  return app.given.get(node);
}

function fieldsWritten(
  node: TypeScript.ObjectLiteralExpression,
  module: Module,
  app: Reading,
  depth: number,
): FieldsOf | undefined {
  const fields = new Map<string, FieldOf>();
  for (const property of node.properties) {
    if (ts.isSpreadAssignment(property)) {
      const spread = fieldsGiven({ node: property.expression, module }, app, depth + 1);
      if (spread === undefined) return undefined;
      for (const [name, fieldOf] of spread) fields.set(name, fieldOf);
      continue;
    }
    const field = readOption(property);
    if (field === undefined || ts.isMethodDeclaration(property)) return undefined;
    const value = ts.isGetAccessor(property) ? returnedBy(property) : field.value;
    if (value === undefined) return undefined;
    const schema = { node: value, module };
    const fieldOf: FieldOf = (flag) => fieldIn(schema, app, flag, depth + 1);
    app.written.set(fieldOf, schema);
    fields.set(field.name, fieldOf);
  }
  return fields;
}

/**
 * Returns a field's text: a hash of its schema, and of each of a union, with `?` if the field may
 * be absent, or `=` if it is filled in. With it come the objects that it is, or is a list of.
 */
function fieldIn(schema: Declared, app: Reading, flag = "", depth: number): Field {
  const { node, module } = valueOf(schema, app);
  if (ts.isPropertyAccessExpression(node) && depth < maxDepth && !app.open.has(node)) {
    const shape = { node: node.expression, module };
    app.open.add(node);
    const field = fieldsGiven(shape, app, depth + 1)?.get(node.name.text)?.(flag);
    app.open.delete(node);
    if (field !== undefined) return field;
  }
  const { of, method, args } = calledIn(node) ?? {};
  const library = of && libraryOf(of, module);
  const isOfLibrary = library !== undefined;
  const inner = isOfLibrary ? args?.[0] : of;
  if (inner !== undefined && method !== undefined && depth < maxDepth) {
    const next = (of: TypeScript.Node, then: string) =>
      fieldIn({ node: of, module }, app, then, depth + 1);
    if (/^(_?default|prefault)$/.test(method)) return next(inner, "=");
    // It fills in what is refused, which nothing is that may be absent.
    if (method === "catch") {
      const isTaken = parsed({ node: inner, module }, undefined, app, true) !== undefined;
      return next(inner, flag || (isTaken ? "" : "="));
    }
    if (/^(optional|exactOptional)$/.test(method)) return next(inner, flag || "?");
    if (/^(readonly|brand)$/.test(method)) return next(inner, flag);
    if (!isOfLibrary && /^(describe|meta|register|clone)$/.test(method)) return next(inner, flag);
  }
  const isLoose = parsed(schema, undefined, app, true) !== undefined;
  const hash = schemaHash(node, module, app.modules);
  const nulls = method?.startsWith("null") === true ? takesMore.get(method) : undefined;
  const taken = inner && nulls ? [...alternativesIn({ node: inner, module }, app), ...nulls] : [];
  const all = taken.length > 0 ? taken : alternativesIn(schema, app);
  // Of what is no union, it is the schema itself.
  const oneOf = [...new Set(all)].filter((each) => each !== hash);
  const text = [hash, ...oneOf.sort()].join("|") + (flag || (isLoose ? "?" : ""));
  return { text, inside: objectsIn(schema, app) };
}
