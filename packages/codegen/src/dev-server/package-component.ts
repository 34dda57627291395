import { readFile } from "node:fs/promises";
import { dirname, relative } from "node:path";
import type { Plugin } from "esbuild";
import { glob } from "tinyglobby";
import { bundle } from "./bundle.js";
import type { MountedComponent } from "./component-tree.js";
import type { AppTest } from "./app-test.js";

/** What a component's package exports under `./test`, by Convex's convention. */
export interface ComponentTest {
  /** Registers the component, and those below it, under `name`. */
  register(t: AppTest, name: string): void;
}

/**
 * Loads the `./test` export of a component's package.
 *
 * @throws when the package has none
 */
export async function loadComponentTest(
  component: MountedComponent,
  outdir: string,
): Promise<ComponentTest> {
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
  const loaded = (await Object.values(modules)[0]!()) as Partial<ComponentTest> & {
    default?: Partial<ComponentTest>;
  };
  const register = loaded.register ?? loaded.default?.register;
  if (register === undefined) {
    throw new Error(
      `The component "${component.path}" cannot be mounted: "${specifier}" exports no register().`,
    );
  }
  return { register };
}

/** An entry point that stands for a package's export, as seen from the app. */
function entryFrom(specifier: string, resolveDir: string): Plugin {
  return {
    name: "stepwise-component-test",
    setup(build) {
      build.onResolve({ filter: /.*/ }, ({ kind, path }) =>
        kind === "entry-point" ? { path, namespace: "stepwise-component-test" } : undefined,
      );
      build.onLoad({ filter: /.*/, namespace: "stepwise-component-test" }, () => ({
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
  const calls = [...source.matchAll(GLOB)];
  const maps = await Promise.all(
    calls.map(async ([, patterns]) => {
      const list = [...patterns!.matchAll(/["'`]([^"'`]*)["'`]/g)].map(([, pattern]) => pattern!);
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
