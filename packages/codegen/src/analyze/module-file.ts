import { resolveModule } from "../plan/paths.js";

/** Reads a file of the functions folder, by its path relative to it; undefined when it is not there. */
export type ReadModule = (file: string) => string | undefined;

/** The file of the app that a relative module name stands for; not one that is generated. */
export function moduleFile(
  from: string,
  module: string,
  read: ReadModule,
): { file: string; text: string } | undefined {
  const base = resolveModule(from, module);
  if (base === undefined || base.startsWith("..") || isGenerated(base)) return undefined;
  for (const ending of [".ts", ".tsx", ".js", "/index.ts"]) {
    const text = read(base + ending);
    if (text !== undefined) return { file: base + ending, text };
  }
  return undefined;
}

/** Whether a path of the functions folder is generated, by Convex or by the compiler. */
export const isGenerated = (path: string): boolean =>
  /(^|\/)_(generated|workflows)(\/|$)/.test(path);
