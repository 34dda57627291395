import { execFile } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";
import { LOADS } from "./loads.js";
import { asked, type Asked, keyOf, loadReport, type Told } from "./report.js";

/*
 * Writes benchmarks/load.md. Each measurement runs in a process of its own, `--processes` at once
 * (2). `--names a,b` and `--seeds 1,2,3` choose what is measured. With `--keep FOLDER`,
 * measurements are stored there, and a later run makes only those that are missing.
 */
const { values } = parseArgs({
  options: {
    names: { type: "string", default: Object.keys(LOADS).join(",") },
    seeds: { type: "string", default: "1,2,3" },
    processes: { type: "string", default: "2" },
    keep: { type: "string" },
  },
});
const run = promisify(execFile);
const main = fileURLToPath(new URL("main.js", import.meta.url));

async function measured({ name, engine, seed, mutation }: Asked): Promise<string> {
  const more = mutation === undefined ? [] : ["--mutation", mutation];
  const args = [main, name, "--engine", engine, "--seed", `${seed}`, ...more, "--json"];
  return (await run(process.execPath, args)).stdout;
}

/** Measures, unless that was done before. */
async function told(one: Asked): Promise<Told> {
  const file = values.keep === undefined ? undefined : join(values.keep, `${keyOf(one)}.json`);
  const known = file === undefined ? "" : await readFile(file, "utf8").catch(() => "");
  const text = known === "" ? await measured(one) : known;
  if (file !== undefined && known === "") await writeFile(file, text);
  // It is what `main.ts` prints.
  return JSON.parse(text) as Told;
}

if (values.keep !== undefined) await mkdir(values.keep, { recursive: true });
const names = values.names.split(",");
const seeds = values.seeds.split(",").map(Number);
const answers = new Map<string, Told>();
const left = asked(names, seeds);
const work = async (): Promise<void> => {
  for (let one = left.shift(); one !== undefined; one = left.shift()) {
    answers.set(keyOf(one), await told(one));
    process.stderr.write(`${keyOf(one)}: ${left.length} left\n`);
  }
};
await Promise.all(Array.from({ length: Number(values.processes) }, work));

const require = createRequire(import.meta.url);
const peers = ["@convex-dev/workflow", "@convex-dev/workpool"].map((name) => {
  const { version } = require(`${name}/package.json`) as { version: string };
  return `${name} ${version}`;
});
const report = loadReport(peers.join(" on "), answers, names, seeds);
await writeFile(fileURLToPath(new URL("../../load.md", import.meta.url)), report);
process.stdout.write(report);
