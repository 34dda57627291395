import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import type { TestConvex } from "convex-test";
import type { GenericSchema, SchemaDefinition } from "convex/server";
import type { Plugin } from "esbuild";
import { glob } from "tinyglobby";
import { convexConfigFiles } from "../plan/paths.js";
import { bundle } from "./bundle.js";

/** convex-test's `t` for an app whose schema is only known at run time. */
export type AppTest = TestConvex<AppSchema>;
export type AppSchema = SchemaDefinition<GenericSchema, boolean>;

/** A component as `convex.config.ts` mounts it. */
export interface MountedComponent {
  /** Its path from the app, such as `workflow` or `billing/ledger`. */
  readonly path: string;
  /** What was imported: `@stepwise/workflow/convex.config`, or `./billing/convex.config`. */
  readonly specifier: string;
  /** The folder its definition was imported from. */
  readonly importedFrom: string;
  /** The folder of its definition. */
  readonly directory: string;
  readonly children: MountedComponent[];
}

/** A component's definition at run time, as `componentDefinitions` gives it. */
interface Definition {
  readonly _childComponents: [name: string, imported: Imported][];
}
interface Imported {
  readonly source: Pick<MountedComponent, "specifier" | "importedFrom" | "directory">;
  readonly definition: Definition;
}

/** The components that the app mounts, with those that they mount. Empty without a `convex.config.ts`. */
export async function findComponents(
  functionsDir: string,
  outdir: string,
): Promise<MountedComponent[]> {
  const entry = convexConfigFiles.find((name) => existsSync(join(functionsDir, name)));
  if (entry === undefined) return [];
  const modules = await bundle({
    root: functionsDir,
    entryPoints: [entry],
    outdir,
    platform: "isolate",
    plugins: [componentDefinitions],
  });
  const config = (await Object.values(modules)[0]!()) as { default: Definition };
  return mounted(config.default, "");
}

function mounted(definition: Definition, above: string): MountedComponent[] {
  return definition._childComponents.map(([name, imported]) => {
    const path = above === "" ? name : `${above}/${name}`;
    return { path, ...imported.source, children: mounted(imported.definition, path) };
  });
}

const NAMESPACE = "stepwise-component";

/**
 * Gives imported definitions the shape they have in Convex's own evaluation, without which `use`
 * refuses them, and notes where each came from.
 */
const componentDefinitions: Plugin = {
  name: NAMESPACE,
  setup(build) {
    build.onResolve({ filter: /convex\.config(\.[jt]s)?$/ }, async (args) => {
      if (args.kind === "entry-point" || args.pluginData === NAMESPACE) return undefined;
      if (args.namespace === NAMESPACE) return { path: args.path };
      for (const path of [args.path, args.path.replace(/\.js$/, ".ts"), `${args.path}.js`]) {
        const found = await build.resolve(path, {
          kind: args.kind,
          resolveDir: args.resolveDir,
          pluginData: NAMESPACE,
        });
        if (found.errors.length > 0) continue;
        const source = {
          specifier: args.path,
          importedFrom: args.resolveDir,
          directory: dirname(found.path),
        };
        return { path: found.path, namespace: NAMESPACE, pluginData: source };
      }
      return undefined;
    });
    build.onLoad({ filter: /.*/, namespace: NAMESPACE }, ({ path, pluginData }) => ({
      contents: `
        import definition from ${JSON.stringify(path)};
        const source = ${JSON.stringify(pluginData)};
        export default {
          componentDefinitionPath: source.directory, defaultName: definition._name, source, definition,
        };
      `,
      resolveDir: dirname(path),
    }));
  },
};

/** Registers a component, and those below it, under a name. */
type Register = (t: AppTest, name: string) => void;

/**
 * The `register` that a component's package exports under `./test`, by Convex's convention.
 *
 * @throws if the package has none
 */
export async function registerOf(component: MountedComponent, outdir: string): Promise<Register> {
  const specifier = component.specifier.replace(/\/convex\.config(\.[jt]s)?$/, "/test");
  let modules;
  try {
    modules = await bundle({
      root: component.importedFrom,
      entryPoints: ["test.ts"],
      outdir,
      platform: "isolate",
      plugins: [entryFrom(specifier, component.importedFrom), expandGlobs(specifier)],
    });
  } catch (cause) {
    throw new Error(
      `The component "${component.path}" cannot be mounted: its package has no usable export "${specifier}", ` +
        "by which components register themselves for tests.",
      { cause },
    );
  }
  interface Exports {
    readonly register?: Register;
  }
  const loaded = (await Object.values(modules)[0]!()) as Exports & { readonly default?: Exports };
  const register = loaded.register ?? loaded.default?.register;
  if (register !== undefined) return register;
  throw new Error(
    `The component "${component.path}" cannot be mounted: "${specifier}" exports no register().`,
  );
}

const testNamespace = "stepwise-component-test";

/** An entry point that stands for a package's export, as seen from the app. */
function entryFrom(specifier: string, resolveDir: string): Plugin {
  return {
    name: testNamespace,
    setup(build) {
      build.onResolve({ filter: /.*/ }, ({ kind, path }) =>
        kind === "entry-point" ? { path, namespace: testNamespace } : undefined,
      );
      build.onLoad({ filter: /.*/, namespace: testNamespace }, () => ({
        contents: `export * from ${JSON.stringify(specifier)};`,
        resolveDir,
        loader: "ts",
      }));
    },
  };
}

const GLOB = /import\.meta\.glob\(\s*(\[[^\]]*\]|"[^"]*"|'[^']*'|`[^`]*`)[^)]*\)/g;

/**
 * Components list their modules with `import.meta.glob`, which only vite has: in the module that
 * `specifier` leads to, it is replaced by what vite would make of it.
 */
function expandGlobs(specifier: string): Plugin {
  const resolving = Symbol("resolving");
  return {
    name: "stepwise-import-meta-glob",
    setup(build) {
      let test: string | undefined;
      build.onResolve({ filter: /\/test$/ }, async ({ path, resolveDir, kind, pluginData }) => {
        if (path !== specifier || pluginData === resolving) return undefined;
        const found = await build.resolve(path, { resolveDir, kind, pluginData: resolving });
        test = found.path;
        return found;
      });
      build.onLoad({ filter: /\.[cm]?[jt]s$/ }, async ({ path }) => {
        if (path !== test) return undefined;
        const source = await readFile(path, "utf8");
        return { contents: await expanded(source, dirname(path)), loader: "ts" };
      });
    },
  };
}

async function expanded(source: string, directory: string): Promise<string> {
  const maps = await Promise.all(
    [...source.matchAll(GLOB)].map(async ([, patterns = ""]) => {
      const list = [...patterns.matchAll(/["'`]([^"'`]*)["'`]/g)].map(([, each = ""]) => each);
      return await moduleMap(list, directory);
    }),
  );
  let call = 0;
  return source.replace(GLOB, () => maps[call++]!);
}

async function moduleMap(patterns: string[], directory: string): Promise<string> {
  const files = await glob(patterns, { cwd: directory, absolute: true });
  const entries = files
    .filter((file) => !/\.d\.[cm]?ts$|\.test\.[jt]s$|\.map$/.test(file))
    .sort()
    .map((file) => JSON.stringify(`./${relative(directory, file).replaceAll("\\", "/")}`))
    .map((path) => `${path}: () => import(${path})`);
  return `({ ${entries.join(", ")} })`;
}
