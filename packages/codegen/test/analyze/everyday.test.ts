import { join } from "node:path";
import { expect, test } from "vitest";
import { Compiler } from "../../src/compile.js";
import { allNodes } from "../../src/plan/flow.js";
import { runWorkflow } from "../../src/dev-server/index.js";
import { convexConfig, writeApp } from "../dev-server/app.js";
import { filesIn, fixtures } from "../golden.js";

const lib = await filesIn(join(fixtures, "everyday/convex"));
const head = `import { child, defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
import * as parts from "./parts";
import { list } from "./names";
declare const isDev: boolean;
const input = z.object({});
`;

async function told(top: string, nodes: string): Promise<string[]> {
  const text = `${head}${top}\nexport const flow = defineWorkflow({ input })${nodes};\n`;
  const sources = [{ file: "a.workflow.ts", text }];
  const { diagnostics, plan } = await new Compiler().compileSources(sources, (file) => lib[file]);
  const all = plan.workflows.flatMap(({ nodes }) => allNodes(nodes));
  return diagnostics.length > 0
    ? diagnostics.map(({ code, place }) => `${code} ${place.file}:${place.line}`)
    : all.map(({ path }) => path);
}

const branch = (body: string) => `.branch("b", { on: () => "x" as const, cases: { x: ${body} } })`;

test.each([
  [
    "a nested pattern",
    "const { a: { b }, ...rest } = { a: { b: 'x' }, c: 'y' };",
    ".step(b, { query: () => 1 }).step(rest.c, { query: () => 1 })",
    ["x", "y"],
  ],
  ["a getter", "const names = { get a() { return 'x'; } };", ".sleep(names.a, 1)", ["x"]],
  ["angle brackets", "", ".sleep(<const>'x', 1)", ["x"]],
  ["a member of a list", "", ".sleep(list[0 + 1], 1)", ["two"]],
  [
    "parts of a whole module",
    "const { work, bodies: { audited } } = parts;",
    ".parallel('p', { branches: { work, audited } })",
    ["p", "p.work.w1", "p.work.w2", "p.audited.before", "p.audited.after"],
  ],
  ["a later name of a spread", "const n = { a: 'x', ...{ a: 'y' } };", ".sleep(n.a, 1)", ["y"]],
  [
    "a condition, as an option",
    "",
    ".step('s', { action: isDev ? f : g, retry: isDev ? false : true }).sleep('t', isDev ? 1 : 2)",
    ["s", "t"],
  ],
  [
    "options that hang on a condition",
    "",
    ".step('s', isDev ? { action: f } : { action: g, retry: true })",
    ["s"],
  ],
  [
    "options that a condition adds",
    "",
    ".step('s', { action: f, compensate: { mutation: g }, ...(isDev && { timeout: '1h', compensate: { mutation: f } }), ...(isDev ? { recover: g } : {}) })",
    ["s"],
  ],
  [
    "options that functions add to",
    "const slow = (h, more = {}) => ({ timeout: '1h', ...h, ...more }), retried = (h) => ({ ...h, retry: true }); function same(this: void, h) { return h; }",
    ".step('s', retried(slow({ action: f }))).step('t', parts.retried(slow({ query: f }))).event('e', slow({ schema: input })).step('u', same({ ...same({ query: f }) }))",
    ["s", "t", "e", "u"],
  ],
  [
    "options that functions hold in consts",
    "function held(more) { const retry = true, whole = { ...more, retry }; return whole; } const times = (n) => { const k = n + 1; return (b) => b.step('t', { query: () => k }); };",
    `.step('s', held({ action: f }))${branch("times(2)")}`,
    ["s", "b", "b.x.t"],
  ],
  [
    "parts that functions take, or hold in consts",
    "const undone = (more, compensate) => ({ ...more, compensate }); const both = (name) => { const l = (b) => b.step('l', { query: () => name }), r = l; return { l, r }; };",
    ".step('s', undone({ action: f }, { mutation: g })).step('t', undone({ action: f }, undefined)).parallel('p', { branches: both('x') })",
    ["s", "t", "p", "p.l.l", "p.r.l"],
  ],
  [
    "nodes before a helper",
    "",
    branch("(b) => parts.work(b.step('pre', { query: () => 1 }))"),
    ["b", "b.x.pre", "b.x.w1", "b.x.w2"],
  ],
  [
    "a helper that takes more",
    "const h = (n, b) => b.step('h', { query: () => n });",
    branch("(b) => h(3, b)"),
    ["b", "b.x.h"],
  ],
  [
    "a builder under a name",
    "",
    branch("(b) => { const n = 1, c = b.sleep('s', n); return parts.work(c); }"),
    ["b", "b.x.s", "b.x.w1", "b.x.w2"],
  ],
  [
    "a body that declares what it needs",
    "",
    branch(
      "(b) => { 'use strict'; type T = 1; interface I {} enum E { A } class K {} function f() { return b; } console.log(E.A); return b.sleep('s', 1); }",
    ),
    ["b", "b.x.s"],
  ],
  [
    "options of a function that declares what it needs",
    "const h = () => { type T = number; const n: T = 1; function f() { return n; } return { action: f }; };",
    ".step('s', h())",
    ["s"],
  ],
  [
    "bodies that a function gives as it takes them",
    "const body = (of) => of; const held = body((b) => b.step('h', { query: () => 1 }));",
    ".parallel('p', { branches: { held, made: body((b) => b.step('m', { query: () => 1 })), kept: parts.same((b) => b.sleep('k', 1).step('l', { query: () => 1 })), frozen: Object.freeze((b) => b.step('f', { query: () => 1 })) } })",
    ["p", "p.held.h", "p.made.m", "p.kept.k", "p.kept.l", "p.frozen.f"],
  ],
  [
    "the rest of options",
    "const all = { label: 'x', action: f, recover: g, compensate: { mutation: g } }; const { label, compensate, ...rest } = all; const { recover: own, ...less } = rest;",
    ".step('s', rest).step('t', { ...less, retry: true })",
    ["s", "t"],
  ],
  [
    "a workflow of a record",
    "export const leaf = defineWorkflow({ input }).sleep('s', 1); const all = { leaf };",
    ".child('c', all.leaf, () => ({}))",
    ["c", "s"],
  ],
])("what people write is compiled: %s", async (_what, top, nodes, paths) => {
  expect(await told(top, nodes)).toEqual(paths);
});

test.each([
  ["a name from a condition", "", ".sleep(isDev ? 'a' : 'b', 1)", "SW1009 a.workflow.ts:8"],
  ["a name from a variable", "let n = { a: 'x' };", ".sleep(n.a, 1)", "SW1009 a.workflow.ts:8"],
  [
    "a name behind a spread that is not seen",
    "const n = { a: 'x', ...f() };",
    ".sleep(n.a, 1)",
    "SW1009 a.workflow.ts:8",
  ],
  [
    "a name that the rest does not have",
    "const { a, ...rest } = { a: 'x', b: 'y' };",
    ".sleep(rest.b, 1).sleep(rest.a, 1)",
    "SW1009 a.workflow.ts:8",
  ],
  [
    "what a computed name may have taken from the rest",
    "const { [f()]: a, ...rest } = { action: f };",
    ".step('s', rest)",
    "SW1205 a.workflow.ts:8",
  ],
  [
    "a workflow that the rest does not have",
    "const { leaf, ...rest } = { leaf: 1, other: 2 };",
    ".child('c', rest.leaf, () => ({}))",
    "SW1401 a.workflow.ts:8",
  ],
  [
    "a name that stands for itself",
    "const { a } = { a: b }; const b = a;",
    ".sleep(a, 1)",
    "SW1009 a.workflow.ts:8",
  ],
  [
    "a helper that calls itself",
    "const h = (b) => h(b);",
    branch("(b) => h(b)"),
    "SW1101 a.workflow.ts:7",
  ],
  [
    "a helper of a package",
    "import { h } from 'helpers';",
    branch("(b) => h(b)"),
    "SW1101 a.workflow.ts:8",
  ],
  [
    "a helper that is wrapped",
    "const wrapped = (of) => (b) => of(b);",
    branch("wrapped((b) => b.step('s', { query: () => 1 }))"),
    "SW1101 a.workflow.ts:7",
  ],
  [
    "a helper with a condition",
    "const h = (b) => { if (isDev) return b; return b.sleep('s', 1); };",
    branch("h"),
    "SW1101 a.workflow.ts:7",
  ],
  [
    "a helper that does something with its builder before",
    "const h = (b) => { take(b); return b.sleep('s', 1); };",
    branch("h"),
    "SW1101 a.workflow.ts:7",
  ],
  [
    "options of a function that does something before",
    "const h = () => { const all = { action: f }; change(all); return all; };",
    ".step('s', h())",
    "SW1205 a.workflow.ts:8",
  ],
  [
    "a helper that is replaced",
    "function h(b) { return b; } h = (b) => b.sleep('s', 1);",
    branch("h"),
    "SW1101 a.workflow.ts:8",
  ],
  [
    "a compensation that hangs on a condition",
    "",
    ".step('s', { action: f, compensate: isDev ? { mutation: g } : undefined })",
    "SW1205 a.workflow.ts:8",
  ],
  [
    "a compensation in options that hang on one",
    "const undo = { compensate: { mutation: g } };",
    ".step('s', isDev ? { action: f, ...undo } : { action: g, ...undo })",
    "SW1205 a.workflow.ts:8",
  ],
  [
    "a compensation that a condition adds",
    "",
    ".step('s', { action: f, ...(isDev ? { compensate: { mutation: g } } : {}) })",
    "SW1205 a.workflow.ts:8",
  ],
  [
    "what only one side finalizes",
    "",
    ".parent('p', { children: f, ...(isDev && { finalize: { query: g } }) })",
    "SW1205 a.workflow.ts:8",
  ],
  [
    "options of what a function takes among others",
    "const h = (...all) => ({ ...all[0] });",
    ".step('s', h({ action: f }))",
    "SW1205 a.workflow.ts:8",
  ],
  [
    "a part that a function holds in what changes",
    "const h = (more) => { let compensate = { mutation: g }; return { ...more, compensate }; };",
    ".step('s', h({ action: f }))",
    "SW1205 a.workflow.ts:7",
  ],
  [
    "options of a function that holds itself",
    "const h = () => { const a = b, b = a; return a; };",
    ".step('s', h())",
    "SW1205 a.workflow.ts:8",
  ],
  [
    "options of a function that changes what it holds",
    "const h = (more) => { let all = { ...more }; all = {}; return all; };",
    ".step('s', h({ action: f }))",
    "SW1205 a.workflow.ts:8",
  ],
  [
    "options that a function takes by a pattern",
    "const h = ({ ...all }) => ({ ...all });",
    ".step('s', h({ action: f }))",
    "SW1205 a.workflow.ts:8",
  ],
  [
    "cases that hang on a condition",
    "",
    ".branch('b', isDev ? { on, cases: {} } : { on, cases: {} })",
    "SW1203 a.workflow.ts:8",
  ],
  [
    "kinds that hang on a condition",
    "",
    ".step('s', isDev ? { action: f } : { mutation: g })",
    "SW1205 a.workflow.ts:8",
  ],
  [
    "a name that a helper takes",
    "const h = (b, n) => b.sleep(n, 1);",
    branch("(b) => h(b, 's')"),
    "SW1009 a.workflow.ts:7",
  ],
  [
    "a builder that is taken by a pattern",
    "",
    branch("(b) => { const { c } = b.sleep('s', 1); return c; }"),
    "SW1101 a.workflow.ts:8",
  ],
])("what cannot be read is one error at its place: %s", async (_what, top, nodes, error) => {
  expect(await told(top, nodes)).toEqual([error]);
});

test("what a pattern takes from options, its rest does not have", async () => {
  const text = `${head}const all = { action: f, recover: g, compensate: { mutation: g } };
const { recover, compensate, ...rest } = all;
export const flow = defineWorkflow({ input }).step("s", rest);`;
  const { plan } = await new Compiler().compileSources([{ file: "a.workflow.ts", text }]);
  const stages = plan.workflows.flatMap(({ nodes }) => nodes).flatMap(({ stages }) => stages);
  expect(stages).toMatchObject([{ name: "s", kind: "action", recover: undefined }]);
});

test.each([
  [
    "@/names",
    "../tsconfig.json",
    { compilerOptions: { paths: { "@/*": ["./made/*", "./src/*"] } } },
  ],
  [
    "#names",
    "../package.json",
    { imports: { "#names": { made: "./made.js", default: "./src/names.js" } } },
  ],
  ["@acme/flows/deep/names", "../flows/package.json", { exports: { "./deep/*": "./src/*.ts" } }],
])(
  "of the files outside that a module may stand for, it is the one that is there: %s",
  async (module, file, config) => {
    const names = 'export class Names { static readonly first = "x"; }';
    const files: Readonly<Record<string, string>> = {
      [file]: JSON.stringify(config),
      "../node_modules/@acme/flows/": "../flows/",
      "../src/names.ts": names,
      "../flows/src/names.ts": names,
    };
    const text = `${head}import { Names } from "${module}";\nexport const flow = defineWorkflow({ input }).sleep(Names.first, 1);`;
    const sources = [{ file: "a.workflow.ts", text }];
    const read = (path: string) => files[path];
    const { diagnostics, plan } = await new Compiler().compileSources(sources, read);
    expect(diagnostics).toEqual([]);
    expect(plan.workflows[0]?.nodes[0]?.name).toBe("x");
  },
);

test.each([
  ["a function", "export default function own(b) { return b.sleep('x', 1); }", branch("own")],
  [
    "a function without a name",
    "export default function (b) { return b.sleep('x', 1); }",
    branch("own"),
  ],
  ["a class", "export default class Own { static x = 'x'; }", branch("(b) => b.sleep(own.x, 1)")],
  ["a class without a name", "export default class { static x = 'x'; }", ".sleep(own.x, 1)"],
])("a default export may be %s", async (_what, given, nodes) => {
  const text = `${head}import own from "./own";\nexport const flow = defineWorkflow({ input })${nodes};\n`;
  const sources = [{ file: "a.workflow.ts", text }];
  const read = (file: string) => (file === "own.ts" ? given : undefined);
  const { diagnostics, plan } = await new Compiler().compileSources(sources, read);
  expect(diagnostics).toEqual([]);
  expect(allNodes(plan.workflows[0]?.nodes ?? []).at(-1)?.name).toBe("x");
});

test.each([
  [".", "made/index.ts"],
  ["./", "made/index.ts"],
  ["..", "index.ts"],
  ["../", "index.ts"],
  ["../lib/..", "index.ts"],
])("a module may be the index of a folder: %s", async (module, index) => {
  const text = `${head}import { own } from "${module}";\nexport const flow = defineWorkflow({ input }).sleep(own, 1);\n`;
  const sources = [{ file: "made/a.workflow.ts", text }];
  const read = (file: string) => (file === index ? 'export const own = "x";' : undefined);
  const { diagnostics, plan } = await new Compiler().compileSources(sources, read);
  expect(diagnostics).toEqual([]);
  expect(plan.workflows[0]?.nodes[0]?.name).toBe("x");
});

test("an error in a helper of another file is at its place there", async () => {
  const files = { ...lib, "own.ts": "export const own = (b) =>\n  b.sleep(Math.random(), 1);\n" };
  const text = `${head}import { own } from "./own";\nexport const flow = defineWorkflow({ input })${branch("own")};\n`;
  const sources = [{ file: "a.workflow.ts", text }];
  const read = (file: string) => (files as Record<string, string>)[file];
  const { diagnostics } = await new Compiler().compileSources(sources, read);
  expect(diagnostics.map(({ place }) => `${place.file}:${place.line}`)).toEqual(["own.ts:2"]);
  expect(diagnostics[0]?.frame?.lines.join("\n")).toContain("Math.random()");
});

test("what people write runs as it is written", { tags: ["large"] }, async () => {
  const app = await writeApp({ ...lib, "convex.config.ts": convexConfig() });
  const run = async (workflow: string) => {
    const options = { functionsDir: app.functionsDir, workflow, input: { kind: "draft" } };
    return (await runWorkflow({ ...options, skipTime: true })).output;
  };
  expect(await run("byName")).toBe(4);
  expect(await run("byOption")).toBe(3);
  expect(await run("byHelper")).toEqual([1, { made: 3, held: 3 }, [6, 6]]);
  await app.remove();
});

test.each([
  [
    "a function of that name in a handler",
    `const defineWorkflow = (x) => x; return defineWorkflow(2);`,
  ],
  ["a parameter of that name", `return [1].map((defineWorkflow) => defineWorkflow + 1);`],
  ["a member of that name", `const s = other(); return [s.defineWorkflow, s["defineWorkflow"]];`],
])("a workflow is read beside %s", async (_what, code) => {
  const text = `import { defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
export const flow = defineWorkflow({ input: z.object({}) }).step("a", { query: () => { ${code} } });`;
  const sources = [{ file: "a.workflow.ts", text }];
  const { diagnostics, plan } = await new Compiler().compileSources(sources);
  expect(diagnostics.map(({ code, message }) => `${code} ${message}`)).toEqual([]);
  expect(plan.workflows.map(({ name }) => name)).toEqual(["flow"]);
});

test("what is made of the module by a name in quotes is still reported", async () => {
  const text = `import * as lib from "@stepwise/workflow";
import { z } from "zod";
export const make = () => lib["defineWorkflow"]({ input: z.object({}) });`;
  const { diagnostics } = await new Compiler().compileSources([{ file: "a.workflow.ts", text }]);
  expect(diagnostics.map(({ code }) => code)).toEqual(["SW1114"]);
});

test.each([
  [
    ".step('s', { query: f, ...(isDev ? { compensate: { mutation: g } } : {}) })",
    'step "s", compensate is only there on a condition',
    "write it without the condition, and have its function ask for that",
  ],
  [
    ".step('s', isDev ? { query: f, compensate: { mutation: g } } : { query: f })",
    'step "s", compensate is only there on a condition',
    "write it without the condition, and have its function ask for that",
  ],
  [
    ".step('s', isDev ? { query: f, compensate: { mutation: g } } : { query: f, compensate: { mutation: f } })",
    'step "s", compensate is chosen by a condition',
    "write it without the condition, and have its function ask for that",
  ],
  [
    ".step('s', internal.mail.send)",
    'step "s" has no action, mutation or query that can be seen here',
    "`{ action: internal.mail.send, args: ",
  ],
  [".step('naïve', { query: f })", '"naïve" cannot be the name of a node', ': "naive"'],
  [".step('größe', { query: f })", '"größe" cannot be the name of a node', ': "grosse"'],
  [".step('шаг-a', { query: f })", '"шаг-a" cannot be the name of a node', "with a letter first"],
])("what is wrong with %s is told with what to write", async (nodes, message, hint) => {
  const line = `export const flow = defineWorkflow({ input })${nodes};`;
  const text = `${head}import { internal } from "./_generated/api";\nconst f = () => 1, g = () => null;\n${line}\n`;
  const sources = [{ file: "a.workflow.ts", text }];
  const { diagnostics } = await new Compiler().compileSources(sources);
  expect(diagnostics.map((each) => each.message)).toEqual([message]);
  expect(diagnostics[0]?.hint).toContain(hint);
  expect(diagnostics[0]?.place.column).toBeGreaterThan(line.indexOf(".step(") + ".step(".length);
});
