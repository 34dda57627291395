import { type Node, ts } from "../typescript.js";
import type { AppModules, Declared, Module } from "./app-modules.js";
import { calledWith, type Seen, some } from "./called-with.js";
import { isFunctionNode, parametersOf, returnedBy } from "./functions.js";
import { calledIn, libraryOf, maxDepth, valueOf } from "./schema-parts.js";

/* What a schema gives for a value that is missing, or for any other. */

/** What has been found: a schema may be named many times. */
export interface ParsedOf {
  readonly modules: AppModules;
  readonly parsed: Map<Node, Parsed[]>;
}

interface Parsed {
  readonly module: Module;
  readonly value: unknown;
  readonly isAbsent: boolean;
  readonly made: Seen | undefined;
}

/** What gives the same for a missing value as the schema that it is called of. */
const asItIs = /^(describe|meta|register|clone|readonly|brand|refine|superRefine|check|overwrite)$/;

/**
 * Returns what a schema gives for a value; undefined if it refuses that, or if it is not seen.
 * Other values than `undefined` and `null` are not compared with what it takes.
 *
 * @param isAbsent whether the field is missing, and nothing was made in its place
 */
export function parsed(
  schema: Declared,
  value: unknown,
  app: ParsedOf,
  isAbsent: boolean,
  depth = 0,
): Seen | undefined {
  const found = valueOf(schema, app);
  const { node, module } = found;
  const before = app.parsed.get(node) ?? [];
  app.parsed.set(node, before);
  const known = before.find(
    (each) => each.module === module && Object.is(each.value, value) && each.isAbsent === isAbsent,
  );
  if (known !== undefined) return known.made;
  const made = madeOf(found, value, app, isAbsent, depth);
  before.push({ module, value, isAbsent, made });
  return made;
}

function madeOf(
  { node, module }: Declared,
  value: unknown,
  app: ParsedOf,
  isAbsent: boolean,
  depth: number,
): Seen | undefined {
  const { of, method = "", args = [] } = calledIn(node) ?? {};
  const same = { value };
  const fits = value != null && !Number.isNaN(value) ? same : undefined;
  if (of === undefined || depth > maxDepth) return fits;
  const isOfLibrary = libraryOf(of, module) !== undefined;
  const [inner, then] = isOfLibrary ? args : [of, ...args];
  const through = (part: Node | undefined, given = same, absent = isAbsent) =>
    part && parsed({ node: part, module }, given.value, app, absent, depth + 1);
  // A function that is not seen is taken to hand on what is missing.
  const called = (fn: Node | undefined, given = same) =>
    (fn && calledWith(valueOf({ node: fn, module }, app).node, given.value)) ?? given;
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
  if (is(/^apply$/) && then !== undefined) {
    const made = applied({ node: of, module }, { node: then, module }, app);
    return made === undefined ? fits : parsed(made, value, app, isAbsent, depth + 1);
  }
  if (is(/^lazy$/)) return inner && isFunctionNode(inner) ? through(returnedBy(inner)) : fits;
  if (is(/^preprocess$/)) return through(then, called(inner), false);
  if (is(/^transform$/) && isOfLibrary) return called(inner);
  const first = is(/^(transform|pipe|codec)$/) ? through(inner) : undefined;
  if (first === undefined) return fits;
  if (is(/^codec$/)) return { value: some };
  return is(/^pipe$/) ? through(then, first, false) : called(then, first);
}

/** Returns what a function makes of a schema, if it does nothing else. */
function applied(schema: Declared, by: Declared, app: ParsedOf): Declared | undefined {
  const { node: fn, module } = valueOf(by, app);
  const [parameter] = isFunctionNode(fn) ? parametersOf(fn) : [];
  const node = isFunctionNode(fn) ? returnedBy(fn) : undefined;
  if (parameter === undefined || !ts.isIdentifier(parameter.name)) return undefined;
  return node && { node, module: module.inside(parameter.name.text, schema) };
}
