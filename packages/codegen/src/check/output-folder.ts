import { diagnostic, quote, type Diagnostic } from "../diagnostics/diagnostic.js";
import { configFile, usualOutput } from "../plan/paths.js";
import type { ConfigPlan } from "../plan/schema.js";

/** What is wrong with the output folder; `elsewhere` are other folders with generated code. */
export function checkOutputFolder(
  output: string,
  config: ConfigPlan | undefined,
  elsewhere: readonly string[],
  read: (file: string) => string | undefined,
): Diagnostic[] {
  const place = config?.given.get("output")?.place ?? { file: configFile, line: 1, column: 1 };
  const around = output === usualOutput ? [] : foldersAround(output);
  const components = around.filter((folder) => read(`${folder}/convex.config.ts`) !== undefined);
  return [
    ...elsewhere.map((folder) => {
      const message = `the output folder is ${quote(output)}, but generated code stands in ${quote(folder)}: runs in flight call its functions there`;
      const hint = `keep \`output: ${quote(folder)}\`; to move it, wait until no run is in flight, delete the folder ${quote(folder)}, and generate again`;
      return diagnostic("configValue", place, message, hint);
    }),
    ...components.map((folder) => {
      const message = `the output folder ${quote(output)} is in ${quote(folder)}, which is a component: its functions are none of the app`;
      const hint =
        "choose a folder outside of components: Convex deploys what is in one as part of it";
      return diagnostic("configValue", place, message, hint);
    }),
  ];
}

/** A folder, and those around it: `a`, `a/b`. */
function foldersAround(folder: string): string[] {
  const names = folder.split("/");
  return names.map((_name, at) => names.slice(0, at + 1).join("/"));
}
