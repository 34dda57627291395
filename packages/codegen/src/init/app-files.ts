import { ts, type TypeScript } from "../typescript.js";
import { posix } from "node:path";
import { readConfig } from "../analyze/config.js";
import { bareSource, callsIn } from "../analyze/descendants.js";
import { parseErrors } from "../analyze/parser.js";
import { isRecord, jsonObject } from "../json.js";
import { configFile, usualComponent } from "../plan/paths.js";

/** What `init` does to one file. A change that could break something is refused. */
export type Edit = { readonly file: string; readonly what: string } & (
  | { readonly kind: "create" | "change"; readonly text: string }
  /** A folder, with the texts of its files. */
  | { readonly kind: "create"; readonly files: Readonly<Record<string, string>> }
  | { readonly kind: "keep" | "refuse" }
);

export interface Insertion {
  readonly at: number;
  readonly text: string;
  /** Where the text ends that it replaces. Default: it replaces none. */
  readonly until?: number;
}

/** Makes all insertions at once, at positions of the given text, and keeps its line ends. */
export function insert(text: string, insertions: readonly Insertion[]): string {
  let result = text;
  const lastFirst = insertions.toReversed().sort((a, b) => b.at - a.at);
  for (const { at, text: added, until = at } of lastFirst)
    result =
      result.slice(0, at) + added.replaceAll(/\r?\n/g, lineEndOf(text)) + result.slice(until);
  return result;
}

const lineEndOf = (text: string) => (text.includes("\r\n") ? "\r\n" : "\n");

/** A text as a file; undefined when it does not parse. Places in it are those in the text. */
export function parse(text: string): TypeScript.SourceFile | undefined {
  const source = bareSource("file.ts", text.replace(/^\ufeff/, " "));
  return source !== undefined && parseErrors(source).length === 0 ? source : undefined;
}

export const firstWorkflowFile = "hello.workflow.ts";

const text = `import { defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";

/** A first workflow of two steps. Run \`npm run workflows\` after every change. */
export const hello = defineWorkflow({ input: z.object({ name: z.string() }) })
  .step("greeting", {
    // An action may call other services; it is tried again when it fails.
    action: async (_ctx, { input }) => \`Hello, \${input.name}!\`,
    retry: true,
  })
  .step("shouted", {
    // A query or mutation is a transaction. It sees the outputs of earlier steps, by name.
    query: async (_ctx, { greeting }) => greeting.toUpperCase(),
  });
`;

export function firstWorkflow(existing: readonly string[]): Edit {
  const [first] = existing;
  if (first !== undefined) return { kind: "keep", file: first, what: "is a workflow already" };
  return { kind: "create", file: firstWorkflowFile, text, what: "a first workflow" };
}

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

export const settingsIn = (text = "") => readConfig(text).config.values;

/** Has the app's config say the component's name; undefined if there is nothing to say. */
export function nameComponent(text = "", name: string): Edit | undefined {
  const what = `says that the component is mounted as "${name}"`;
  const option = `component: ${JSON.stringify(name)}`;
  const { config, diagnostics } = readConfig(text);
  const given = config.given.has("component") ? config.values.component : usualComponent;
  if (given === name && name === usualComponent) return undefined;
  if (given === name) return { kind: "keep", file: configFile, what: `${what} already` };
  if (text.trim() === "") {
    const fresh = `import { defineConfig } from "@stepwise/workflow";\n\nexport default defineConfig({ ${option} });\n`;
    return { kind: "create", file: configFile, text: fresh, what };
  }
  const object = objectIn(text);
  if (diagnostics.length > 0 || object === undefined || config.given.has("component")) {
    const why = config.given.has("component")
      ? `it gives another name to the component than convex.config, which mounts it as "${name}"`
      : "it cannot be edited safely";
    const instead = `${why}: write \`${option}\` into it yourself`;
    return { kind: "refuse", file: configFile, what: instead };
  }
  const rest = text.slice(object + 1);
  const [indent] = /^\s*\n[ \t]*/.exec(rest) ?? [""];
  const isEmpty = /^\s*\}/.test(rest);
  const added =
    indent === "" || isEmpty ? ` ${option}${isEmpty ? " " : ","}` : `${indent}${option},`;
  const edited = insert(text, [{ at: object + 1, text: added }]);
  return { kind: "change", file: configFile, text: edited, what };
}

/** Returns where the object begins that a config gives to `defineConfig`. */
function objectIn(text: string): number | undefined {
  const source = parse(text);
  return (source === undefined ? [] : callsIn(source))
    .filter((call) => /\bdefineConfig$/.test(call.expression.getText()))
    .flatMap((call) => call.arguments[0] ?? [])
    .find(ts.isObjectLiteralExpression)
    ?.getStart();
}

const manifest = "package.json";

const scripts: readonly (readonly [name: string, command: string])[] = [
  ["workflows", "workflow-codegen"],
  ["workflows:watch", "workflow-codegen --watch"],
  ["workflows:check", "workflow-codegen check"],
];

/** The packages an app with workflows needs, and those it needs only to develop it. */
const packages = ["@stepwise/workflow", "convex", "zod"];
const devPackages = ["@stepwise/codegen"];

export function addScripts(text = ""): Edit {
  const isNew = text.trim() === "";
  const before = isNew ? { private: true, type: "module" } : jsonObject(text);
  const refuse = (why: string): Edit => ({
    kind: "refuse",
    file: manifest,
    what: `${why}: correct it, then run init again`,
  });
  if (before === undefined) return refuse("it is not a JSON object");
  const { scripts: own = {} }: { scripts?: unknown } = before;
  if (!isRecord(own)) return refuse('its "scripts" are no object');
  const missing = scripts.filter(([name]) => !Object.hasOwn(own, name));
  if (missing.length === 0)
    return { kind: "keep", file: manifest, what: "has the scripts already" };
  const changed = { ...before, scripts: { ...own, ...Object.fromEntries(missing) } };
  const indent = /\n([ \t]+)"/.exec(text)?.[1] ?? 2;
  const mark = text.startsWith("\ufeff") ? "\ufeff" : "";
  const json = `${mark}${JSON.stringify(changed, undefined, indent)}\n`;
  const what = `adds the ${missing.length === 1 ? "script" : "scripts"} ${missing.map(([name]) => name).join(", ")}`;
  const kind = isNew ? "create" : "change";
  return { kind, file: manifest, text: json.replaceAll("\n", lineEndOf(text)), what };
}

/** @param isLinked says whether a package is there by a link, which its manifest does not name. */
export function missingPackages(
  text: string | undefined,
  isLinked: (name: string) => boolean,
): string | undefined {
  const present = installedBy(text);
  const command = (install: string, needed: readonly string[]) => {
    const missing = needed.filter((name) => !present.has(name) && !isLinked(name));
    return missing.length === 0 ? [] : [`${install} ${missing.join(" ")}`];
  };
  const install = command("npm install", packages);
  const installDev = command("npm install --save-dev", devPackages);
  return [...install, ...installDev].join(" && ") || undefined;
}

function installedBy(text = ""): ReadonlySet<string> {
  const lists = Object.entries(jsonObject(text) ?? {}).filter(([name]) =>
    /dependencies$/i.test(name),
  );
  return new Set(lists.flatMap(([, list]) => (isRecord(list) ? Object.keys(list) : [])));
}
