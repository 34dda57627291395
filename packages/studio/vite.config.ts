import { defineConfig } from "vite";

/** The page: one static bundle, with nothing from the network. */
export default defineConfig({
  root: "src/page",
  base: "./",
  resolve: { conditions: ["@convex-dev/component-source", "module", "browser", "default"] },
  build: {
    outDir: "../../dist/page",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: false,
    // Turbo leaves what is there when it restores a build: another name would be one file more.
    // Nobody caches the page.
    rolldownOptions: {
      output: { entryFileNames: "assets/[name].js", assetFileNames: "assets/[name][extname]" },
    },
  },
  esbuild: { jsx: "automatic" },
});
