import { existsSync } from "node:fs";
import { join } from "node:path";
import { definitionFiles } from "../discover/definition-files.js";
import { readText } from "../discover/discover.js";
import { usualOutput } from "../plan/paths.js";
import { isOwn } from "./own-files.js";

/**
 * The folders that generated code stands in: those with an `index.ts` that the compiler has made. What it leaves in one when generated code moves
 * elsewhere has none.
 *
 * @returns folders relative to the functions folder, with `/`; those of components, which are apps of their own, are not among them
 */
export function generatedFolders(functionsDir: string): string[] {
  return [usualOutput, ...definitionFiles(functionsDir).folders].filter((folder) => {
    if (folder === "") return false;
    const index = readText(join(functionsDir, folder, "index.ts"));
    return index !== undefined && isOwn("index.ts", index) && !isInComponent(functionsDir, folder);
  });
}

/** By the file that makes a folder, or one around it, a component. */
function isInComponent(functionsDir: string, folder: string): boolean {
  const names = folder.split("/");
  return names.some((_name, at) =>
    existsSync(join(functionsDir, ...names.slice(0, at + 1), "convex.config.ts")),
  );
}
