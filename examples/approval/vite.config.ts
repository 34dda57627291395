import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";
import { embeddedBackEnd } from "./embedded/back-end.ts";

export default defineConfig(({ mode }) => ({
  plugins: [react(), ...(mode === "embedded" ? [embeddedBackEnd()] : [])],
  // The embedded back end writes generated files, which the page does not load.
  server: { watch: { ignored: ["**/convex/**"] } },
}));
