import { defineConfig } from "vite";

/** The page: one static bundle, with nothing from the network. */
export default defineConfig({
  root: "src/page",
  base: "./",
  resolve: { conditions: ["@convex-dev/component-source", "module", "browser", "default"] },
  build: { outDir: "../../dist/page", emptyOutDir: true, target: "es2022", modulePreload: false },
  esbuild: { jsx: "automatic" },
});
