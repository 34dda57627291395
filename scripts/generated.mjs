// Compiles the workflows of every app in this repository. Takes --check.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { compile, formatDiagnostic, writeGenerated } from "@stepwise/codegen";
import { isCheck, keep, root } from "./committed.mjs";

for (const app of readdirSync(join(root, "examples"))) {
  const folder = `examples/${app}/convex`;
  const functionsDir = join(root, folder);
  // Nothing here is deployed, so no run is at what is gone.
  const { ok, diagnostics, files } = await compile({ functionsDir, drop: true });
  for (const diagnostic of diagnostics)
    console.error(formatDiagnostic(diagnostic, { color: false }));
  if (!ok) process.exitCode = 1;
  else if (isCheck) for (const { path, text } of files) keep(`${folder}/${path}`, text);
  else await writeGenerated(functionsDir, files);
}
