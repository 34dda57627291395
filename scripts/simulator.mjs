// Bundles the simulator's program, with a mutation in it if one is given, and plays seeds with it.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";
import { mkdtempSync, rmSync } from "./folders.mjs";
import { mutating, placesOf } from "./guards.mjs";

const packages = fileURLToPath(new URL("../packages/", import.meta.url));
const tests = fileURLToPath(new URL("../tests/", import.meta.url));
const entry = join(tests, "sim/main.ts");
/**
 * Bundled from their sources, so that a mutation reaches them, and coverage too; everything else is
 * used as it is built.
 */
const fromSource = /^@stepwise\/(workflow\/test|workpool(\/(core(\/limits)?|test))?)$/;

/**
 * Bundles the simulator into a folder of its own.
 * @param options `mutation`: what is changed in the sources of the components. `isFromSource`: it
 *   takes them from there, also without one.
 * @returns the bundle's path, and what removes it.
 */
export async function bundleSimulator({ mutation, isFromSource = mutation !== undefined } = {}) {
  if (mutation !== undefined && placesOf(mutation) === 0)
    throw new Error(`Nowhere in the sources: ${JSON.stringify(mutation)}`);
  const cache = join(tests, "node_modules/.cache");
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, "sim-"));
  const outfile = join(folder, "main.mjs");
  const remove = () => rmSync(folder, { recursive: true });
  const sources = {
    name: "sources",
    setup({ onResolve }) {
      onResolve({ filter: fromSource }, ({ path }) => {
        const [, name, ...modules] = path.split("/");
        const module = modules.join("/") || "client";
        const file = module === "test" ? "test.ts" : `${module}/index.ts`;
        return { path: join(packages, name, "src", file) };
      });
      onResolve({ filter: /^[^./]/ }, ({ kind }) =>
        kind === "entry-point" ? undefined : { external: true },
      );
    },
  };
  await build({
    entryPoints: [entry],
    outfile,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    sourcemap: true,
    ...(isFromSource
      ? { plugins: [sources, ...(mutation === undefined ? [] : [mutating(mutation)])] }
      : { packages: "external" }),
    // Files are found from where the source is.
    define: { "import.meta.url": JSON.stringify(pathToFileURL(entry).href) },
    logLevel: "warning",
  });
  return { outfile, remove };
}

/**
 * Plays seeds, divided among processes.
 * @param options `seeds`, `from`, `class`, `profile`, `shrink`, `processes`; `print` gets each line;
 *   `first`: ends at the first seed that fails; `mutation`: that of the bundle, which also holds for
 *   what apps are bundled with.
 * @returns how many seeds were played and failed, the first that failed, and other counts.
 */
export async function playSeeds(outfile, { print, first = false, mutation, env = {}, ...options }) {
  const sum = { seeds: 0, failed: 0, events: 0, compared: 0, givenUp: 0 };
  const failing = [];
  const children = new Set();
  const play = async (index, step) => {
    const flags = Object.entries({
      class: options.class,
      profile: options.profile,
      shrink: options.shrink,
      from: options.from + index,
      seeds: options.seeds - index,
      step,
    }).map(([name, value]) => `--${name}=${value}`);
    // Most of what a seed makes is soon garbage, as in the tests (vitest.config.ts).
    const ofNode = ["--enable-source-maps", "--max-semi-space-size=64"];
    const child = spawn(process.execPath, [...ofNode, outfile, ...flags], {
      stdio: ["ignore", "pipe", "inherit"],
      env: {
        ...process.env,
        ...env,
        ...(mutation === undefined ? {} : { SIM_MUTATION: JSON.stringify(mutation) }),
      },
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
