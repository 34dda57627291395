import type { ObjectLiteralExpression, SourceFile } from "ts-morph";
import { Node, Project, SyntaxKind } from "../ts-morph.js";
import { posix } from "node:path";
import { readConfig } from "../analyze/config.js";
import { configFile, outputOf, usualComponent } from "../plan/paths.js";

/** What `init` does to one file. A change that could break something is refused. */
export type Edit = { readonly file: string; readonly what: string } & (
  | { readonly kind: "create" | "change"; readonly text: string }
  | { readonly kind: "keep" | "refuse" }
);

/** Text put into a text at a position. */
export interface Insertion {
  readonly at: number;
  readonly text: string;
  /** Where the text ends that it replaces. Default: it replaces none. */
  readonly until?: number;
}

/** Makes all insertions at once, at positions of the given text, and keeps its line ends. */
export function insert(text: string, insertions: readonly Insertion[]): string {
  const lineEnd = text.includes("\r\n") ? "\r\n" : "\n";
  let result = text;
  const lastFirst = insertions.toReversed().sort((a, b) => b.at - a.at);
  for (const { at, text: added, until = at } of lastFirst)
    result = result.slice(0, at) + added.replaceAll("\n", lineEnd) + result.slice(until);
  return result;
}

/** A text as a file; undefined when it does not parse. Places in it are those in the text. */
export function parse(text: string): SourceFile | undefined {
  const project = new Project({ useInMemoryFileSystem: true, skipLoadingLibFiles: true });
  const source = project.createSourceFile("/file.ts", text.replace(/^\ufeff/, " "));
  const { parseDiagnostics = [] } = source.compilerNode as unknown as {
    parseDiagnostics?: unknown[];
  };
  return parseDiagnostics.length === 0 ? source : undefined;
}

export const firstWorkflowFile = "hello.workflow.ts";

const text = `import { defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";

/** A first workflow: two steps, one after the other. Run \`npm run workflows\` after every change. */
export const hello = defineWorkflow({ input: z.object({ name: z.string() }) })
  .step("greeting", {
    // An action may call other services; it is tried again when it fails.
    action: async (_ctx, { input }) => \`Hello, \${input.name}!\`,
    retry: true,
  })
  .step("shouted", {
    // A query or mutation runs inside a transaction. It sees the outputs of the steps before it, by name.
    query: async (_ctx, { greeting }) => greeting.toUpperCase(),
  });
`;

export function firstWorkflow(existing: readonly string[]): Edit {
  const [first] = existing;
  if (first !== undefined) return { kind: "keep", file: first, what: "is a workflow already" };
  return { kind: "create", file: firstWorkflowFile, text, what: "a first workflow" };
}

/** Keeps Prettier out of generated code. @param text of `.prettierignore` */
export function ignoreGenerated(text: string | undefined, folder: string): Edit {
  const file = ".prettierignore";
  const what = "keeps Prettier out of generated code";
  if (text === undefined) return { kind: "create", file, text: `${folder}\n`, what };
  const isIgnored = text.split(/\r?\n/).some((line) => {
    const [, path] = /^\/?(?:\*\*\/)?(.*?)\/?$/.exec(line.trim()) ?? [];
    return path === folder || path === posix.basename(folder);
  });
  if (isIgnored) return { kind: "keep", file, what: "ignores generated code already" };
  const lead = text === "" || text.endsWith("\n") ? "" : "\n";
  const added = insert(text, [{ at: text.length, text: `${lead}${folder}\n` }]);
  return { kind: "change", file, text: added, what };
}

/** The component's name in the app's config; undefined when it gives none. */
export function configuredName(text: string | undefined): string | undefined {
  const name = text === undefined ? undefined : readConfig(text).config.values.component;
  return typeof name === "string" ? name : undefined;
}

/** The output folder of the app's config, relative to the functions folder. */
export const configuredOutput = (text: string | undefined): string =>
  outputOf(text === undefined ? undefined : readConfig(text).config.values);

/** Has the app's config say the component's name; undefined if there is nothing to say. */
export function nameComponent(text: string | undefined, name: string): Edit | undefined {
  const what = `says that the component is mounted as "${name}"`;
  const option = `component: ${JSON.stringify(name)}`;
  if (text === undefined || text.trim() === "") {
    const fresh = `import { defineConfig } from "@stepwise/workflow";\n\nexport default defineConfig({ ${option} });\n`;
    return name === usualComponent
      ? undefined
      : { kind: "create", file: configFile, text: fresh, what };
  }
  const { config, diagnostics } = readConfig(text);
  const given = config.given.has("component") ? config.values.component : usualComponent;
  if (given === name)
    return name === usualComponent
      ? undefined
      : { kind: "keep", file: configFile, what: `${what} already` };
  const object = objectIn(text);
  if (diagnostics.length > 0 || object === undefined || config.given.has("component")) {
    const why = config.given.has("component")
      ? `it gives another name to the component than convex.config, which mounts it as "${name}"`
      : "it cannot be edited safely";
    return {
      kind: "refuse",
      file: configFile,
      what: `${why}: write \`${option}\` into it yourself`,
    };
  }
  const rest = text.slice(object + 1);
  const [indent] = /^\s*\n[ \t]*/.exec(rest) ?? [""];
  const isEmpty = /^\s*\}/.test(rest);
  const added =
    indent === "" || isEmpty ? ` ${option}${isEmpty ? " " : ","}` : `${indent}${option},`;
  return {
    kind: "change",
    file: configFile,
    text: insert(text, [{ at: object + 1, text: added }]),
    what,
  };
}

function objectIn(text: string): number | undefined {
  const calls = parse(text)?.getDescendantsOfKind(SyntaxKind.CallExpression) ?? [];
  for (const call of calls) {
    const [argument] = call.getArguments();
    if (
      /\bdefineConfig$/.test(call.getExpression().getText()) &&
      Node.isObjectLiteralExpression(argument)
    )
      return argument.getStart();
  }
  return undefined;
}

const manifest = "package.json";

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
    return { kind: "create", file: manifest, text: json, what: added(scripts) };
  }
  const root = parseJson(text);
  const refuse = (why: string): Edit => ({
    kind: "refuse",
    file: manifest,
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
  if (missing.length === 0)
    return { kind: "keep", file: manifest, what: "has the scripts already" };
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
  return { kind: "change", file: manifest, text: changed, what: added(missing) };
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
  const root = text === undefined ? undefined : parseJson(text);
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
function parseJson(text: string): ObjectLiteralExpression | undefined {
  try {
    JSON.parse(unmarked(text));
  } catch {
    return undefined;
  }
  const [statement] = parse(`(${unmarked(text)})`)?.getStatements() ?? [];
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
