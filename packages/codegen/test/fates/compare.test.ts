import { expect, test } from "vitest";
import { compileSources } from "../../src/compile.js";
import { compare } from "../../src/fates/compare.js";
import { longestCommon } from "../../src/fates/order.js";
import type { WrittenPlan } from "../../src/plan/schema.js";
import { toWritten } from "../../src/plan/write.js";

async function planOf(nodes: string, more = ""): Promise<WrittenPlan> {
  const text = `import { child, defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
import { internal } from "./_generated/api";
export const leaf = defineWorkflow({ input: z.object({}) }).step("only", { query: () => 1 });
export const flow = defineWorkflow({ input: z.object({}) })${nodes};
${more}`;
  const { plan, diagnostics } = await compileSources([{ file: "flow.workflow.ts", text }]);
  expect(diagnostics.map(({ message }) => message)).toEqual([]);
  return toWritten(plan);
}

async function changes(before: string, now: string): Promise<string[]> {
  return compare(await planOf(before), await planOf(now)).map(
    ({ workflow, node, fate }) => `${workflow}${node === undefined ? "" : `.${node}`}: ${fate}`,
  );
}

const a = '.step("a", { action: () => 1 })';
const b = '.step("b", { action: (ctx, { input }) => input })';
const c = '.step("c", { mutation: () => 3 })';
const parent = (options: string) =>
  `.parent("p", { ${options}children: () => [child(leaf, {})], finalize: { action: () => 1 } })`;

test.each<[what: string, before: string, now: string, fates: string[]]>([
  ["nothing", a + b, a + b, []],
  ["only the layout", a, '\n .step( "a", /* why */ { action: () => 1, })', []],
  ["[S113] code inside a node", a + b, a.replace("1", "2") + b, ["flow.a: safe"]],
  [
    "[S113] retry and timeout",
    a,
    a.replace("() => 1", "() => 1, retry: true, timeout: 5"),
    ["flow.a: safe"],
  ],
  [
    "[S113] another function under the name",
    a,
    '.step("a", { action: internal.x.y, args: () => ({}) })',
    ["flow.a: safe"],
  ],
  ["[S114] a node added at the end", a, a + b, ["flow.b: safe"]],
  ["[S114] a node added before others", b, a + b, ["flow.a: safe"]],
  ["[S115] a node that moved", a + b + c, b + c + a, ["flow.a: safe"]],
  [
    "[S116] a renamed node",
    a + b + c,
    `${a}${b.replace('"b"', '"d"')}${c}`,
    ["flow.b: rename", "flow.d: safe"],
  ],
  [
    "a removed node and an added one that is no other name for it",
    a + b,
    `${a}.step("d", { query: () => 1 })`,
    ["flow.b: stops", "flow.d: safe"],
  ],
  [
    "a removed node and an alike one elsewhere",
    a + b + c,
    `${a}${c}${b.replace('"b"', '"d"')}`,
    ["flow.b: stops", "flow.d: safe"],
  ],
  ["[S117] a removed node", a + b, a, ["flow.b: stops"]],
  ["an action that becomes a mutation", a, '.step("a", { mutation: () => 1 })', ["flow.a: stops"]],
  ["a mutation that becomes an action", c, '.step("c", { action: () => 3 })', ["flow.c: safe"]],
  ["a mutation that becomes a query", c, '.step("c", { query: () => 3 })', ["flow.c: safe"]],
  ["a parent that gets a handler", parent(""), parent("action: () => 1, "), ["flow.p: safe"]],
  ["a parent that loses its handler", parent("action: () => 1, "), parent(""), ["flow.p: stops"]],
  [
    "a parent that loses its finalize",
    parent(""),
    parent("").replace(/, finalize: .*/, " })"),
    ["flow.p: stops"],
  ],
  [
    "a parent that becomes a step",
    parent(""),
    '.step("p", { action: () => 1 })',
    ["flow.p: stops"],
  ],
])("%s: the fate of runs in flight", async (_what, before, now, fates) => {
  expect(await changes(before, now)).toEqual(fates);
});

test("[S118] a workflow that is removed stops its runs, a new one stops none", async () => {
  const more =
    'export const old = defineWorkflow({ input: z.object({}) }).step("a", { query: () => 1 });';
  const before = await planOf(a, more);
  const now = await planOf(a, more.replace("const old", "const young"));
  expect(compare(before, now)).toMatchObject([
    { workflow: "old", fate: "stops", hint: expect.stringContaining('keep the workflow "old"') },
    { workflow: "young", fate: "safe" },
  ]);
});

test("[S114] the nodes that read an added one are named", async () => {
  const reader = '.step("r", { query: (ctx, { a }) => a })';
  const all = '.step("s", { query: (ctx, scope) => f(scope) })';
  const before = await planOf(a + reader + all);
  const [without, , ...rest] = compare(
    await planOf(reader.replaceAll("a }", "input }").replace("=> a", "=> input") + all),
    before,
  );
  expect(rest).toEqual([]);
  expect([without?.node, without?.message].join()).toContain("r");
  const added = compare(await planOf(b + all), await planOf(a + b + all)).find(
    ({ node }) => node === "a",
  );
  expect(added?.message).toContain('"s" reads undefined in them');
});

test("another input and other options of a workflow are safe, and told", async () => {
  const before = await planOf(a);
  const [leaf, flow] = [before.workflows[1], before.workflows[0]];
  const input = { kind: "copy" as const, text: "z.any()", imports: [] };
  const now = {
    ...before,
    workflows: [{ ...flow!, input, options: { retry: true }, hash: "0" }, leaf!],
  };
  expect(compare(before, now).map(({ message, fate }) => [fate, message.split(":")[0]])).toEqual([
    ["safe", "another input"],
    ["safe", "other options"],
  ]);
});

test.each([
  ["abc", "abc", "abc"],
  ["abcd", "bcda", "bcd"],
  ["abc", "cba", "a"],
  ["", "a", ""],
  ["abcde", "axbyd", "abd"],
])("the longest common order of %s and %s has the length of %s", (first, second, common) => {
  expect(longestCommon([...first], [...second])).toHaveLength(common.length);
});
