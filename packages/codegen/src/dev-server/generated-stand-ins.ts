import type { Plugin } from "esbuild";

const NAMESPACE = "stepwise-generated";

const CONTENTS: Record<string, string> = {
  api: `
    import { anyApi, componentsGeneric } from "convex/server";
    export const api = anyApi;
    export const internal = anyApi;
    export const components = componentsGeneric();
  `,
  server: `
    export {
      actionGeneric as action,
      httpActionGeneric as httpAction,
      internalActionGeneric as internalAction,
      internalMutationGeneric as internalMutation,
      internalQueryGeneric as internalQuery,
      mutationGeneric as mutation,
      queryGeneric as query,
    } from "convex/server";
    export const env = process.env;
  `,
  dataModel: "export {};",
};

/**
 * Stands in for `_generated` where `npx convex dev` has never run: it needs a deployment, and
 * at run time these modules are the same in every app.
 */
export const generatedStandIns: Plugin = {
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
