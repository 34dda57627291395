import { configDefaults } from "vitest/config";
import { project } from "../../vitest.shared.js";

export default project("codegen", {
  // Embedded back ends and virtual clocks of one file have been seen to hang the next one.
  isolate: true,
  globalSetup: ["../../scripts/test-app.mjs"],
  // The apps that are compiled may have tests of their own.
  exclude: [...configDefaults.exclude, "test/fixtures/**"],
});
