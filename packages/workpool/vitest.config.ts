import { defineConfig } from "vitest/config";

const conditions = ["@convex-dev/component-source"];

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    name: "workpool",
    environment: "node",
    include: ["test/**/*.test.ts"],
  },
});
