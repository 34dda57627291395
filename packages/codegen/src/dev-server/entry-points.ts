import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { glob } from "tinyglobby";

/** The modules of a functions folder, as paths relative to it with `/`. */
export interface EntryPoints {
  readonly isolate: string[];
  readonly node: string[];
  readonly schema?: string;
}

const MODULES = "**/*.{ts,tsx,mts,cts,js,jsx,mjs,cjs}";
const USE_NODE = /^(?:\s|\/\/.*\n|\/\*[^]*?\*\/)*["']use node["']/;

/** The modules that Convex's own bundler would deploy from a folder, told apart by where they run. */
export async function findEntryPoints(functionsDir: string): Promise<EntryPoints> {
  const files = await glob(MODULES, {
    cwd: functionsDir,
    dot: false,
    ignore: ["**/node_modules/**"],
  });
  const isolate: string[] = [];
  const node: string[] = [];
  for (const file of files.sort()) {
    if (!isEntryPoint(file) || isInComponent(functionsDir, file)) continue;
    const source = await readFile(join(functionsDir, file), "utf8");
    // Convex takes a TypeScript file without any for no module at all.
    if (/\.tsx?$/.test(file) && !/^\s{0,100}(import|export)/m.test(source)) continue;
    (USE_NODE.test(source) ? node : isolate).push(file);
  }
  const schema = files.find((file) => /^schema\.[jt]s$/.test(file));
  return { isolate, node, ...(schema === undefined ? {} : { schema }) };
}

function isEntryPoint(file: string): boolean {
  const base = basename(file);
  if (file.startsWith("_generated/") || file.includes(" ")) return false;
  if (base === "schema.ts" || base === "schema.js") return false;
  return !/^[.#]/.test(base) && base.split(".").length === 2;
}

/** A folder with a `convex.config.ts` of its own is a component, deployed apart from the app. */
function isInComponent(functionsDir: string, file: string): boolean {
  for (let folder = dirname(file); folder !== "."; folder = dirname(folder)) {
    if (existsSync(join(functionsDir, folder, "convex.config.ts"))) return true;
  }
  return false;
}
