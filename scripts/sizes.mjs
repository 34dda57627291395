// Prints what each entry point adds to an app's bundle, minified and without `convex`, and fails if
// one is over its limit.
import { readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const root = resolve(import.meta.dirname, "..");
const dist = (name, ...path) => join(root, "packages", name, "dist", ...path);
const modulesOf = (name) =>
  readdirSync(dist(name, "component"))
    .filter((file) => file.endsWith(".js"))
    .map((file) => dist(name, "component", file));

/**
 * Limits in KB, a tenth above what was measured when they were set. The workflow component got 6 KB
 * more to tell what runs do, and where, and to find them by their tags. Limits by name and key have
 * added 9.5 KB to the components, for lines and permits, and 1.3 KB to the pool's class, for checks.
 * Those of steps have added as much to the manager, and 2 KB to the run time, for keys. Bulks, and
 * what holds the slots, have added 6.5 KB to the workflow component, 1.5 KB to the manager and 0.8 KB
 * to the run time. Overrides and pauses of limits have added 7 KB to the components, and 1 KB to the
 * manager and the pool's class. A workflow's `one` has added 6 KB to its component. `RetryAfter` has
 * added 0.6 KB to the pool's class. Rates and budgets have added 7 KB to the components, and
 * 1.5 KB to the manager and the pool's class.
 */
const entries = [
  ["@stepwise/workflow", [dist("workflow", "index.js")], 52],
  ["@stepwise/workflow/runtime", [dist("workflow", "runtime/index.js")], 79],
  ["@stepwise/workflow, the component", modulesOf("workflow"), 216],
  ["@stepwise/workpool", [dist("workpool", "client/index.js")], 14],
  ["@stepwise/workpool, the component", modulesOf("workpool"), 120],
];

for (const [title, files, limit] of entries) {
  const { outputFiles } = await build({
    stdin: {
      contents: files
        .map((file, index) => `export * as m${index} from ${JSON.stringify(file)};`)
        .join("\n"),
      resolveDir: root,
    },
    bundle: true,
    write: false,
    minify: true,
    format: "esm",
    platform: "browser",
    external: ["convex", "convex/*"],
    logLevel: "error",
  });
  const { contents } = outputFiles[0];
  const kb = contents.length / 1000;
  const zipped = gzipSync(contents).length / 1000;
  const isOver = kb > limit;
  console.log(
    `${title}: ${kb.toFixed(1)} KB, ${zipped.toFixed(1)} KB gzipped, limit ${limit} KB${isOver ? ": TOO LARGE" : ""}`,
  );
  if (isOver) process.exitCode = 1;
}
