import { project } from "../../vitest.shared.js";

export default project("workflow", {
  globalSetup: ["../../scripts/test-app.mjs"],
  typecheck: { enabled: true, include: ["test/types/**/*.test-d.ts"] },
});
