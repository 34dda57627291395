import { rmSync } from "node:fs";
import { mkdir, mkdtemp } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Counter } from "@stepwise/testing";
import type { TestConvex } from "convex-test";
import { defineSchema, type GenericSchema, type SchemaDefinition } from "convex/server";
import { bundle, externalPackages, findComponents, findEntryPoints } from "./bundle.js";
import type { LoadableModules, MountedComponent } from "./bundle.js";
import { usualOutput } from "../plan/paths.js";

/** convex-test's `t` for an app whose schema is only known at run time. */
export type AppTest = TestConvex<AppSchema>;
type AppSchema = SchemaDefinition<GenericSchema, boolean>;

export type BackEnd = Awaited<ReturnType<typeof openBackEnd>>;

/** Bundles an app and mounts it with its components. @throws when something cannot be bundled */
export async function openBackEnd(functionsDir: string, output: string = usualOutput) {
  // Bun has its name everywhere, and what it stores cannot be read by convex-test.
  if ("Bun" in globalThis)
    throw new Error(
      "Workflows run in Node, and this is Bun. Install Node 20.19 or newer, and run the command without --bun: npx workflow-codegen, or bunx workflow-codegen.",
    );
  const outdir = await cacheFolder(dirname(functionsDir));
  let isOpen = true;
  // What is scheduled stays due, maybe when somebody else has replaced this process's timers.
  const whileOpen = (modules: LoadableModules): LoadableModules =>
    Object.fromEntries(
      Object.entries(modules).map(([path, load]) => [
        path,
        async () => (isOpen ? await load() : await new Promise(() => {})),
      ]),
    );
  const close = () => {
    isOpen = false;
    rmSync(outdir, { recursive: true, force: true });
    process.off("exit", close);
  };
  process.on("exit", close);
  try {
    const app = await loadFolder(functionsDir, join(outdir, "app"));
    let { modules } = app;
    let reloads = 0;
    // Each is asked for at every call, so that a reload shows.
    const latest = Object.fromEntries(
      Object.keys(modules).map((path) => [path, async () => await modules[path]?.()]),
    );
    const components = await findComponents(functionsDir, join(outdir, "config"));
    const ours = pathsOfOurs(components);
    const watchdogs = new Set([...ours].map((path) => `${path}/watchdog:sweep`));
    // What they run of the app is a call of its own.
    const counter = new Counter({
      onlyWaits: (component) => ours.has(component),
      isStandby: (name) => watchdogs.has(name),
    });
    const t: AppTest = counter.convexTest({ schema: app.schema, modules: whileOpen(latest) });
    await mountAll(t, components, outdir, whileOpen);
    return {
      t,
      counter,
      /** The tables of the app's schema; undefined when any table may be written. */
      tables: app.schema.schemaValidation ? Object.keys(app.schema.tables) : undefined,
      /** Removes what was written to the cache; the end of the process does so as well. */
      close,
      output,
      /** A module of the app by the path that Convex knows, such as `_workflows/index`. */
      load: async (module: string) => await modules[`./${module}.js`]?.(),
      /** The paths of the modules with generated code. */
      generated: () =>
        Object.keys(modules)
          .filter((path) => path.startsWith(`./${output}/`))
          .map((path) => path.slice("./".length, -".js".length)),
      /** Takes in the app's functions as they are now; data and components stay. */
      reload: async () => {
        // Node keeps a module for as long as the process lives, by the path of its file.
        ({ modules } = await loadFolder(functionsDir, join(outdir, `app-${++reloads}`)));
      },
      /** The component whose definition comes from a package, if the app mounts it. */
      componentOf: (name: string): MountedComponent | undefined =>
        components.find(({ specifier }) => specifier.startsWith(`${name}/convex.config`)),
    };
  } catch (error) {
    close();
    throw error;
  }
}

/** Near the app, so that what is left outside of the bundles resolves as it does for the app. */
async function cacheFolder(projectDir: string): Promise<string> {
  const cache = join(projectDir, "node_modules", ".cache", "stepwise");
  await mkdir(cache, { recursive: true });
  return await mkdtemp(join(cache, "run-"));
}

async function loadFolder(folder: string, outdir: string) {
  const entries = await findEntryPoints(folder);
  const schemaFiles = entries.schema === undefined ? [] : [entries.schema];
  // Not between the two: if the first failed meanwhile, nobody would wait for its error.
  const external = await externalPackages(dirname(folder));
  const [isolate, node] = await Promise.all([
    bundle({
      root: folder,
      entryPoints: [...entries.isolate, ...schemaFiles],
      outdir: join(outdir, "isolate"),
      platform: "isolate",
    }),
    bundle({
      root: folder,
      entryPoints: entries.node,
      outdir: join(outdir, "node"),
      platform: "node",
      external,
    }),
  ]);
  const { "./schema.js": loadSchema, ...others } = isolate;
  // convex-test finds the root of the folder by the first one.
  const modules: LoadableModules = { "./_generated/api.js": async () => ({}), ...others, ...node };
  // Without a schema any table may be written.
  const schema =
    entries.schema === undefined
      ? defineSchema({}, { schemaValidation: false })
      : schemaOf(await loadSchema?.(), join(folder, entries.schema));
  return { modules, schema };
}

/** The schema that a file exports. @throws if its default export is none, as a deploy would */
function schemaOf(module: unknown, file: string): AppSchema {
  const { default: given } = module as { readonly default?: Partial<AppSchema> | null };
  // It may be of another copy of Convex than this one.
  if (typeof given?.tables === "object" && given.tables !== null) return given as AppSchema;
  const what =
    given === undefined ? "has no default export" : "exports by default what is no schema";
  throw new Error(
    `${file} ${what}. Write there:\n` +
      `  import { defineSchema } from "convex/server";\n  export default defineSchema({ … });`,
  );
}

/** Where the components of Stepwise are mounted, also in other components. */
function pathsOfOurs(components: readonly MountedComponent[]): Set<string> {
  const paths = components.flatMap(({ path, specifier, children }) => [
    ...(specifier.startsWith("@stepwise/") ? [path] : []),
    ...pathsOfOurs(children),
  ]);
  return new Set(paths);
}

/** Each component's folder is deployed like the app's own, also if a package ships it. */
async function mountAll(
  t: AppTest,
  components: readonly MountedComponent[],
  outdir: string,
  whileOpen: (modules: LoadableModules) => LoadableModules,
): Promise<void> {
  for (const { path, directory, children } of components) {
    const { schema, modules } = await loadFolder(directory, join(outdir, "components", path));
    t.registerComponent(path, schema, whileOpen(modules));
    await mountAll(t, children, outdir, whileOpen);
  }
}
