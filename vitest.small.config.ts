import { configOf, packages, testApp } from "./vitest.config.js";

// Small tests take less than loading what they test: one project loads it once.
export default configOf([packages("packages", "{packages/*/test,benchmarks/test,tests}", testApp)]);
