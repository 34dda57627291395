import { posix } from "node:path";

/** The default folder, under the functions folder, that holds what the compiler writes. */
export const usualOutput = "_workflows";

/** The part of the plan in an output folder that holds for all workflows. */
export const planFileIn = (output: string): string => `${output}/plan.json`;

export const workflowPlanIn = (output: string, workflow: string): string =>
  `${output}/${workflow}.plan.json`;

export const isPlanFile = (path: string): boolean => /(^|[./])plan\.json$/.test(path);

/** The list of workflows, one a line, and what tells git to keep both lines of a merge. */
export const listFileIn = (output: string): string => `${output}/workflows.ts`;
export const attributesIn = (output: string): string => `${output}/.gitattributes`;

/** How many characters Convex allows for a folder, a file with its ending, or a function. */
export const maxPathSegment = 64;

/** Folder names with another use for Convex or the compiler: anywhere, and at the top. */
const reserved = /^(_generated|node_modules)$/i;
const reservedAtTop = /^(_deps|_system|actions)$/i;

/**
 * Says whether a value names a folder under the functions folder in which Convex finds functions.
 */
export function isOutputFolder(value: unknown): value is string {
  if (typeof value !== "string") return false;
  const names = value.split("/");
  return (
    names.every((name) => name.length <= maxPathSegment && /^\w+$/.test(name)) &&
    // Convex asks for one letter or digit in each.
    names.every((name) => /[A-Za-z0-9]/.test(name)) &&
    !names.some((name) => reserved.test(name)) &&
    !reservedAtTop.test(names[0] ?? "")
  );
}

/** The output folder of a config; the default if it has none or one that is not allowed. */
export function outputOf(config: { readonly output?: unknown } | undefined): string {
  return isOutputFolder(config?.output) ? config.output : usualOutput;
}

/** A folder, and the folders that it is in, from the outermost on: `a`, `a/b`. */
export function foldersAround(folder: string): string[] {
  const names = folder.split("/");
  return names.map((_name, at) => names.slice(0, at + 1).join("/"));
}

/** Settings for all workflows. Two dots in its name keep it from being a Convex entry point. */
export const configFile = "stepwise.config.ts";

/** The app's own config, which mounts components: Convex takes the first one that exists. */
export const convexConfigFiles = ["convex.config.ts", "convex.config.js"] as const;

export const usualComponent = "workflow";

/** A relative module as a file of the functions folder, without its ending; else undefined. */
export function resolveModule(file: string, module: string): string | undefined {
  if (!/^\.\.?(\/|$)/.test(module)) return undefined;
  const isFolder = /(^|\/)\.{0,2}$/.test(module);
  return withoutEnding(posix.join(posix.dirname(file), module, isFolder ? "index" : ""));
}

/** A relative module as it is written in a folder such as `_workflows/`. */
export function moduleFromOutput(file: string, module: string): string {
  if (!/^\.\.?(\/|$)/.test(module)) return module;
  const path = posix.join("..", posix.dirname(file), module);
  return path.startsWith(".") ? path : `./${path}`;
}

/** The definition's own file, as it is imported from such a folder. */
export const definitionModule = (file: string): string => `../${withoutEnding(file)}`;

/** A module name of a plan as it is written in the output folder, which may be deeper. */
export function moduleIn(output: string, module: string): string {
  const above = "../".repeat(output.split("/").length - 1);
  return /^\.\.(\/|$)/.test(module) ? above + module : module;
}

export const withoutEnding = (path: string): string => path.replace(/\.([cm]?[jt]s|[jt]sx)$/, "");
