import { posix } from "node:path";

/** The folder under the functions folder that holds what the compiler writes, where the config says none. */
export const usualOutput = "_workflows";

/** The part of the plan in an output folder that holds for all workflows. */
export const planFileIn = (output: string): string => `${output}/plan.json`;

/** The plan of one workflow. */
export const workflowPlanIn = (output: string, workflow: string): string =>
  `${output}/${workflow}.plan.json`;

/** Whether a file of an output folder is a part of the plan. */
export const isPlanFile = (path: string): boolean => /(^|[./])plan\.json$/.test(path);

/** The list of all workflows in an output folder, one a line; and what tells git to keep both lines of two branches. */
export const listFileIn = (output: string): string => `${output}/workflows.ts`;
export const attributesIn = (output: string): string => `${output}/.gitattributes`;

/** As many characters as Convex allows in a name of a path: a folder, a file with its ending, a function. */
export const maxPathSegment = 64;

/** Names of folders that Convex or the compiler has another use for, wherever they stand; and those at the top of the functions folder. */
const reserved = /^(_generated|node_modules)$/i;
const reservedAtTop = /^(_deps|_system|actions)$/i;

/** Whether a value names a folder under the functions folder in which Convex finds functions. */
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

/** The output folder that a config says; where it says none, or one that cannot be, the usual one. */
export function outputOf(config: { readonly output?: unknown } | undefined): string {
  return isOutputFolder(config?.output) ? config.output : usualOutput;
}

/** Whether two folders are one on macOS and Windows, where names that differ only in case are the same. */
export const isSameFolder = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase();

/** The file under the functions folder that holds what is the same for all workflows. By its name, with two dots, no entry point of Convex. */
export const configFile = "stepwise.config.ts";

/** The app's own config, in which it mounts components: Convex takes the first of them that is there. */
export const convexConfigFiles = ["convex.config.ts", "convex.config.js"] as const;

/** The name under which the component is mounted where the config says none: that of its package. */
export const usualComponent = "workflow";

/** A relative module name as a file of the functions folder, without its ending; undefined for a package. */
export function resolveModule(file: string, module: string): string | undefined {
  if (!module.startsWith("./") && !module.startsWith("../")) return undefined;
  return withoutEnding(posix.join(posix.dirname(file), module));
}

/**
 * A relative module name as it is written in a folder at the top of the functions folder, such as `_workflows/`; others stay as they are. So
 * plans have it, wherever the output folder is.
 */
export function moduleFromOutput(file: string, module: string): string {
  if (!module.startsWith("./") && !module.startsWith("../") && module !== "." && module !== "..")
    return module;
  const path = posix.join("..", posix.dirname(file), module);
  return path.startsWith(".") ? path : `./${path}`;
}

/** The definition's own file, as it is imported from such a folder. */
export function definitionModule(file: string): string {
  return `../${withoutEnding(file)}`;
}

/** A module name of a plan as it is written in the output folder, which may be deeper. */
export function moduleIn(output: string, module: string): string {
  const above = "../".repeat(output.split("/").length - 1);
  return /^\.\.(\/|$)/.test(module) ? above + module : module;
}

function withoutEnding(path: string): string {
  return path.replace(/\.[jt]s$/, "");
}
