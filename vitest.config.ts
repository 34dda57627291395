import { defineConfig } from "vitest/config";

export default defineConfig({
  // Tests run against the sources of the workspace's packages, so no build stands between an edit and its test.
  resolve: { conditions: ["@convex-dev/component-source"] },
  ssr: { resolve: { conditions: ["@convex-dev/component-source"] } },
  test: {
    projects: ["packages/*", "examples/*", "benchmarks"],
  },
});
