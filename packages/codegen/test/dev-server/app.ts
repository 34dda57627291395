import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { mkdtemp, rm } from "../../../../scripts/folders.mjs";
import { compile, writeGenerated } from "../../src/compile.js";

/** A Convex app made of text, in a folder from which the workspace's packages can be imported. */
export interface TestApp {
  readonly functionsDir: string;
  remove(): Promise<void>;
}

const root = fileURLToPath(new URL("../../node_modules/.cache/stepwise-test", import.meta.url));

/** @param files by their path in the functions folder; definitions among them are compiled. */
export async function writeApp(files: Record<string, string>): Promise<TestApp> {
  await mkdir(root, { recursive: true });
  const folder = await mkdtemp(join(root, "app-"));
  const functionsDir = join(folder, "convex");
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(functionsDir, path)), { recursive: true });
    await writeFile(join(functionsDir, path), text);
  }
  const { ok, diagnostics, files: generated } = await compile({ functionsDir });
  if (!ok) throw new Error(diagnostics.map(({ message }) => message).join("\n"));
  await writeGenerated(functionsDir, generated);
  return { functionsDir, remove: () => rm(folder, { recursive: true, force: true }) };
}

/** Mounts the workflow component, and whatever else is given. */
export function convexConfig(more = ""): string {
  return `
    import { defineApp } from "convex/server";
    import workflow from "@stepwise/workflow/convex.config";
    ${more}
    const app = defineApp();
    app.use(workflow);
    ${more === "" ? "" : "app.use(more);"}
    export default app;
  `;
}
