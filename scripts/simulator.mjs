// Bundles the simulator's program, with a mutation in it if one is given, and plays seeds with it.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";
import { mkdtempSync, rmSync } from "./folders.mjs";

const packages = fileURLToPath(new URL("../packages/", import.meta.url));
const entry = join(packages, "codegen/test/sim/main.ts");
/**
 * Bundled from their sources, so that a mutation reaches them; everything else is used as it is
 * built.
 */
const mutable = /^@stepwise\/(workflow\/test|workpool\/core)$/;

/**
 * Bundles the simulator into a folder of its own.
 * @param mutation replaces a text that must occur exactly once in the sources of the components.
 * @returns the bundle's path, and what removes it.
 */
export async function bundleSimulator(mutation) {
  const cache = join(packages, "codegen/node_modules/.cache");
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, "sim-"));
  const outfile = join(folder, "main.mjs");
  const remove = () => rmSync(folder, { recursive: true });
  let places = 0;
  const mutate = {
    name: "mutation",
    setup({ onLoad, onResolve }) {
      onResolve({ filter: mutable }, ({ path }) => {
        const [, name, module] = path.split("/");
        const file = name === "workflow" ? "test.ts" : `${module}/index.ts`;
        return { path: join(packages, name, "src", file) };
      });
      onResolve({ filter: /^[^./]/ }, ({ kind }) =>
        kind === "entry-point" ? undefined : { external: true },
      );
      onLoad({ filter: /packages\/work(flow|pool)\/src\/.*\.ts$/ }, async ({ path }) => {
        const text = await readFile(path, "utf8");
        const parts = text.split(mutation.find);
        places += parts.length - 1;
        return { contents: parts.join(mutation.replace), loader: "ts" };
      });
    },
  };
  await build({
    entryPoints: [entry],
    outfile,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    ...(mutation === undefined ? { packages: "external" } : { plugins: [mutate] }),
    // Files are found from where the source is.
    define: { "import.meta.url": JSON.stringify(pathToFileURL(entry).href) },
    logLevel: "warning",
  });
  if (mutation === undefined || places === 1) return { outfile, remove };
  remove();
  throw new Error(`${JSON.stringify(mutation.find)} occurs ${places} times, and must occur once`);
}

/**
 * Plays seeds, divided among processes.
 * @param options `seeds`, `from`, `class`, `shrink`, `processes`; `print` gets each line; `first`:
 *   ends at the first seed that fails.
 * @returns how many seeds were played and failed, the first that failed, and other counts.
 */
export async function playSeeds(outfile, { print, first = false, ...options }) {
  const sum = { seeds: 0, failed: 0, events: 0, compared: 0 };
  const failing = [];
  const children = new Set();
  const play = async (index, step) => {
    const flags = Object.entries({
      class: options.class,
      shrink: options.shrink,
      from: options.from + index,
      seeds: options.seeds - index,
      step,
    }).map(([name, value]) => `--${name}=${value}`);
    const child = spawn(process.execPath, ["--enable-source-maps", outfile, ...flags], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    children.add(child);
    const ended = once(child, "close");
    for await (const line of createInterface({ input: child.stdout })) {
      if (line.startsWith("counts ")) {
        for (const [name, count] of Object.entries(JSON.parse(line.slice("counts ".length))))
          sum[name] += count;
        continue;
      }
      print(line);
      const seed = /^seed (\d+): /.exec(line)?.[1];
      if (seed === undefined) continue;
      failing.push(Number(seed));
      if (first) for (const each of children) each.kill();
    }
    const [code] = await ended;
    if (code !== 0 && code !== null) sum.failed += 1;
  };
  const processes = Math.min(options.processes, options.seeds);
  await Promise.all(Array.from({ length: processes }, (_, index) => play(index, processes)));
  return { ...sum, firstFailed: failing.toSorted((one, other) => one - other)[0] };
}
