import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { compile, writeGenerated } from "../src/compile.js";
import { deploy } from "./deploy-command.js";
import { functionsOf, writeModules } from "./deploy-modules.js";

const EXAMPLE = fileURLToPath(new URL("../../../examples/documents", import.meta.url));
const root = fileURLToPath(new URL("../node_modules/.cache/stepwise-test", import.meta.url));

test("what the official command sends of generated code that has moved has each function where it was, too", async () => {
  await mkdir(root, { recursive: true });
  const folder = await mkdtemp(join(root, "moved-"));
  try {
    const functionsDir = join(folder, "convex");
    await cp(join(EXAMPLE, "convex"), functionsDir, { recursive: true });
    await cp(join(EXAMPLE, "package.json"), join(folder, "package.json"));
    await writeFile(
      join(functionsDir, "stepwise.config.ts"),
      'import { defineConfig } from "@stepwise/workflow";\nexport default defineConfig({ output: "generated/workflows" });\n',
    );
    const using = join(functionsDir, "documents.ts");
    const text = await readFile(using, "utf8");
    await writeFile(using, text.replace("./_workflows", "./generated/workflows"));
    const { ok, files, folders } = await compile({ functionsDir });
    expect(ok).toBe(true);
    await writeGenerated(functionsDir, files, { folders });

    const { changedModules, schema } = (await deploy(folder)).push.appDefinition;
    const functions = await functionsOf(
      await writeModules(join(folder, "sent"), changedModules, schema),
    );
    const standIn = (path: string) =>
      functions
        .filter(({ name }) => name.startsWith(`${path}/`))
        .map(({ name, ...rest }) => ({ name: name.slice(path.length + 1), ...rest }));
    const names = standIn("generated/workflows").map(({ name }) => name);
    expect(names).toEqual(
      expect.arrayContaining(["analyzeDocument:outlineDone", "analyzeSection:resume"]),
    );
    expect(standIn("_workflows")).toEqual(standIn("generated/workflows"));
  } finally {
    await rm(folder, { recursive: true });
  }
}, 120_000);
