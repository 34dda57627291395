import { cp, mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { rm } from "../../../scripts/folders.mjs";
import { compileSources } from "../src/compile.js";
import { fixtures, foldersIn } from "./golden.js";
import { scratchFolder, typeErrors, writeGeneratedTypes } from "./type-check.js";

const features = (await foldersIn(fixtures)).filter((name) => name !== "errors");

test(
  "generated files and what uses them have no type errors, but where a childNamed<Output> is wrong",
  { tags: ["large"] },
  async () => {
    const scratch = scratchFolder("fixtures");
    await rm(scratch, { recursive: true, force: true });
    for (const feature of features) {
      const folder = join(scratch, feature);
      await cp(join(fixtures, feature, "convex"), folder, { recursive: true });
      await cp(join(fixtures, feature, "expected"), folder, { recursive: true });
      await writeGeneratedTypes(folder);
    }
    const { files } = await compileSources([{ file: "a.workflow.ts", text: declared }]);
    const folder = join(scratch, "declared");
    for (const { path, text } of [...files, { path: "a.workflow.ts", text: declared }]) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), text);
    }
    await writeGeneratedTypes(folder);
    const errors = await typeErrors(scratch);
    const named = "a `childNamed<Output>` with the output of the workflow that it names";
    expect(errors.filter(({ message }) => !message.includes(named))).toEqual([]);
    expect(errors.map(({ file }) => file)).toEqual(
      ["inCase", "oneOfTwo", "other", "otherField"].map((name) => `declared/_workflows/${name}.ts`),
    );
  },
);

const parent = (name: string, children: string) =>
  `export const ${name} = defineWorkflow({ input }).parent("p", { children: () => ${children} });\n`;

/** Children by name with the outputs of their workflows, and with others. */
const declared = `import { child, childNamed, defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
export const input = z.object({});
export const text = defineWorkflow({ input }).step("s", { query: () => "text" });
export const either = defineWorkflow({ input }).step("s", { query: (): string | null => null });
${parent("same", '[childNamed<string>("text", {}), child(either, {})]')}
${parent("wider", '({ a: childNamed<string | null>("text", {}) })')}
${parent("unknown", '[childNamed<unknown>("text", {})]')}
${parent("unseen", '[...others, childNamed<string>("text", {})]')}
const others: ReturnType<typeof childNamed<string>>[] = [];
${parent("other", '[childNamed<number>("text", {})]')}
${parent("otherField", '({ a: childNamed<string>("text", {}), b: childNamed<string>("either", {}) })')}
${parent("oneOfTwo", '[childNamed<string>("text", {}), childNamed<number>("either", {})]')}
export const inCase = defineWorkflow({ input }).branch("b", {
  on: () => "only",
  cases: { only: (b) => b.parent("p", { children: () => [childNamed<string>("either", {})] }) },
});
`;
