import { configDefaults } from "vitest/config";
import { project } from "../../vitest.shared.js";

export default project("codegen", {
  globalSetup: ["../../scripts/test-app.mjs"],
  // The apps that are compiled may have tests of their own.
  exclude: [...configDefaults.exclude, "test/fixtures/**"],
});
