// Guards against races are marked in the sources of the components by a comment, such as `// guard:
// token`, in front of what guards. A bundle can be made without one, to see which test notices.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ts } from "ts-morph";

const packages = fileURLToPath(new URL("../packages/", import.meta.url));
const MARKER = /\/\/ guard: ([\w-]+)(?:, else (.+))?$/gm;
const SOURCES = /packages\/work(flow|pool)\/src\/.*\.ts$/;
/** What a read is wrapped in that is to leave no trace. */
export const UNREAD = `(globalThis[Symbol.for("stepwise.unread")] ?? ((run) => run()))`;

/** Names of guards, each with the files that it is marked in. */
export function markedGuards() {
  const found = new Map();
  for (const name of ["workpool", "workflow"]) {
    const folder = join(packages, name, "src");
    for (const file of readdirSync(folder, { recursive: true })) {
      if (!file.endsWith(".ts")) continue;
      const text = readFileSync(join(folder, file), "utf8");
      for (const [, guard] of text.matchAll(MARKER)) {
        const files = found.get(guard) ?? [];
        found.set(guard, [...files, `${name}/src/${file}`]);
      }
    }
  }
  return found;
}

/** The rows of the tables of races in the READMEs: each race, and the names of what decides it. */
export function tabledRaces() {
  return ["workflow", "workpool"].flatMap((name) => {
    const text = readFileSync(join(packages, name, "src/component/README.md"), "utf8");
    const [, table = ""] = /^\| race .*\n\|[ |-]+\n((?:\|.*\n)+)/m.exec(text) ?? [];
    return table
      .trimEnd()
      .split("\n")
      .map((row) => {
        const [, race, , names] = row.split(/ *\| */);
        return { race, names: names.match(/[\w-]+/g) ?? [] };
      });
  });
}

/**
 * A source without a guard: what is marked by a name. An `if` is never true, an operand of `&&` or
 * `||` is left out, a statement or a property too. What a function or a `const` has read leaves no
 * trace, so that nothing conflicts with it. With `else`, that takes the place of the value.
 */
export function withoutGuard(text, guard) {
  const marks = [...text.matchAll(MARKER)].filter(([, name]) => name === guard);
  if (marks.length === 0) return text;
  const file = ts.createSourceFile("guarded.ts", text, ts.ScriptTarget.Latest, true);
  const edits = marks.map(({ index, 0: { length }, 2: instead }) => {
    const at = index + length + text.slice(index + length).search(/\S/);
    return editOf(nodeAt(file, at), instead);
  });
  let edited = text;
  for (const { from, to, put } of edits.toSorted((one, other) => other.from - one.from))
    edited = edited.slice(0, from) + put + edited.slice(to);
  return edited;
}

const isLogical = (node) =>
  ts.isBinaryExpression(node) &&
  [ts.SyntaxKind.AmpersandAmpersandToken, ts.SyntaxKind.BarBarToken].includes(
    node.operatorToken.kind,
  );

/** The largest node that begins at a place, but of a chain of `&&` and `||` only one operand. */
function nodeAt(file, at) {
  let found;
  const visit = (node) => {
    if (node.getStart() === at && node !== file && found === undefined && !isLogical(node))
      found = node;
    if (found === undefined && node.pos <= at && at < node.end) ts.forEachChild(node, visit);
  };
  visit(file);
  if (found === undefined) throw new Error(`Nothing is marked at ${at} of ${file.text}`);
  return found;
}

function editOf(node, instead) {
  const of = (part, put) => ({ from: part.getStart(), to: part.getEnd(), put });
  if (instead !== undefined) {
    const value = ts.isVariableStatement(node)
      ? node.declarationList.declarations[0].initializer
      : (node.initializer ?? node.expression ?? node);
    return of(value, instead);
  }
  if (ts.isIfStatement(node)) return of(node.expression, "false");
  if (ts.isFunctionDeclaration(node)) {
    const { body } = node;
    return of(body, `{ return await ${UNREAD}(async () => ${body.getText()}); }`);
  }
  if (ts.isVariableStatement(node)) {
    const { initializer } = node.declarationList.declarations[0];
    return of(initializer, `await ${UNREAD}(async () => ${initializer.getText()})`);
  }
  if (isLogical(node.parent)) {
    const isAnd = node.parent.operatorToken.kind === ts.SyntaxKind.AmpersandAmpersandToken;
    return of(node, String(isAnd));
  }
  // With the comma behind it.
  if (ts.isPropertyAssignment(node)) {
    const comma = /^\s*,/.exec(node.getSourceFile().text.slice(node.getEnd()))?.[0] ?? "";
    return { from: node.getStart(), to: node.getEnd() + comma.length, put: "" };
  }
  if (ts.isStatement(node)) return of(node, ";");
  throw new Error(`A guard cannot be ${node.getText()}`);
}

/**
 * What a mutation makes of a source.
 * @param mutation a `guard` that is left out; or a text to `find`, in `file` if that is given, and
 *   what to put in its place. White space may differ.
 * @returns the source, and how often it was changed.
 */
function mutated(path, text, { guard, file = "", find, replace }) {
  if (guard !== undefined) {
    const edited = withoutGuard(text, guard);
    return { text: edited, places: Number(edited !== text) };
  }
  if (!path.endsWith(file)) return { text, places: 0 };
  const pattern = find
    .trim()
    .split(/\s+/)
    .map((word) => word.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&"))
    .join("\\s+");
  const places = text.match(new RegExp(pattern, "g"))?.length ?? 0;
  return { text: text.replace(new RegExp(pattern), () => replace), places };
}

/** What a mutation makes of each source, and how often it changes that. */
function* allMutated(mutation) {
  for (const name of ["workpool", "workflow"]) {
    const folder = join(packages, name, "src");
    for (const file of readdirSync(folder, { recursive: true }))
      if (file.endsWith(".ts") && !file.includes("_generated"))
        yield mutated(`/${name}/src/${file}`, readFileSync(join(folder, file), "utf8"), mutation);
  }
}

/** How often a mutation's text occurs in the sources. */
export function placesOf(mutation) {
  let sum = 0;
  for (const { places } of allMutated(mutation)) sum += places;
  return sum;
}

/** Says whether what a mutation makes of the sources can be parsed. */
export function isWellFormed(mutation) {
  for (const { text, places } of allMutated(mutation)) {
    if (places === 0) continue;
    const { diagnostics } = ts.transpileModule(text, { reportDiagnostics: true });
    if (diagnostics.length > 0) return false;
  }
  return true;
}

/** A plugin for esbuild that makes a mutation in the sources of the components. */
export function mutating(mutation) {
  return {
    name: "mutation",
    setup({ onLoad }) {
      onLoad({ filter: SOURCES }, ({ path }) => {
        const { text } = mutated(path, readFileSync(path, "utf8"), mutation);
        return { contents: text, loader: "ts" };
      });
    },
  };
}

/** Changes nothing. */
export const NO_MUTATION = { guard: "" };

/**
 * With a mistake, something may schedule itself without end. So a test that is named fires no more
 * timers than this, which is far more than it needs.
 */
const MOST_TIMERS = "100_000";
const DRIVES = /packages\/testing\/src\/(?:drive|deployment\/deployment)\.ts$/;
const TIMERS = /(?<=maxTimers(?: =|:) )(?:200_000|Infinity)/;

/** The same for Vite. */
export function mutationOf(mutation) {
  return {
    name: "mutation",
    enforce: "pre",
    transform: (text, path) => {
      if (DRIVES.test(path)) return text.replace(TIMERS, MOST_TIMERS);
      return SOURCES.test(path) ? mutated(path, text, mutation).text : undefined;
    },
  };
}

/** The mutation that a process was started for. */
export function givenMutation() {
  const given = process.env.SIM_MUTATION;
  return given === undefined ? undefined : JSON.parse(given);
}
