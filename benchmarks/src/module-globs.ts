import { readFile } from "node:fs/promises";
import { dirname } from "node:path";
import type { Plugin } from "esbuild";
import { glob } from "tinyglobby";

const CALL = /import\.meta\.glob\(\s*(\[[^\]]*\]|"[^"]*"|'[^']*'|`[^`]*`)[^)]*\)/g;
const QUOTED = /["'`]([^"'`]*)["'`]/g;

/** The `./test` module of a component's package, by which it registers itself. */
const COMPONENT_TEST = /[/\\]node_modules[/\\]@convex-dev[/\\].*[/\\]test\.[jt]s$/;

/**
 * Published components list their modules with `import.meta.glob`, which only Vite has. Each call
 * is replaced by the map from paths to imports that Vite would put there.
 */
export const moduleGlobs: Plugin = {
  name: "module-globs",
  setup(build) {
    build.onLoad({ filter: COMPONENT_TEST }, async ({ path }) => {
      const source = await readFile(path, "utf8");
      const maps = await Promise.all(
        [...source.matchAll(CALL)].map(([, patterns]) => mapOf(patterns!, dirname(path))),
      );
      return { contents: source.replace(CALL, () => maps.shift()!), loader: "ts" };
    });
  },
};

async function mapOf(patterns: string, directory: string): Promise<string> {
  const files = await glob(
    [...patterns.matchAll(QUOTED)].map(([, pattern]) => pattern!),
    {
      cwd: directory, // Names with two dots are no modules of a deployment.
      ignore: ["**/*.*.*"],
    },
  );
  const entries = files
    .sort()
    .map((file) => JSON.stringify(`./${file}`))
    .map((path) => `${path}: () => import(${path})`);
  return `({ ${entries.join(", ")} })`;
}
