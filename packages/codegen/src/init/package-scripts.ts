import type { ObjectLiteralExpression } from "ts-morph";
import { Node } from "../ts-morph.js";
import { insert, parse as parseCode, type Edit } from "./edit.js";

const file = "package.json";

const scripts: readonly (readonly [name: string, command: string])[] = [
  ["workflows", "workflow-codegen"],
  ["workflows:watch", "workflow-codegen --watch"],
  ["workflows:check", "workflow-codegen check"],
];

/** The packages an app with workflows needs, and whether only to develop it. */
const needed = {
  "@stepwise/workflow": false,
  convex: false,
  zod: false,
  "@stepwise/codegen": true,
};

/** Adds the missing scripts to a `package.json`, and leaves the rest of its text as it is. */
export function addScripts(text: string | undefined): Edit {
  if (text === undefined || text.trim() === "") {
    const fresh = { private: true, type: "module", scripts: Object.fromEntries(scripts) };
    const json = `${JSON.stringify(fresh, undefined, 2)}\n`;
    return { kind: "create", file, text: json, what: added(scripts) };
  }
  const root = parse(text);
  const refuse = (why: string): Edit => ({
    kind: "refuse",
    file,
    what: `${why}: mend it, then run init again`,
  });
  if (root === undefined) return refuse("it is not a JSON object");
  const own = root.getProperty((property) => keyOf(property) === "scripts");
  const value = Node.isPropertyAssignment(own) ? own.getInitializer() : undefined;
  if (own !== undefined && !Node.isObjectLiteralExpression(value))
    return refuse('its "scripts" are no object');
  const present = Node.isObjectLiteralExpression(value) ? value : undefined;
  const names = new Set(present?.getProperties().map(keyOf));
  const missing = scripts.filter(([name]) => !names.has(name));
  if (missing.length === 0) return { kind: "keep", file, what: "has the scripts already" };
  const indent = /\n([ \t]+)"/.exec(text)?.[1] ?? "  ";
  const lines = missing.map(
    ([name, command]) => `${JSON.stringify(name)}: ${JSON.stringify(command)}`,
  );
  const block = `"scripts": {\n${lines.map((line) => indent + indent + line).join(",\n")}\n${indent}}`;
  const insertion =
    present === undefined
      ? into(root, [block], indent, "")
      : into(present, lines, indent + indent, indent);
  const changed = marked(text, insert(unmarked(text), [insertion]));
  return { kind: "change", file, text: changed, what: added(missing) };
}

/** How to install what an app lacks; undefined when it has all. */
export function missingPackages(text: string | undefined): string | undefined {
  const present = installedBy(text);
  const missing = Object.entries(needed).filter(([name]) => !present.has(name));
  const command = (install: string, dev: boolean) => {
    const names = missing.filter(([, isDev]) => isDev === dev).map(([name]) => name);
    return names.length === 0 ? [] : [`${install} ${names.join(" ")}`];
  };
  const commands = [...command("npm install", false), ...command("npm install --save-dev", true)];
  return commands.join(" && ") || undefined;
}

function installedBy(text: string | undefined): ReadonlySet<string> {
  const root = text === undefined ? undefined : parse(text);
  const names = root?.getProperties().flatMap((list) => {
    const value = Node.isPropertyAssignment(list) ? list.getInitializer() : undefined;
    const isList = keyOf(list)?.toLowerCase().endsWith("dependencies") === true;
    return isList && Node.isObjectLiteralExpression(value) ? value.getProperties().map(keyOf) : [];
  });
  return new Set(names?.flatMap((name) => name ?? []));
}

const added = (names: readonly (readonly [string, string])[]): string =>
  `adds the ${names.length === 1 ? "script" : "scripts"} ${names.map(([name]) => name).join(", ")}`;

/** JSON is an expression, whose places a parser of expressions knows. */
function parse(text: string): ObjectLiteralExpression | undefined {
  try {
    JSON.parse(unmarked(text));
  } catch {
    return undefined;
  }
  const [statement] = parseCode(`(${unmarked(text)})`)?.getStatements() ?? [];
  const outer = Node.isExpressionStatement(statement) ? statement.getExpression() : undefined;
  const inner = Node.isParenthesizedExpression(outer) ? outer.getExpression() : undefined;
  return Node.isObjectLiteralExpression(inner) ? inner : undefined;
}

function keyOf(property: Node): string | undefined {
  const name = Node.isPropertyAssignment(property) ? property.getNameNode() : undefined;
  return Node.isStringLiteral(name) ? name.getLiteralText() : undefined;
}

/** After the last property of an object, one on each line. */
function into(
  object: ObjectLiteralExpression,
  lines: readonly string[],
  indent: string,
  closing: string,
): { at: number; text: string } {
  const last = object.getProperties().at(-1);
  const text = lines.map((line) => `\n${indent}${line}`).join(",");
  // Less one, for the parenthesis that was parsed before the text.
  if (last !== undefined) return { at: last.getEnd() - 1, text: `,${text}` };
  const rest = object.getText().slice(1, -1);
  return { at: object.getStart(), text: rest.includes("\n") ? text : `${text}\n${closing}` };
}

const unmarked = (text: string): string => text.replace(/^\ufeff/, "");
const marked = (original: string, text: string): string =>
  original.startsWith("\ufeff") ? `\ufeff${text}` : text;
