import { readFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { build, type Plugin } from "esbuild";
import { existsSync } from "node:fs";
import { glob } from "tinyglobby";
import { nodeDirective } from "../analyze/node-directive.js";
import { convexConfigFiles } from "../plan/paths.js";

export interface BundleOptions {
  readonly root: string;
  readonly entryPoints: string[];
  readonly outdir: string;
  readonly platform: "isolate" | "node";
  /** Packages that are loaded at run time instead of being bundled. */
  readonly external?: string[];
  readonly plugins?: Plugin[];
}

export type LoadableModules = Record<string, () => Promise<unknown>>;

/** Bundles modules with their packages as a deployment would, but for `convex`. @throws */
export async function bundle(options: BundleOptions): Promise<LoadableModules> {
  if (options.entryPoints.length === 0) return {};
  const isNode = options.platform === "node";
  await build({
    // Relative, as esbuild reads a `*` in the path of an entry as a pattern.
    absWorkingDir: resolve(options.root),
    entryPoints: options.entryPoints.map((entry) => ({
      in: `./${entry}`,
      out: withoutExtension(entry),
    })),
    outdir: options.outdir,
    bundle: true,
    splitting: true,
    format: "esm",
    target: "node20",
    platform: isNode ? "node" : "browser",
    conditions: ["convex", "module"],
    jsx: "automatic",
    keepNames: true,
    sourcemap: true,
    external: [...neverBundled, ...(options.external ?? [])],
    outExtension: { ".js": ".mjs" },
    define: { "process.env.NODE_ENV": '"production"' },
    // CommonJS packages in a module need a `require` for what they load at run time.
    ...(isNode ? { banner: { js: REQUIRE } } : {}),
    plugins: [generatedStandIns, ...(options.plugins ?? [])],
    logLevel: "silent",
  });
  return Object.fromEntries(
    options.entryPoints.map((entry) => {
      const name = withoutExtension(entry);
      const url = pathToFileURL(join(options.outdir, `${name}.mjs`)).href;
      return [`./${name}.js`, () => import(url) as Promise<unknown>];
    }),
  );
}

function withoutExtension(file: string): string {
  return file.replace(/\.[^./]+$/, "");
}

const REQUIRE =
  'import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);';

/** What is not bundled: Convex's client, and the one Node module that its own runtime offers. */
const neverBundled = ["convex", "convex/*", "async_hooks", "node:async_hooks"];

/** The packages that `convex.json` keeps out of the bundle of Node actions. */
export async function externalPackages(projectDir: string): Promise<string[]> {
  // The file is optional.
  const text = await readFile(join(projectDir, "convex.json"), "utf8").catch(() => "{}");
  const config = JSON.parse(text) as { node?: { externalPackages?: string[] } };
  const listed = config.node?.externalPackages ?? [];
  // `*` means every package.
  return listed.includes("*") ? ["*"] : listed.flatMap((name) => [name, `${name}/*`]);
}

const GENERATED = "stepwise-generated";

const kinds = "action httpAction internalAction internalMutation internalQuery mutation query";
const CONTENTS: Record<string, string> = {
  api: `
    import { anyApi, componentsGeneric } from "convex/server";
    export const api = anyApi, internal = anyApi, components = componentsGeneric();
  `,
  server: `
    export { ${kinds.replace(/\w+/g, "$&Generic as $&,")} } from "convex/server";
    export const env = process.env;
  `,
  dataModel: "export {};",
};

/** Stands in for `_generated`, which may be missing, or older than the app's components. */
const generatedStandIns: Plugin = {
  name: GENERATED,
  setup(build) {
    build.onResolve({ filter: /_generated\/(api|server|dataModel)(\.js)?$/ }, ({ path }) => ({
      path: path.replace(/^.*_generated\//, "").replace(/\.js$/, ""),
      namespace: GENERATED,
    }));
    build.onLoad({ filter: /.*/, namespace: GENERATED }, ({ path }) => ({
      contents: CONTENTS[path],
    }));
  },
};

const MODULES = "**/*.{ts,tsx,mts,cts,js,jsx,mjs,cjs}";

/** The modules that Convex would deploy from a folder, by where they run, and its schema. */
export async function findEntryPoints(functionsDir: string) {
  const files = await glob(MODULES, {
    cwd: functionsDir,
    dot: false,
    ignore: ["**/node_modules/**"],
  });
  const isolate: string[] = [];
  const node: string[] = [];
  for (const file of files.sort()) {
    if (!isEntryPoint(file) || isInComponent(functionsDir, file)) continue;
    const source = await readFile(join(functionsDir, file), "utf8");
    // Convex takes a TypeScript file without any for no module at all.
    if (/\.tsx?$/.test(file) && !/^\s{0,100}(import|export)/m.test(source)) continue;
    (nodeDirective(source) === undefined ? isolate : node).push(file);
  }
  const schema = files.find((file) => /^schema\.[jt]s$/.test(file));
  return { isolate, node, schema };
}

function isEntryPoint(file: string): boolean {
  const base = basename(file);
  if (file.startsWith("_generated/") || file.includes(" ")) return false;
  if (base === "schema.ts" || base === "schema.js") return false;
  return !/^[.#]/.test(base) && base.split(".").length === 2;
}

/** A folder with a `convex.config.ts` of its own is a component, deployed apart from the app. */
function isInComponent(functionsDir: string, file: string): boolean {
  for (let folder = dirname(file); folder !== "."; folder = dirname(folder)) {
    if (existsSync(join(functionsDir, folder, "convex.config.ts"))) return true;
  }
  return false;
}

export interface MountedComponent {
  /** Its path from the app, such as `workflow` or `billing/ledger`. */
  readonly path: string;
  /** What was imported: `@stepwise/workflow/convex.config`, or `./billing/convex.config`. */
  readonly specifier: string;
  /** The folder of its definition, and of its functions. */
  readonly directory: string;
  readonly children: MountedComponent[];
}

/** A component's definition at run time, as `componentDefinitions` gives it. */
interface Definition {
  readonly _childComponents: [name: string, imported: Imported][];
}
interface Imported {
  readonly source: Pick<MountedComponent, "specifier" | "directory">;
  readonly definition: Definition;
}

export async function findComponents(functionsDir: string, outdir: string) {
  const entry = convexConfigFiles.find((name) => existsSync(join(functionsDir, name)));
  if (entry === undefined) return [];
  const modules = await bundle({
    root: functionsDir,
    entryPoints: [entry],
    outdir,
    platform: "isolate",
    plugins: [componentDefinitions],
  });
  const config = (await Object.values(modules)[0]!()) as { default?: Partial<Definition> };
  const { _childComponents } = config.default ?? {};
  if (_childComponents === undefined)
    throw new Error(
      `${entry} exports no app: end it with \`export default app\`, where \`app\` is what \`defineApp()\` gives.`,
    );
  return mounted({ _childComponents }, "");
}

function mounted(definition: Definition, above: string): MountedComponent[] {
  return definition._childComponents.map(([name, imported]) => {
    const path = above === "" ? name : `${above}/${name}`;
    return { path, ...imported.source, children: mounted(imported.definition, path) };
  });
}

const COMPONENTS = "stepwise-component";

/** Gives imported definitions the shape that `use` asks for, and notes where each came from. */
const componentDefinitions: Plugin = {
  name: COMPONENTS,
  setup(build) {
    build.onResolve({ filter: /convex\.config(\.[jt]s)?$/ }, async (args) => {
      if (args.kind === "entry-point" || args.pluginData === COMPONENTS) return undefined;
      if (args.namespace === COMPONENTS) return { path: args.path };
      for (const path of [args.path, args.path.replace(/\.js$/, ".ts"), `${args.path}.js`]) {
        const found = await build.resolve(path, {
          kind: args.kind,
          resolveDir: args.resolveDir,
          pluginData: COMPONENTS,
        });
        if (found.errors.length > 0) continue;
        const source = { specifier: args.path, directory: dirname(found.path) };
        return { path: found.path, namespace: COMPONENTS, pluginData: source };
      }
      return undefined;
    });
    build.onLoad({ filter: /.*/, namespace: COMPONENTS }, ({ path, pluginData }) => ({
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
