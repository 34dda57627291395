import { expect, test } from "vitest";
import { compileSources } from "../src/compile.js";
import type { Diagnostic } from "../src/diagnostics/diagnostic.js";

/** What is found in a workflow with these nodes. */
async function found(nodes: string): Promise<Diagnostic[]> {
  const text = `import { defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
export const flow = defineWorkflow({ input: z.object({}) })${nodes};
`;
  return (await compileSources([{ file: "a.workflow.ts", text }])).diagnostics;
}

test("a misspelt kind of function is marked where it stands", async () => {
  const nodes = '.step("s", { retry: true, acton: () => 1 })';
  const [first] = (await found(nodes)).filter(({ code }) => code === "SW1205");
  expect(first?.place).toMatchObject({ line: 3, length: "acton".length });
  expect(first?.hint).toContain("`action`");
});

test("a key that is a number is read as the name that it is", async () => {
  const nodes =
    '.branch("b", { on: () => "1" as const, cases: { 1: (b) => b.step("s", { query: () => 1 }) } })';
  expect((await found(nodes)).map(({ code }) => code)).not.toContain("SW1203");
});

test("waiting twice for one event is offered anyOf", async () => {
  const event = '.event("approval", { schema: z.any() })';
  const nodes = `${event}.branch("b", { on: () => "x" as const, cases: { x: (b) => b${event} } })`;
  expect(await found(nodes)).toMatchObject([
    { code: "SW1011", hint: expect.stringContaining("anyOf: { approval: schema }") },
  ]);
});

test("[S245] an option that another node has is taken for the one that is missing here", async () => {
  expect(await found(".parent('p', { child: () => [] })")).toMatchObject([
    { code: "SW1213", hint: "did you mean `children` where it has `child`?" },
  ]);
  const match = "match('m', { on: () => 1, cases: { a: (b) => b } })";
  expect(await found(`.${match}`)).toMatchObject([
    { code: "SW1213", hint: "did you mean `of` where it has `on`?" },
  ]);
});

test("a misspelt field of an option is told once, and not also that the right one is missing", async () => {
  const nodes = '.step("s", { action: () => 1, retry: { attempts: 3 } })';
  expect(await found(nodes)).toMatchObject([
    { code: "SW1211", message: expect.stringContaining("`retry.attempts: 3`") },
  ]);
});
