import { expect, test } from "vitest";
import { compileSources } from "../../src/compile.js";

const text = `import { child, defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
export const leaf = defineWorkflow({ input: z.object({}) }).step("only", { query: () => 1 });
export const order = defineWorkflow({ input: z.object({}) }).parent("pages", {
  finalize: { query: (_ctx, { children }) => children.length },
  children: ({ output }) => output.map(() => child(leaf, {})),
  action: () => [1, 2, 3],
});
`;

test("options may stand in any order where TypeScript infers no types from it", async () => {
  const codesIn = async (file: string) =>
    (await compileSources([{ file, text }])).diagnostics.map(({ code }) => code);
  expect(await codesIn("a.workflow.js")).toEqual([]);
  expect(await codesIn("a.workflow.jsx")).toEqual([]);
  expect(await codesIn("a.workflow.ts")).toContain("SW1209");
  expect(await codesIn("a.workflow.tsx")).toContain("SW1209");
});
