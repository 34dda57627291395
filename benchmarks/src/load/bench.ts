import { writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { loadReport } from "./report.js";

// What is measured prints to the console now and then.
for (const method of ["log", "info", "debug", "warn", "error"] as const) console[method] = () => {};

const peers = ["@convex-dev/workflow", "@convex-dev/workpool"]
  .map((name) => {
    const { version } = createRequire(import.meta.url)(`${name}/package.json`) as {
      version: string;
    };
    return `${name} ${version}`;
  })
  .join(" on ");
const [names, seeds] = process.argv.slice(2);
const report = await loadReport(
  peers,
  names === undefined ? undefined : names.split(","),
  seeds === undefined ? undefined : seeds.split(",").map(Number),
);
const file = fileURLToPath(new URL("../../load.md", import.meta.url));
if (names === undefined) await writeFile(file, report);
process.stdout.write(report);
