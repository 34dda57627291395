import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { format, type Options } from "prettier";
import { expect, test } from "vitest";
import { rm } from "../../../../scripts/folders.mjs";
import { app, useApp, workflowCodegen } from "../cli/command.js";
import { filesIn } from "../golden.js";

useApp();

const text = (step: string) => `import { child, defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
export const leaf = defineWorkflow({ input: z.object({ a: z.string().default('it is "a"') }) }).step("x", { action: () => 1 });
export const flow = defineWorkflow({ input: z.object({}) })
  .step("${step}", { action: () => 1, retry: true })
  .parent("p", { children: () => [child(leaf, {})] })
  .branch("b", { on: () => "y" as const, cases: { y: (b) => b.sleep("wait", 5) } });
`;

test.each<[what: string, options: Options]>([
  ["single quotes, no semicolons, wide lines", { singleQuote: true, semi: false, printWidth: 140 }],
  ["tabs, narrow lines", { useTabs: true, printWidth: 40 }],
  [
    "no trailing commas, bare parameters",
    { trailingComma: "none", arrowParens: "avoid", bracketSpacing: false },
  ],
  ["quoted properties", { quoteProps: "consistent", experimentalTernaries: true }],
])(
  "generated files in another layout, %s, are recognised and replaced",
  { tags: ["large"] },
  async (_what, options) => {
    const convex = join(app(), "convex");
    await mkdir(convex);
    await writeFile(join(convex, "flow.workflow.ts"), text("first"));
    await workflowCodegen();
    const generated = Object.entries(await filesIn(join(convex, "_workflows")));
    for (const [name, source] of generated.filter(([path]) => /\.(ts|json)$/.test(path)))
      await writeFile(
        join(convex, "_workflows", name),
        await format(source, { ...options, filepath: name }),
      );
    const before = await readFile(join(convex, "_workflows/flow.ts"), "utf8");
    await writeFile(join(convex, "flow.workflow.ts"), text("second"));
    expect((await workflowCodegen()).code).toBe(0);
    const after = await filesIn(join(convex, "_workflows"));
    expect(after["flow.ts"]).not.toBe(before);
    await rm(join(convex, "_workflows"), { recursive: true });
    await workflowCodegen();
    const fresh = await filesIn(join(convex, "_workflows"));
    expect(after["leaf.ts"]).toBe(fresh["leaf.ts"]);
    expect(after["index.ts"]).toBe(fresh["index.ts"]);
  },
);

test("one whose code was edited too is not", async () => {
  const convex = join(app(), "convex");
  await mkdir(convex);
  await writeFile(join(convex, "flow.workflow.ts"), text("first"));
  await workflowCodegen();
  const path = join(convex, "_workflows/leaf.ts");
  const edited = (await readFile(path, "utf8")).replace("z.string()", "z.number()");
  await writeFile(path, await format(edited, { semi: false, parser: "typescript" }));
  await expect(workflowCodegen()).rejects.toMatchObject({ name: "WriteRefused" });
});
