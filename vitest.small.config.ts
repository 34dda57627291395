import { readdirSync, readFileSync } from "node:fs";
import { configOf, packages, testApp, types } from "./vitest.config.js";

const folders = [
  ...readdirSync("packages").map((name) => `packages/${name}/test`),
  "benchmarks/test",
  "tests",
];
const files = folders.flatMap((folder) =>
  readdirSync(folder, { recursive: true }).map((name) => `${folder}/${String(name)}`),
);
// Vitest would load them to skip their tests.
const isLarge = (file: string) =>
  file.endsWith(".test.ts") && readFileSync(file, "utf8").startsWith("/** @module-tag large */");

// Small tests take less than loading what they test: one project loads it once. The examples have no
// promise of their own.
export default configOf([
  packages("packages", `{${folders.join()}}`, testApp, files.filter(isLarge)),
  types("workpool"),
  types("workflow"),
]);
