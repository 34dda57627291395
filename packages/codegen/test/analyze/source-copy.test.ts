import { expect, test } from "vitest";
import { compileSources } from "../../src/compile.js";
import { toWritten } from "../../src/plan/write.js";

/** What the plan keeps of the one compensation of a definition, with the names that are imported in angle brackets. */
async function kept(
  compensate: string,
  top = "",
): Promise<{ text?: string; open?: string; imports?: string[] }> {
  const text = `import { defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
import { internal } from "./_generated/api";
import { refund, type Receipt } from "../lib/refund";
import type { Ctx } from "./ctx";
import * as shop from "./shop";
${top}
export const flow = defineWorkflow({ input: z.object({}) })
  .step("charge", { query: () => 1, compensate: ${compensate} });
`;
  const { plan, diagnostics } = await compileSources([{ file: "sub/flow.workflow.ts", text }]);
  expect(diagnostics).toEqual([]);
  const [compensation] = toWritten(plan).workflows[0]?.compensations ?? [];
  if (compensation === undefined || "open" in compensation) return { ...compensation };
  const { parts, imports } = compensation.source;
  return {
    text: parts.map((part) => (typeof part === "string" ? part : `<${part.name}>`)).join(""),
    imports: imports.map(({ local, imported, module }) => `${local}: ${imported} of ${module}`),
  };
}

test("a compensation is kept as it is written, with what it imports as seen from the output", async () => {
  expect(
    await kept(
      "{ mutation: async (ctx, { output }) => { await refund(ctx, output, shop.rate); } }",
    ),
  ).toEqual({
    text: "{ mutation: async (ctx, { output }) => { await <refund>(ctx, output, <shop>.rate); } }",
    imports: ["refund: refund of ../lib/refund", "shop: * of ../sub/shop"],
  });
  expect(await kept("{ action: internal.acts.undo, args: () => ({}), retry: true }")).toEqual({
    text: "{ action: <internal>.acts.undo, args: () => ({}), retry: true }",
    imports: ["internal: internal of ../sub/_generated/api"],
  });
});

test("types need not be there, nor what is declared inside", async () => {
  const { text, imports, open } = await kept(
    `{
    mutation: async (ctx: Ctx, { output }: { output: Local }) => {
      const refund = (each: Receipt): typeof other => each as Local;
      for (const shop of [output]) refund(shop);
    },
  }`,
    "interface Local { a: 1 }\nclass other {}",
  );
  expect(open).toBeUndefined();
  expect(imports).toEqual([]);
  expect(text).toContain("refund(shop)");
});

test("functions and plain values of the file come along, in its order, each with what it needs", async () => {
  const top = `
export async function undo(ctx, { output }) { return await refund(ctx, fee + output); }
const base = 2;
export const fee = base * 10;
const policy = { maxAttempts: 3, initialBackoffMs: fee, base } as const;
const unused = new Map();
`;
  expect(await kept("{ action: undo, retry: policy }", top)).toEqual({
    text: `(() => {
  async function undo(ctx, { output }) { return await <refund>(ctx, fee + output); }
  const base = 2;
  const fee = base * 10;
  const policy = { maxAttempts: 3, initialBackoffMs: fee, base } as const;
  return { action: undo, retry: policy };
})()`,
    imports: ["refund: refund of ../lib/refund"],
  });
});

test("functions that call each other come along once", async () => {
  const top = `
function ping(n: number): number { return n === 0 ? 0 : pong(n - 1); }
function pong(n: number): number { return n === 0 ? 1 : ping(n - 1); }
`;
  const { text = "" } = await kept("{ mutation: () => ping(3) }", top);
  expect(text.match(/function ping/g)).toHaveLength(1);
  expect(text.match(/function pong/g)).toHaveLength(1);
});

test("options that are held by a const are kept as that", async () => {
  expect(await kept("held", "const held = { mutation: () => null };")).toMatchObject({
    text: "{ mutation: () => null }",
  });
});

test("a name that only the options hold is written out where it is renamed", async () => {
  const top = "const mutation = () => null;";
  expect(await kept("{ mutation }", top)).toMatchObject({
    text: "(() => {\n  const mutation = () => null;\n  return { mutation };\n})()",
  });
});

test("lines that may be part of a value are not moved", async () => {
  const { text } = await kept("{ mutation: () => say }", "const say = `one\n    two`;");
  expect(text).toContain("`one\n    two`");
});

test.each([
  ["made by a call", "const seen = new Set();", "seen"],
  ["made by a function", "const seen = refund();", "seen"],
  ["may be changed", "let seen = 1;", "seen"],
  ["a class", "class seen {}", "seen"],
  ["an enum", "enum seen { a }", "seen"],
  ["taken out of something", "const { seen } = shop;", "seen"],
  ["that counts", "let n = 0; const seen = n++;", "seen"],
  ["that needs one", "const inner = refund(); const seen = [inner];", "inner"],
  ["imported by a name in quotes", 'import { "a-b" as seen } from "./odd";', "seen"],
  ["in a function that comes along", "let n = 0; function seen() { return n; }", "n"],
])("what is %s cannot be written out again", async (_what, top, open) => {
  expect(await kept("{ mutation: () => { console.log(seen); } }", top)).toEqual({
    stage: "charge.compensate",
    open,
  });
});

test("an import by a path is seen from another place then", async () => {
  expect(
    await kept('{ action: async () => { const { undo } = await import("./undo"); undo(); } }'),
  ).toMatchObject({ open: 'import("./undo")' });
});

test("a name of a function around the definition is not there", async () => {
  const text = `import { defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
export const flow = defineWorkflow({ input: z.object({}) }).loop("again", {
  initial: () => 1,
  body: (b) => b.step("one", { query: () => 1, compensate: { mutation: () => { console.log(b); } } }),
  until: () => true,
  maxIterations: 3,
});`;
  const { plan, diagnostics } = await compileSources([{ file: "flow.workflow.ts", text }]);
  expect(diagnostics).toEqual([]);
  expect(toWritten(plan).workflows[0]?.compensations).toEqual([
    { stage: "again.one.compensate", open: "b" },
  ]);
});
