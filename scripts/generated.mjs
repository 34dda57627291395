// Compiles the workflows of every app in this repository. With --check it writes nothing, and fails
// where a file is out of date.
import { readdir, readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { compile, formatDiagnostic, writeGenerated } from "@stepwise/codegen";

const check = process.argv.includes("--check");
const apps = await readdir(resolve(import.meta.dirname, "../examples"));
const folders = apps.map((app) => `examples/${app}/convex`);

for (const folder of folders) {
  const functionsDir = resolve(import.meta.dirname, "..", folder);
  // Nothing here is deployed, so no run is at what is gone.
  const { ok, diagnostics, files } = await compile({ functionsDir, drop: true });
  for (const diagnostic of diagnostics)
    console.error(formatDiagnostic(diagnostic, { color: false }));
  if (!ok) process.exitCode = 1;
  else if (!check) await writeGenerated(functionsDir, files);
  else
    for (const { path, text } of files) {
      if ((await readFile(join(functionsDir, path), "utf8").catch(() => null)) === text) continue;
      console.error(`${join(folder, path)} is out of date: run node scripts/generated.mjs`);
      process.exitCode = 1;
    }
}
