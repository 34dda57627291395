import { resolveModule } from "../plan/paths.js";
import { aliasedPaths } from "./path-aliases.js";

/** Reads a file of the functions folder, by its path relative to it; undefined if missing. */
export type ReadModule = (file: string) => string | undefined;

const endings = [".ts", ".tsx", ".js", "/index.ts"];

/** The paths of the functions folder that a module may stand for; none for a package. */
export function modulePaths(from: string, module: string, read: ReadModule): string[] {
  const own = resolveModule(from, module);
  const paths = own === undefined ? aliasedPaths(from, module, read).map(withoutEnding) : [own];
  return paths.map((path) => insideFunctions(path, read));
}

const withoutEnding = (path: string): string => path.replace(/\.[jt]s$/, "");

/** `../convex/order` is `order`: the functions folder does not know its own name. */
function insideFunctions(path: string, read: ReadModule): string {
  const [, above = ""] = /^((?:\.\.\/)+)/.exec(path) ?? [];
  const depth = above.length / "../".length;
  const inside = path
    .split("/")
    .slice(2 * depth)
    .join("/");
  if (depth === 0 || inside === "") return path;
  const isSame = (ending: string) => {
    const text = read(inside + ending);
    return text !== undefined && read(path + ending) === text;
  };
  return endings.some(isSame) ? inside : path;
}

/** A file that a module's name stands for, with its path without the ending. */
export interface ModuleFile {
  readonly path: string;
  readonly file: string;
  readonly text: string;
}

/** The file of the functions folder that a module's name stands for; not one that is generated. */
export function moduleFile(from: string, module: string, read: ReadModule): ModuleFile | undefined {
  const inside = (path: string) => (path.startsWith("..") ? undefined : read(path));
  return moduleFileAnywhere(from, module, inside, modulePaths(from, module, read));
}

/** The same, also in the folders around the functions folder. */
export function moduleFileAnywhere(
  from: string,
  module: string,
  read: ReadModule,
  paths: readonly string[] = modulePaths(from, module, read),
): ModuleFile | undefined {
  for (const path of paths) {
    if (isGenerated(path)) continue;
    for (const ending of endings) {
      const text = read(path + ending);
      if (text !== undefined) return { path, file: path + ending, text };
    }
  }
  return undefined;
}

/** The first path that a module's name stands for: that of a file of the app, if there is one. */
export const modulePath = (from: string, module: string, read: ReadModule): string | undefined =>
  moduleFile(from, module, read)?.path ?? modulePaths(from, module, read)[0];

/** Whether a path of the functions folder is generated, by Convex or by the compiler. */
export const isGenerated = (path: string): boolean =>
  /(^|\/)_(generated|workflows)(\/|$)/.test(path);
