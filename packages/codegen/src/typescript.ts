import { createHash } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { Script } from "node:vm";
import type { ts as TypeScript } from "@ts-morph/common";
import { afterwards } from "./cache/afterwards.js";
import { CacheFile } from "./cache/cache-file.js";

export type { ts as TypeScript } from "@ts-morph/common";
export type Node = TypeScript.Node;

/*
 * TypeScript's parser, as V8 compiled it for an earlier process: to compile it anew takes longer
 * than an app of a hundred workflows. What V8 keeps is put beside the installed package, by
 * commands only.
 */
const require = createRequire(import.meta.url);
const path = require.resolve("@ts-morph/common/dist/typescript.js");
const { mtimeMs, size } = statSync(path);
const identity = JSON.stringify([process.version, process.arch, size, mtimeMs]);
const cache = CacheFile.in(
  join(path.slice(0, path.lastIndexOf("node_modules")), "node_modules"),
  `typescript-${createHash("sha256").update(identity).digest("hex").slice(0, 16)}.bin`,
  identity.replaceAll(" ", ""),
);
const cachedData = cache.read();
// It is ASCII, which is read faster as Latin 1.
const script = new Script(
  `(function (exports, require, module, __filename, __dirname) {${readFileSync(path, "latin1")}\n})`,
  { filename: path, ...(cachedData && { cachedData }) },
);

function load(): typeof TypeScript {
  const module: { exports: unknown } = { exports: {} };
  const run: (...given: unknown[]) => void = script.runInThisContext();
  run(module.exports, createRequire(path), module, path, dirname(path));
  // What that file exports.
  return module.exports as typeof TypeScript;
}

export const ts = load();

afterwards.push(() => {
  if (cachedData === undefined || script.cachedDataRejected === true)
    cache.write(() => [script.createCachedData()]);
});
