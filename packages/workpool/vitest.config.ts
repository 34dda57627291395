import { project } from "../../vitest.shared.js";

export default project("workpool", {
  typecheck: { enabled: true, include: ["test/types/**/*.test-d.ts"] },
  // The peer's test module finds its functions with `import.meta.glob`, which only what Vite
  // transforms knows.
  server: { deps: { inline: ["@convex-dev/workpool"] } },
});
