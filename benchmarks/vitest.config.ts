import { defineConfig } from "vitest/config";

const conditions = ["@convex-dev/component-source"];

export default defineConfig({
  // Against the sources of the workspace's packages, so that no build stands between an edit and its test.
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    name: "benchmarks",
    include: ["test/**/*.test.ts"],
    // A chain of 200 steps takes seconds on a machine that is busy with other things.
    testTimeout: 60_000,
  },
});
