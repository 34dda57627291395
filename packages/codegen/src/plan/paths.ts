import { posix } from "node:path";

/** The folder under the functions folder that holds what the compiler writes. */
export const outputFolder = "_workflows";

/** The compiled plan, which says what there was in earlier versions. */
export const planFile = `${outputFolder}/plan.json`;

/** The file under the functions folder that holds what is the same for all workflows. By its name, with two dots, no entry point of Convex. */
export const configFile = "stepwise.config.ts";

/** The name under which the component is mounted where the config says none: that of its package. */
export const usualComponent = "workflow";

/** A relative module name as a file of the functions folder, without its ending; undefined for a package. */
export function resolveModule(file: string, module: string): string | undefined {
  if (!module.startsWith("./") && !module.startsWith("../")) return undefined;
  return withoutEnding(posix.join(posix.dirname(file), module));
}

/** A relative module name as it must be written in `_workflows/`; others stay as they are. */
export function moduleFromOutput(file: string, module: string): string {
  if (!module.startsWith("./") && !module.startsWith("../") && module !== "." && module !== "..")
    return module;
  const path = posix.join("..", posix.dirname(file), module);
  return path.startsWith(".") ? path : `./${path}`;
}

/** The definition's own file, as it is imported from `_workflows/`. */
export function definitionModule(file: string): string {
  return `../${withoutEnding(file)}`;
}

function withoutEnding(path: string): string {
  return path.replace(/\.[jt]s$/, "");
}
