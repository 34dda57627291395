// Compiles the workflows of the run time's test apps, whose generated files are not committed.
// Vitest does it before the tests of `packages/workflow`; `node scripts/test-app.mjs` does it
// before a type check.
import { execFileSync } from "node:child_process";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");

export default async function setup() {
  // A build that is up to date takes a second.
  const build = [
    "turbo",
    "run",
    "build",
    "--filter=@stepwise/codegen...",
    "--output-logs=errors-only",
  ];
  execFileSync("npx", build, { cwd: root, stdio: ["ignore", "ignore", "inherit"] });
  const { compile, formatDiagnostic, writeGenerated } = await import("@stepwise/codegen");
  // Limits have an app of their own: an app that has none stores none with its first start.
  for (const app of ["convex", "limited"]) {
    const functionsDir = join(root, "packages/workflow/test", app);
    // Nothing here is deployed, so no run is at what is gone, nor at what an earlier compiler wrote.
    const { ok, diagnostics, files } = await compile({ functionsDir, drop: true, force: true });
    const problems = diagnostics.map((each) => formatDiagnostic(each, { color: false }));
    if (!ok) throw new Error(problems.join("\n"));
    await writeGenerated(functionsDir, files);
  }
}

if (process.argv[1] === import.meta.filename) await setup();
