import { defineConfig } from "vitest/config";

export default defineConfig({
  // By default one core is left alone, which is half of the machine where there are two.
  test: { maxWorkers: "100%", projects: ["packages/*", "examples/*", "benchmarks"] },
});
