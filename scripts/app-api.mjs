// Writes the list of modules in each example's `_generated/api.d.ts`, as `npx convex codegen` would
// if it did not need a deployment. Takes --check.
import { execFileSync } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { keep, root } from "./committed.mjs";

/**
 * The modules that Convex deploys: files with one dot in their name, except the schema and what
 * Convex generates itself.
 */
function modulesOf(functionsDir) {
  return readdirSync(functionsDir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /^[^.]+\.[jt]sx?$/.test(entry.name))
    .map(({ parentPath, name }) =>
      relative(functionsDir, join(parentPath, name))
        .replace(/\.[jt]sx?$/, "")
        .replaceAll(sep, "/"),
    )
    .filter((path) => !path.startsWith("_generated/") && path !== "schema")
    .sort();
}

function withModules(text, modules) {
  const idOf = (path) => path.replace(/\W/g, "_");
  const imports = modules.map((path) => `import type * as ${idOf(path)} from "../${path}.js";\n`);
  const members = modules.map((path) => {
    const key = /^\w+$/.test(path) ? path : JSON.stringify(path);
    return `  ${key}: typeof ${idOf(path)};\n`;
  });
  return text
    .replace(/(?:import type \* as \w+ from "\.\.\/.*";\n)+/, () => imports.join(""))
    .replace(
      /(declare const fullApi: ApiFromModules<\{\n)[^}]*(\}>;)/,
      (_all, open, close) => `${open}${members.join("")}${close}`,
    );
}

const tracked = execFileSync("git", ["ls-files", "examples", "benchmarks"], {
  cwd: root,
  encoding: "utf8",
});
for (const path of tracked.split("\n").filter((file) => file.endsWith("_generated/api.d.ts"))) {
  const file = join(root, path);
  keep(path, withModules(readFileSync(file, "utf8"), modulesOf(dirname(dirname(file)))));
}
