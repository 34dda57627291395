import { defineConfig } from "vitest/config";

const conditions = ["@convex-dev/component-source"];

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    name: "workflow",
    include: ["test/**/*.test.ts"],
    typecheck: { enabled: true, include: ["test/types/**/*.test-d.ts"] },
  },
});
