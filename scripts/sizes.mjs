// Prints what each entry point adds to an app's bundle, minified and without `convex`, and what the
// page of the studio loads, and fails if one is over its limit.
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const root = resolve(import.meta.dirname, "..");
const dist = (name, ...path) => join(root, "packages", name, "dist", ...path);
/** Those with a source: a restored build leaves the others where they are. */
const modulesOf = (name) =>
  readdirSync(join(root, "packages", name, "src/component"))
    .filter((file) => file.endsWith(".ts"))
    .map((file) => dist(name, "component", file.replace(/ts$/, "js")));

/**
 * Limits in KB, a tenth above what was measured when they were set. The workflow component got 6 KB
 * more to tell what runs do, and where, and to find them by their tags. Limits by name and key have
 * added 9.5 KB to the components, for lines and permits, and 1.3 KB to the pool's class, for checks.
 * Those of steps have added as much to the manager, and 2 KB to the run time, for keys. Bulks, and
 * what holds the slots, have added 6.5 KB to the workflow component, 1.5 KB to the manager and 0.8 KB
 * to the run time. Overrides and pauses of limits have added 7 KB to the components, and 1 KB to the
 * manager and the pool's class. A workflow's `one` has added 6 KB to its component; its `collect` as
 * much, and 2 KB to the manager and the run time. `RetryAfter` has added 0.6 KB to the pool's class.
 * Waits that end, and lines that may get full, have added 3 KB to the components. Rates and
 * budgets have added 7 KB to them, and 1.5 KB to the manager and the pool's class. Steps that run in
 * executors have added 10 KB to the workflow component, most of it for attempts and their errors.
 * Branches that the transaction which starts them enters have added 2.5 KB to it. What limits, starts and
 * releasers know without reading it again has added 1.5 KB to both components. That every option is
 * checked, and refused by its name, has added 3 KB to the manager and 2.5 KB to the pool's class.
 * That works which wait for limits run in executors, in turns of their keys, has added 3.5 KB to both
 * components. The checks of a workflow's options have moved, with 2 KB, from the manager to the run
 * time, which knows the workflow's name. What follows on mutations where places are few has added
 * 0.1 KB to the component. That nothing that is said of limits is left out has added 0.5 KB to the
 * components, and 0.9 KB to the run time, most of it for the options of a `RetryAfter`. Works ahead
 * have added 6 KB to the pool's component, and 4.5 KB to that of workflows. That an enqueue refuses
 * what cannot be stored, with its place, has added 3.5 KB to the pool's class. That a `cancelAll`
 * reaches the works of its own transaction has added 0.5 KB to the pool's component. convex-helpers
 * 0.1.135 takes 1.3 KB more than 0.1.124 in the components, and 0.2 KB in the manager. That the data
 * of an error is looked at before it is reported has added 2.5 KB to the pool's component. That promises
 * are refused by their names has added 0.4 KB to the run time.
 */
const entries = [
  ["@stepwise/workflow", [dist("workflow", "index.js")], 62],
  ["@stepwise/workflow/runtime", [dist("workflow", "runtime/index.js")], 92],
  ["@stepwise/workflow, the component", modulesOf("workflow"), 276],
  ["@stepwise/workpool", [dist("workpool", "client/index.js")], 23],
  ["@stepwise/workpool, the component", modulesOf("workpool"), 156],
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

/** Its limit is in KB, gzipped: it is a page of its own, and not in any app's bundle. */
const PAGE_LIMIT = 250;
const page = dist("studio", "page", "assets");
const loaded = readdirSync(page).map((file) => gzipSync(readFileSync(join(page, file))).length);
const pageKb = loaded.reduce((sum, each) => sum + each, 0) / 1000;
const isTooLarge = pageKb > PAGE_LIMIT;
console.log(
  `The page of the studio: ${pageKb.toFixed(1)} KB gzipped, limit ${PAGE_LIMIT} KB${isTooLarge ? ": TOO LARGE" : ""}`,
);
if (isTooLarge) process.exitCode = 1;
