/** @module-tag large */
import { expect, test } from "vitest";
import { Compiler } from "../../src/compile.js";
import { toWritten } from "../../src/plan/write.js";
import { formatted } from "../prettier.js";

/** An app in which a workflow names everything that it can, here and in other files. */
const FILES: Readonly<Record<string, string>> = {
  "flow.workflow.ts": `
import { child, defineWorkflow as define } from "@stepwise/workflow";
import { z } from "zod";
import { internal } from "./_generated/api";
import { address as place, clean } from "./schemas";
import * as shared from "./barrel";
const retention = "7 days";
export const size = z.number().max(10);
export const input = z.object({ place, kind: shared.kind, size });
const limits = { held: "1m", never: "2m" };
const held = { action: () => "held", timeout: limits.held };
const unused = 1;
const price = async () => helper('price')
function pack() { return helper("pack"); }
function helper(text: string) { const cleaned = clean(text) + separator; return cleaned; }
const separator = "-", text = 1;
const policy = { maxAttempts: 3, initialBackoffMs: 100, base: 2 };
const pause = "1h";
const answerLength = 2;
const answer = z.string().min(answerLength);
const undo = { mutation: () => null };
const small = (b) => b.step("small", { query: () => "small" });
function body(b) { return b.step("turn", { action: turned }); }
const turned = () => 1;
const first = scope => { return 0 }
const wanted = () => [child(other, {})];
export const other = define({ input: z.object({}) }).step("its", { query: () => "other" });
export const copied = define({ input: z.object({ id: z.string().refine(id => id.startsWith('o_')), // An order.
  n: z.custom<number>(), }) }).step("only", { query: (_ctx, { input }) => input.id });
export const flow = define({ input, retention })
  .step("held", held)
  .step("price", { action: price, retry: policy, compensate: undo })
  .step("pack", { mutation: pack })
  .step("far", { action: internal.x.y, args: () => ({ /* nothing */ }), retry: shared.policy })
  .sleep("nap", pause)
  .event("ask", { schema: answer, timeout: "1d" })
  .branch("choose", { on: () => "small", cases: { small } })
  .loop("again", { initial: first, body, until: () => true, maxIterations: 3 })
  .parent("kids", { children: wanted })
  .child("one", other, () => ({}));
`,
  "schemas.ts": `
import { z } from "zod";
import { postcode } from "./postcode";
/* A street and a postcode. */
const where = z.object({ street: z.string(), postcode });
export { where as address };
export const elsewhere = 1;
export const clean = (text: string) => text.trim();
`,
  "postcode.ts": `
import { z } from "zod";
export const postcode = z.string().length(5);
`,
  "barrel.ts": `
export * from "./policies";
export { sort as kind } from "./policies";
`,
  "policies.ts": `
import { z } from "zod";
export const sort = z.enum(["a", "b"]);
export const policy = { maxAttempts: 4, initialBackoffMs: 100, base: 2 };
`,
};

async function hashOf(files: Readonly<Record<string, string>>, compiler = new Compiler()) {
  const sources = Object.entries(files)
    .filter(([file]) => file.endsWith(".workflow.ts"))
    .map(([file, text]) => ({ file, text }));
  const { plan, diagnostics, consulted } = await compiler.compileSources(
    sources,
    (file) => files[file],
  );
  expect(diagnostics).toEqual([]);
  const hashes = toWritten(plan).workflows.flatMap(({ name, hash }) =>
    name === "other" ? [] : `${name} ${hash}`,
  );
  return { hash: hashes.join(), consulted };
}

function edited(file: string, from: string, to: string): Record<string, string> {
  const text = FILES[file] ?? "";
  expect(text.split(from)).toHaveLength(2);
  return { ...FILES, [file]: text.replace(from, to) };
}

const flow = "flow.workflow.ts";

test.each<[what: string, file: string, from: string, to: string]>([
  ["options that are a const", flow, '"held", timeout', '"kept", timeout'],
  ["a const that those options name", flow, 'held: "1m"', 'held: "3m"'],
  ["a handler that is a const", flow, "helper('price')", "helper('cost')"],
  ["a function of the file that a handler calls", flow, "return cleaned", "return cleaned + 1"],
  ["a const that such a function names", flow, '"-"', '"_"'],
  ["a handler that is a function", flow, 'helper("pack")', 'helper("wrap")'],
  ["a retry that is a const", flow, "maxAttempts: 3", "maxAttempts: 5"],
  ["a compensation that is a const", flow, "mutation: () => null", "mutation: () => 0"],
  ["a duration that is a const", flow, 'pause = "1h"', 'pause = "2h"'],
  ["the schema of an event", flow, ".min(answerLength)", ".max(answerLength)"],
  ["a const that a schema names", flow, "answerLength = 2", "answerLength = 3"],
  ["a case that is a const", flow, '() => "small" })', '() => "little" })'],
  ["a body that is a function", flow, '.step("turn"', '.step("turned"'],
  ["a handler that a body names", flow, "turned = () => 1", "turned = () => 2"],
  ["the initial of a loop", flow, "return 0", "return 1"],
  ["the children of a parent", flow, "[child(other, {})]", "[child(other, {}), child(other, {})]"],
  ["the input, a const", flow, "{ place, kind", "{ place: place.optional(), kind"],
  ["a const that the input names", flow, ".max(10)", ".max(11)"],
  ["an option of the workflow", flow, "7 days", "8 days"],
  ["what the input has from another file", "schemas.ts", "street: z.string()", "street: z.any()"],
  ["what that has from another file in turn", "postcode.ts", ".length(5)", ".length(6)"],
  ["what is handed on under another name", "policies.ts", '["a", "b"]', '["a"]'],
  ["which of two names is handed on", "barrel.ts", "sort as kind", "policy as kind"],
  ["what is handed on with all else", "policies.ts", "maxAttempts: 4", "maxAttempts: 6"],
])("a change of %s is one of the workflow", { tags: ["large"] }, async (_what, file, from, to) => {
  const before = await hashOf(FILES);
  expect((await hashOf(edited(file, from, to))).hash).not.toBe(before.hash);
});

test.each<[what: string, file: string, from: string, to: string]>([
  ["a comment in a handler", flow, "async () => helper", "async () => /* why */ helper"],
  ["a comment in options", flow, "/* nothing */", "// still nothing\n"],
  ["a comment in the input", flow, "{ place, kind", "{ /* where */ place, kind"],
  ["a comment in an input that is copied", flow, "// An order.", "/* An order, of a customer */"],
  ["a comment in another file", "schemas.ts", "A street and a postcode", "An address"],
  ["a comment in what is used of it", "postcode.ts", "z.string()", "z /* five */ .string()"],
  ["what a handler calls of another file", "schemas.ts", "text.trim()", "text.trimEnd()"],
  ["a const of the name of a parameter", flow, "text = 1", "text = 2"],
  ["a const that nothing names", flow, "unused = 1", "unused = 2"],
  ["what nothing uses of another file", "schemas.ts", "elsewhere = 1", "elsewhere = 2"],
  ["a workflow that is started as a child", flow, '() => "other"', '() => "another"'],
])("a change of %s is none of the workflow", async (_what, file, from, to) => {
  expect((await hashOf(edited(file, from, to))).hash).toBe((await hashOf(FILES)).hash);
});

test("the workflow is the same when all its files are formatted anew", async () => {
  const entries = Object.entries(FILES).map(
    async ([file, text]) => [file, await formatted(text)] as const,
  );
  const anew = Object.fromEntries(await Promise.all(entries));
  expect(anew[flow]).not.toBe(FILES[flow]);
  expect((await hashOf(anew)).hash).toBe((await hashOf(FILES)).hash);
});

test("a change in an input that is copied is one of its workflow", async () => {
  const changed = await hashOf(edited(flow, "'o_'", "'p_'"));
  expect(changed.hash).not.toBe((await hashOf(FILES)).hash);
});

test("the workflow is the same when the declarations stand in another order", async () => {
  const [imports, ...declarations] =
    FILES[flow]?.trim().split(/\n(?=const|export const|function)/) ?? [];
  expect(declarations.length).toBeGreaterThan(15);
  // Those that read others while the file is loaded stay below them.
  const readsOthers = (each: string) => /^(export )?const (input|held|answer|flow) =/.test(each);
  const others = declarations.filter((each) => !readsOthers(each)).toReversed();
  const text = [imports, ...others, ...declarations.filter(readsOthers)].join("\n");
  expect((await hashOf({ ...FILES, [flow]: text })).hash).toBe((await hashOf(FILES)).hash);
});

/** Of each kind of node that has options, and of a workflow. */
const ORDERS: readonly (readonly [what: string, before: string, now: string])[] = [
  [
    "a step",
    '.step("a", { action: () => 1, timeout: "1s", retry: true })',
    '.step("a", { retry: true, timeout: "1s", action: () => 1 })',
  ],
  [
    "a parent",
    '.parent("a", { children: () => [child(leaf, {})], timeout: later(), concurrency: 2 })',
    '.parent("a", { timeout: later(), concurrency: 2, children: () => [child(leaf, {})] })',
  ],
  [
    "an event",
    '.event("a", { schema: z.string(), timeout: "1h" })',
    '.event("a", { timeout: "1h", schema: z.string() })',
  ],
  [
    "a branch",
    '.branch("a", { on: () => "x", cases: { x: (b) => b } })',
    '.branch("a", { cases: { x: (b) => b }, on: () => "x" })',
  ],
  [
    "a loop",
    '.loop("a", { maxIterations: 3, initial: () => 0, body: (b) => b.step("x", { query: () => 1 }), until: () => true })',
    '.loop("a", { initial: () => 0, body: (b) => b.step("x", { query: () => 1 }), until: () => true, maxIterations: 3 })',
  ],
  [
    "a finalize",
    '.finalize({ action: () => 1, timeout: "1s" })',
    '.finalize({ timeout: "1s", action: () => 1 })',
  ],
];

test.each(ORDERS)(
  "%s is the same when its options stand in another order, and so is its workflow",
  async (_what, before, now) => {
    const app = (nodes: string, options: string) => ({
      [flow]: `
import { child, defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
const later = () => 5;
export const leaf = defineWorkflow({ input: z.object({}) }).step("only", { query: () => 1 });
export const flow = defineWorkflow({ ${options} })${nodes};`,
    });
    const timed = "timeout: later(), retention: later()";
    const first = await hashOf(app(before, `input: z.object({}), ${timed}`));
    const second = await hashOf(
      app(now, "retention: later(), timeout: later(), input: z.object({})"),
    );
    expect(second.hash).toBe(first.hash);
  },
);

test("a compiler that goes on sees a change in another file, though the definition is as it was", async () => {
  const compiler = new Compiler();
  const before = await hashOf(FILES, compiler);
  const changed = edited("postcode.ts", ".length(5)", ".length(6)");
  const after = await hashOf(changed, compiler);
  expect(after.hash).toBe((await hashOf(changed)).hash);
  expect(after.hash).not.toBe(before.hash);
  expect((await hashOf(FILES, compiler)).hash).toBe(before.hash);
  // So does one that has stopped in between, by its record.
  for (const { consulted } of [before, after])
    expect([...consulted.keys()]).toEqual(
      expect.arrayContaining(["schemas.ts", "postcode.ts", "barrel.ts", "policies.ts"]),
    );
});

test("files that hand names on in a circle are no trap", async () => {
  const files = {
    ...FILES,
    "barrel.ts":
      'export * from "./round";\nexport * from "./policies";\nexport { sort as kind } from "./policies";',
    "round.ts": 'export * from "./barrel";',
  };
  expect((await hashOf(files)).hash).toBe((await hashOf(FILES)).hash);
});

test.each([
  ["lazily", "z.object({ t: z.lazy(() => Leaf) })"],
  ["lazily, by the whole file", "z.object({ t: z.lazy(() => tree.Leaf) })"],
  ["in a getter", "z.object({ get t() { return Leaf; } })"],
  ["in a function of this file", "z.object({ t: listed() })"],
  ["in a function of another file", "paged(z.string())"],
  ["in a function of another file, lazily", "z.object({ t: z.lazy(() => paged(z.string())) })"],
])(
  "a change of a schema that another one names %s is one of the workflow",
  async (_what, schema) => {
    const app = (definition: string, leaf: string) => ({
      [flow]: `
import { defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
import { Leaf } from "./tree";
import * as tree from "./tree";
import { paged } from "./paged";
const listed = () => z.array(Leaf);
export const flow = defineWorkflow(${definition}`,
      "paged.ts": `
import { z } from "zod";
import { Leaf } from "./tree";
export const paged = (item) => z.object({ items: z.array(item), total: Leaf });`,
      "tree.ts": `
import { z } from "zod";
export const Leaf = z.object({ n: z.${leaf}() });
export const unused = "${leaf}";`,
    });
    const only = '.step("a", { query: () => 1 })';
    for (const definition of [
      `{ input: ${schema} })${only};`,
      `{ input: z.object({}) }).event("e", { schema: ${schema} });`,
    ]) {
      const before = await hashOf(app(definition, "string"));
      expect((await hashOf(app(definition, "number"))).hash).not.toBe(before.hash);
      const { "tree.ts": tree, ...others } = app(definition, "string");
      const same = { ...others, "tree.ts": tree.replace('unused = "string"', "unused = 1") };
      expect((await hashOf(same)).hash).toBe(before.hash);
    }
  },
);

test.each([
  ["a function of this file", "made(tree)"],
  ["the fields", "z.object(tree)"],
  ["a spread", "z.object({ t: z.object({ ...tree }) })"],
  ["a pattern", "z.object({ t: Part })"],
  ["an object", "z.object({ t: all.tree.Leaf })"],
  ["a name that is computed", 'z.object({ t: tree["Le" + "af"] })'],
  ["a file that hands it on", "z.object(handed)"],
  ["JSON", "z.object({ t: z.enum(kinds) })"],
])(
  "a change of a whole file is one of the workflow if a schema uses it by %s",
  async (_by, input) => {
    const app = (leaf: string) => ({
      [flow]: `
import { defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
import * as tree from "./tree";
import { tree as handed } from "./barrel";
import kinds from "./kinds.json";
const { Leaf: Part } = tree;
const all = { tree };
const made = (of) => z.object({ t: of.Leaf });
export const flow = defineWorkflow({ input: ${input} }).step("a", { query: () => 1 });`,
      "barrel.ts": 'export * as tree from "./tree";',
      "tree.ts": `import { z } from "zod"; export const Leaf = z.${leaf}();`,
      "kinds.json": `["${leaf}"]`,
    });
    const before = await hashOf(app("string"));
    expect((await hashOf(app("number"))).hash).not.toBe(before.hash);
  },
);
