/** @module-tag large */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { rm } from "../../../scripts/folders.mjs";
import { scratchFolder, typeErrors, writeGeneratedTypes } from "./type-check.js";

const head = `import { child, defineWorkflow } from "@stepwise/workflow";
import { internal } from "./_generated/api";
import { z } from "zod";
const start = defineWorkflow({ input: z.object({ kind: z.enum(["a", "b"]) }) });
const leaf = start.step("leaf", { query: () => 1 });
export const flow = start`;

const wrong: Readonly<Record<string, string>> = {
  twoKinds: '.step("s", { action: () => 1, mutation: () => 1 })',
  twoKindsOfFinalize: ".finalize({ query: () => 1, mutation: () => 1 })",
  bothSchemas: '.event("e", { schema: z.string(), anyOf: { other: z.string() } })',
  referenceInline:
    '.parent("p", { query: internal.a.b, children: () => [child(leaf, { kind: "a" })] })',
  missingCase:
    '.branch("b", { on: ({ input }) => input.kind, cases: { a: (b) => b.sleep("s", 1) } })',
  unknownCase:
    '.branch("b", { on: ({ input }) => input.kind, cases: { a: (b) => b.sleep("s", 1), b: (b) => b.sleep("t", 1), c: (b) => b.sleep("u", 1) } })',
};

test("[S124] what the compiler leaves to TypeScript is a type error there", async () => {
  const folder = scratchFolder("left-to-typescript");
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  for (const [name, node] of Object.entries(wrong))
    await writeFile(join(folder, `${name}.workflow.ts`), `${head}${node};\n`);
  await writeFile(
    join(folder, "ownChild.workflow.ts"),
    `${head}.step("s", { query: () => 1 });
export const own = defineWorkflow({ input: z.object({}) }).parent("p", { children: () => [child(own, {})] });
`,
  );
  await writeGeneratedTypes(folder);
  const files = new Set((await typeErrors(folder)).map(({ file }) => file.split(".")[0]));
  expect([...files].sort()).toEqual([...Object.keys(wrong), "ownChild"].sort());
});
