import { defineConfig } from "vitest/config";

export default defineConfig({
  resolve: { conditions: ["@convex-dev/component-source"] },
  ssr: { resolve: { conditions: ["@convex-dev/component-source"] } },
});
