import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { build, type Plugin } from "esbuild";

export interface BundleOptions {
  /** What the entry points are relative to. */
  readonly root: string;
  readonly entryPoints: string[];
  readonly outdir: string;
  readonly platform: "isolate" | "node";
  /** Packages that are loaded at run time instead of being bundled. */
  readonly external?: string[];
  readonly plugins?: Plugin[];
}

/** From a module's path, such as `./documents.js`, to its import. */
export type LoadableModules = Record<string, () => Promise<unknown>>;

/**
 * Bundles modules as a deployment would, packages included, so that what is imported depends on no
 * package being fit for Node's own loader. Only `convex` itself stays outside: there must be one.
 *
 * @throws when something cannot be bundled, with esbuild's message and the place
 */
export async function bundle(options: BundleOptions): Promise<LoadableModules> {
  if (options.entryPoints.length === 0) return {};
  const isNode = options.platform === "node";
  await build({
    entryPoints: options.entryPoints.map((entry) => ({
      in: resolve(options.root, entry),
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
    external: ["convex", "convex/*", ...(options.external ?? [])],
    outExtension: { ".js": ".mjs" },
    define: { "process.env.NODE_ENV": '"production"' },
    // CommonJS packages in a module need a `require` for what they load at run time.
    ...(isNode ? { banner: { js: REQUIRE } } : {}),
    plugins: [...(isNode ? [] : [asyncHooks]), generatedStandIns, ...(options.plugins ?? [])],
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

/** The one Node module that Convex's own runtime offers. */
const asyncHooks: Plugin = {
  name: "async-hooks",
  setup(build) {
    build.onResolve({ filter: /^(node:)?async_hooks$/ }, () => ({
      path: "node:async_hooks",
      external: true,
    }));
  },
};

/** The packages that `convex.json` keeps out of the bundle of Node actions. */
export async function externalPackages(projectDir: string): Promise<string[]> {
  // The file is optional.
  const text = await readFile(join(projectDir, "convex.json"), "utf8").catch(() => "{}");
  const config = JSON.parse(text) as { node?: { externalPackages?: string[] } };
  const listed = config.node?.externalPackages ?? [];
  // `*` means every package.
  return listed.includes("*") ? ["*"] : listed.flatMap((name) => [name, `${name}/*`]);
}

const NAMESPACE = "stepwise-generated";

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

/**
 * Stands in for `_generated` where `npx convex dev` has never run: it needs a deployment, and
 * at run time these modules are the same in every app.
 */
const generatedStandIns: Plugin = {
  name: NAMESPACE,
  setup(build) {
    build.onResolve({ filter: /_generated\/(api|server|dataModel)(\.js)?$/ }, async (args) => {
      if (args.pluginData === NAMESPACE) return undefined;
      const found = await build.resolve(args.path, {
        kind: args.kind,
        resolveDir: args.resolveDir,
        pluginData: NAMESPACE,
      });
      if (found.errors.length === 0) return found;
      const path = args.path.replace(/^.*_generated\//, "").replace(/\.js$/, "");
      return { path, namespace: NAMESPACE, pluginData: { resolveDir: args.resolveDir } };
    });
    build.onLoad({ filter: /.*/, namespace: NAMESPACE }, ({ path, pluginData }) => ({
      contents: CONTENTS[path],
      resolveDir: (pluginData as { resolveDir: string }).resolveDir,
    }));
  },
};
