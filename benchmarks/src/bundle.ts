import { join, relative, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { moduleGlobs } from "./module-globs.js";

export interface BundleOptions {
  /** What the entry points are relative to. */
  readonly root: string;
  readonly entryPoints: readonly string[];
  readonly outdir: string;
  /**
   * Export conditions, by which the workspace's own packages give their sources instead of their
   * builds.
   */
  readonly conditions: readonly string[];
}

/** From a module's path to its import. */
export type Modules = Record<string, () => Promise<unknown>>;

/**
 * Bundles modules, and the packages they import, as a deployment would.
 *
 * @returns the imports of the modules, by their entry points
 */
export async function bundle(options: BundleOptions): Promise<Modules> {
  const { root, entryPoints, outdir, conditions } = options;
  await build({
    entryPoints: entryPoints.map((entry) => resolve(root, entry)),
    outdir,
    outbase: root,
    bundle: true,
    // A module that two others import must be one and the same in both.
    splitting: true,
    format: "esm",
    target: "node20",
    platform: "browser",
    conditions: ["convex", "module", ...conditions],
    // There must be one `convex` in the process: that of convex-test.
    external: ["convex", "convex/*"],
    outExtension: { ".js": ".mjs" },
    define: { "process.env.NODE_ENV": '"production"' },
    plugins: [moduleGlobs],
    logLevel: "warning",
  });
  return Object.fromEntries(
    entryPoints.map((entry) => {
      const file = relative(root, resolve(root, entry)).replace(/\.[jt]s$/, ".mjs");
      const { href } = pathToFileURL(join(outdir, file));
      return [entry, () => import(href) as Promise<unknown>];
    }),
  );
}
