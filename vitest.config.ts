import { defineConfig } from "vitest/config";
import { isShown } from "./vitest.shared.js";

export default defineConfig({
  // By default one core is left alone, which is half of the machine where there are two.
  test: {
    maxWorkers: "100%",
    onConsoleLog: isShown,
    projects: ["packages/*", "examples/*", "benchmarks"],
  },
});
