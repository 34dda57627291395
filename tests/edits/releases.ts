import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { compile, writeGenerated } from "@stepwise/codegen";
import { build, type BuildOptions, type Plugin } from "esbuild";
import { mkdtemp, rm } from "../../scripts/folders.mjs";
import { givenMutation, mutating } from "../../scripts/guards.mjs";

const root = fileURLToPath(new URL("../node_modules/.cache/stepwise-edits", import.meta.url));

export type Modules = Record<string, () => Promise<unknown>>;

/** What an app is deployed with. */
export interface Version {
  readonly modules: Modules;
}

/** The files of an app by their paths in `convex/`: definitions, and whatever they use. */
export type Files = Readonly<Record<string, string>>;

/**
 * Compiles versions of an app, one after the other in the same folder, so that what is gone leaves
 * its functions behind.
 */
export class Releases {
  readonly #folders: string[] = [];
  #packages: Promise<Plugin> | undefined;

  /** @param befores the versions that were released before it, in their order. */
  async release(files: Files, ...befores: readonly Files[]): Promise<Version> {
    return await this.#release([...befores.filter((before) => before !== files), files], files);
  }

  /** An edit after which nobody has run the compiler. @param compiled what it was run on last. */
  async releaseStale(files: Files, compiled: Files): Promise<Version> {
    return await this.#release([compiled], files);
  }

  async #release(versions: readonly Files[], files: Files): Promise<Version> {
    const folder = await this.#folder("app-");
    const functionsDir = join(folder, "convex");
    let generated: readonly string[] = [];
    let index = "";
    for (const version of versions) {
      for (const [path, text] of Object.entries(version))
        await write(join(functionsDir, path), text);
      const { ok, diagnostics, files: made, output } = await compile({ functionsDir });
      if (!ok) throw new Error(diagnostics.map(({ message }) => message).join("\n"));
      await writeGenerated(functionsDir, made, { folders: [output] });
      generated = made.map(({ path }) => path).filter(isEntryPoint);
      index = `./${output}/index`;
    }
    for (const [path, text] of Object.entries(files)) await write(join(functionsDir, path), text);
    await write(join(functionsDir, "_generated/api.js"), API);
    await write(join(functionsDir, "runs.ts"), runs(index));
    const own = Object.keys(files).filter(isEntryPoint);
    const entries = ["runs.ts", ...own, ...generated].map((path) => path.replace(/\.ts$/, ""));
    this.#packages ??= this.#folder("packages-").then(packagesIn);
    const plugins = [await this.#packages];
    return { modules: await bundled(functionsDir, entries, join(folder, "bundle"), plugins) };
  }

  async #folder(prefix: string): Promise<string> {
    await mkdir(root, { recursive: true });
    const folder = await mkdtemp(join(root, prefix));
    this.#folders.push(folder);
    return folder;
  }

  async remove(): Promise<void> {
    this.#packages = undefined;
    for (const folder of this.#folders.splice(0)) await rm(folder, { recursive: true });
  }
}

/** What has a second dot is none. */
const isEntryPoint = (path: string): boolean => /^[^.]+\.ts$/.test(path);

async function write(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
}

const API = `
import { anyApi, componentsGeneric } from "convex/server";
export const internal = anyApi;
export const components = componentsGeneric();
`;

/** @param index where the manager is found */
const runs = (index: string): string => `
import { WorkflowManager } from "@stepwise/workflow";
import { internalMutationGeneric, internalQueryGeneric } from "convex/server";
import { components } from "./_generated/api";
import { workflows } from "${index}";
const workflow = new WorkflowManager(components.workflow, { maxParallelism: 100 });
export const start = internalMutationGeneric((ctx, { name, input }) => workflow.start(ctx, workflows[name], input));
export const cancel = internalMutationGeneric((ctx, { runId }) => workflow.cancel(ctx, runId));
export const pause = internalMutationGeneric((ctx, { runId }) => workflow.pause(ctx, runId));
export const resume = internalMutationGeneric((ctx, { runId }) => workflow.resume(ctx, runId));
export const restart = internalMutationGeneric((ctx, { name, runId, from }) =>
  workflow.restart(ctx, workflows[name], runId, { from }));
export const send = internalMutationGeneric((ctx, { name, runId, event, value }) =>
  workflow.sendEvent(ctx, workflows[name], runId, event, value));
export const steps = internalQueryGeneric((ctx, { name, runId }) =>
  workflow.steps(ctx, workflows[name], runId, { cursor: null, numItems: 1000 }));
export const log = internalMutationGeneric((ctx, line) => ctx.db.insert("log", line));
export const logged = internalQueryGeneric(async (ctx) => (await ctx.db.query("log").collect()).map(({ text }) => text));
`;

const options = {
  bundle: true,
  splitting: true,
  format: "esm",
  target: "node20",
  platform: "browser",
  conditions: ["convex", "module", "@convex-dev/component-source"],
  external: ["convex", "convex/*", "zod"],
  outExtension: { ".js": ".mjs" },
  logLevel: "silent",
} satisfies BuildOptions;

/** Bundles the packages once for all versions: bundling takes longer than the rest of a test. */
async function packagesIn(outdir: string): Promise<Plugin> {
  const names = { "@stepwise/workflow": "index", "@stepwise/workflow/runtime": "runtime" };
  const entryPoints = Object.entries(names).map(([name, out]) => ({ in: name, out }));
  const mutation = givenMutation();
  const plugins = mutation === undefined ? [] : [mutating(mutation)];
  await build({ ...options, entryPoints, outdir, plugins });
  return {
    name: "packages",
    setup({ onResolve }) {
      onResolve({ filter: /^@stepwise\/workflow(\/runtime)?$/ }, ({ path }) => ({
        path: pathToFileURL(join(outdir, `${names[path as keyof typeof names]}.mjs`)).href,
        external: true,
      }));
    },
  };
}

async function bundled(
  functionsDir: string,
  entries: string[],
  outdir: string,
  plugins: Plugin[],
): Promise<Modules> {
  const entryPoints = entries.map((entry) => ({ in: join(functionsDir, entry), out: entry }));
  await build({ ...options, entryPoints, outdir, plugins });
  const loaded = entries.map(async (entry) => {
    const module: unknown = await import(pathToFileURL(join(outdir, `${entry}.mjs`)).href);
    return [`./convex/${entry}.js`, async () => module] as const;
  });
  return Object.fromEntries(await Promise.all(loaded));
}
