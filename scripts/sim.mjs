// Random workflows on a simulated deployment, with faults: `npm run sim -- --seeds 1000 --from 1 --class s16`. Ends with 1 where a seed fails.
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { build } from "esbuild";

const options = {
  seeds: { type: "string", default: "100" },
  from: { type: "string", default: "1" },
  class: { type: "string", default: "s16" },
  shrink: { type: "string", default: "true" },
  processes: { type: "string", default: String(availableParallelism()) },
};
const { values } = parseArgs({ options });
const entry = fileURLToPath(new URL("../packages/codegen/test/sim/main.ts", import.meta.url));
const cache = fileURLToPath(new URL("../packages/codegen/node_modules/.cache", import.meta.url));
mkdirSync(cache, { recursive: true });
const folder = mkdtempSync(join(cache, "sim-"));
const outfile = join(folder, "main.mjs");
await build({
  entryPoints: [entry],
  outfile,
  bundle: true,
  platform: "node",
  format: "esm",
  target: "node20",
  packages: "external",
  // Files are found from where the source is.
  define: { "import.meta.url": JSON.stringify(pathToFileURL(entry).href) },
  logLevel: "warning",
});

const began = Date.now();
const processes = Math.min(Number(values.processes), Number(values.seeds));
const sum = {};
const play = async (index) => {
  const from = Number(values.from) + index;
  const seeds = Number(values.seeds) - index;
  const args = { class: values.class, shrink: values.shrink, from, seeds, step: processes };
  const flags = Object.entries(args).map(([name, value]) => `--${name}=${value}`);
  const child = spawn(process.execPath, ["--enable-source-maps", outfile, ...flags], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let rest = "";
  for await (const chunk of child.stdout.setEncoding("utf8")) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      if (!line.startsWith("counts ")) process.stdout.write(`${line}\n`);
      else
        for (const [name, count] of Object.entries(JSON.parse(line.slice("counts ".length))))
          sum[name] = (sum[name] ?? 0) + count;
    }
  }
  if (child.exitCode !== 0 && child.exitCode !== null) sum.failed = (sum.failed ?? 0) + 1;
};
try {
  await Promise.all(Array.from({ length: processes }, (_, index) => play(index)));
} finally {
  rmSync(folder, { recursive: true });
}
const { seeds = 0, failed = 0, events = 0, compared = 0 } = sum;
process.stdout.write(
  `${seeds} seeds on ${values.class}, from ${values.from}: ${failed} failed; ${compared} compared with the interpreter, ${events} events, ${((Date.now() - began) / 1_000).toFixed(0)} s\n`,
);
process.exitCode = failed === 0 && seeds === Number(values.seeds) ? 0 : 1;
