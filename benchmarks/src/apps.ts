import { cp, mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { compile, formatDiagnostic, writeGenerated } from "@stepwise/codegen";
import type { Counter, Part } from "@stepwise/testing";
import { defineSchema, defineTable } from "convex/server";
import { v } from "convex/values";
import { bundle, type Modules } from "./bundle.js";
import { type Chain, chainDefinitions } from "./chain-definitions.js";

type Test = ReturnType<Counter["convexTest"]>;

/** An app that is bundled and loaded, and can be mounted any number of times. */
export interface App {
  /** A back end of its own, with the app's components, counted. */
  mount(counter: Counter): Test;
  /** The same, for a simulated deployment. */
  readonly parts: readonly Part[];
}

const benchmarks = fileURLToPath(new URL("..", import.meta.url));

/**
 * Compiles and loads `apps/ours`.
 *
 * @param conditions export conditions; see `BundleOptions`
 * @param maxParallelism of the workflows' pool; by default the component's own
 */
export async function loadOurs(
  chains: readonly Chain[],
  conditions: readonly string[] = [],
  maxParallelism?: number,
): Promise<App> {
  return await inScratch(async (scratch) => {
    const functionsDir = join(scratch, "apps/ours/convex");
    if (maxParallelism !== undefined)
      await writeFile(
        join(functionsDir, "stepwise.config.ts"),
        `import { defineConfig } from "@stepwise/workflow";\nexport default defineConfig({ maxParallelism: ${maxParallelism} });\n`,
      );
    await writeFile(join(functionsDir, "chains.workflow.ts"), chainDefinitions(chains));
    const { ok, diagnostics, files } = await compile({ functionsDir });
    if (!ok) throw new Error(formatDiagnostic(diagnostics[0]!, { color: false }));
    await writeGenerated(functionsDir, files);
    return await load("ours", scratch, conditions);
  });
}

/** Loads `apps/peer`: there is nothing to compile. */
export async function loadPeer(): Promise<App> {
  return await inScratch((scratch) => load("peer", scratch, []));
}

/**
 * Works on a copy of `apps` that may be written to, in a place from which packages resolve as they
 * do here.
 */
async function inScratch<Result>(use: (scratch: string) => Promise<Result>): Promise<Result> {
  const cache = join(benchmarks, "node_modules/.cache/stepwise-benchmarks");
  await mkdir(cache, { recursive: true });
  const scratch = await mkdtemp(join(cache, "run-"));
  try {
    await cp(join(benchmarks, "apps"), join(scratch, "apps"), { recursive: true });
    return await use(scratch);
  } finally {
    await rm(scratch, { recursive: true });
  }
}

async function load(
  name: "ours" | "peer",
  scratch: string,
  conditions: readonly string[],
): Promise<App> {
  const root = join(scratch, "apps", name);
  const files = await readdir(join(root, "convex"), { recursive: true });
  const functions = files.filter(isModule).map((file) => join("convex", file));
  const imports = await bundle({
    root,
    entryPoints: ["mount.ts", ...functions],
    outdir: join(scratch, "bundle"),
    conditions,
  });
  const { mount } = (await imports["mount.ts"]!()) as { mount(t: ComponentRegistry): void };
  const components: Component[] = [];
  mount({
    registerComponent: (path, schema, modules) => components.push({ path, schema, modules }),
  });
  const modules = await loaded(
    Object.fromEntries(functions.map((file) => [`./${file}`, imports[file]!])),
  );
  for (const component of components) component.modules = await loaded(component.modules);
  const schema = defineSchema({ done: defineTable({ n: v.number() }) });
  return {
    parts: [
      { path: "", schema, modules },
      // A component's schema is one of its own tables.
      ...components.map((component) => component as Part),
    ],
    mount(counter) {
      const t = counter.convexTest({ schema, modules });
      for (const { path, schema, modules } of components)
        t.registerComponent(path, schema, modules);
      return t;
    },
  };
}

/** What `./test` of a component's package uses of convex-test. */
interface ComponentRegistry {
  registerComponent(...of: Parameters<Test["registerComponent"]>): void;
}

interface Component {
  readonly path: string;
  readonly schema: Parameters<Test["registerComponent"]>[1];
  modules: Modules;
}

/**
 * The same modules, loaded once and for all: loading takes real time, which virtual time does not
 * wait for.
 */
async function loaded(modules: Modules): Promise<Modules> {
  const entries = Object.entries(modules).map(async ([path, load]) => {
    const module = await load();
    return [path, async () => module] as const;
  });
  return Object.fromEntries(await Promise.all(entries));
}

/**
 * As for Convex's own bundler: a name with two dots, such as that of a definition file, is no
 * module.
 */
function isModule(file: string): boolean {
  return /\.[jt]s$/.test(file) && basename(file).split(".").length === 2;
}
