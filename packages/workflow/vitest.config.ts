import { project } from "../../vitest.shared.js";

export default project("workflow", {
  typecheck: { enabled: true, include: ["test/types/**/*.test-d.ts"] },
});
