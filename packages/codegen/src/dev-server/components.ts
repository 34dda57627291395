import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Plugin } from "esbuild";
import { convexConfigFiles } from "../plan/paths.js";
import { bundle } from "./bundle.js";

/** A component as `convex.config.ts` mounts it. */
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
        const source = { specifier: args.path, directory: dirname(found.path) };
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
