/** @module-tag large */
import { expect, test } from "vitest";
import { compileSources } from "../../src/compile.js";

/** What a step named "at" reads, whose earlier nodes are a, b and c. */
async function readsOf(step: string, rest = ""): Promise<string[] | undefined> {
  const [stage] = await stagesOf(`.step("at", { ${step} })`, rest);
  return stage?.reads;
}

/** The stages of the last node. */
async function stagesOf(node: string, rest = "") {
  const text = `import { child, defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
import { internal } from "./_generated/api";
export const other = defineWorkflow({ input: z.object({}) }).step("only", { query: () => 1 });
${rest}
export const example = defineWorkflow({ input: z.object({}) })
  .step("a", { query: () => 1 }).step("b", { query: () => 1 }).step("c", { query: () => 1 })
  ${node};`;
  const { plan, diagnostics } = await compileSources([{ file: "example.workflow.ts", text }]);
  expect(diagnostics.map(({ message }) => message)).toEqual([]);
  return plan.workflows[0]?.nodes.at(-1)?.stages ?? [];
}

const all = ["*"];

test.each<[what: string, step: string, reads: string[], rest?: string]>([
  ["no scope at all", "query: () => 1", []],
  ["only the context", "query: (ctx) => ctx", []],
  ["a destructured scope", "query: (ctx, { a, input }) => [a, input]", ["input", "a"]],
  [
    "a name bound anew",
    "query: (ctx, { a: first, ['b']: second, \"c\": third }) => first",
    ["a", "b", "c"],
  ],
  ["a default", "query: (ctx, { a = 1 }) => a", ["a"]],
  ["a default of the whole scope", "query: (ctx, { a } = {}) => a", ["a"]],
  ["a nested pattern", "query: (ctx, { input: { id, ...rest } }) => [id, rest]", ["input"]],
  ["a rest element", "query: (ctx, { a, ...rest }) => rest", all],
  ["a computed key", "query: (ctx, { [ctx.key]: value }) => value", all],
  ["members of the scope", "query: (ctx, scope) => scope.b + scope['a']", ["a", "b"]],
  [
    "optional and asserted members",
    "query: (ctx, scope) => scope?.b + scope!.a + (scope as any).c",
    ["a", "b", "c"],
  ],
  ["a computed member", "query: (ctx, scope) => scope[ctx.key]", all],
  ["a local pattern", "query: (ctx, scope) => { const { b } = scope; return b; }", ["b"]],
  [
    "a local pattern with a rest",
    "query: (ctx, scope) => { const { b, ...rest } = scope; return rest; }",
    all,
  ],
  ["a second name for the scope", "query: (ctx, scope) => { const s = scope; return s.a; }", all],
  ["the scope as an argument", "query: (ctx, scope) => JSON.stringify(scope)", all],
  ["a method of every object", "query: (ctx, scope) => scope.hasOwnProperty('a')", all],
  ["the scope in an object", "query: (ctx, scope) => ({ scope })", all],
  ["a spread scope", "query: (ctx, scope) => ({ ...scope })", all],
  [
    "an assignment from the scope",
    "query: (ctx, scope) => { let a; ({ a } = scope); return a; }",
    all,
  ],
  ["a question whether a name is there", "query: (ctx, scope) => 'a' in scope", all],
  [
    "the scope in a type",
    "query: (ctx, scope) => { let x: typeof scope.b | typeof scope; return scope.a; }",
    ["a"],
  ],
  ["an inner function", "query: (ctx, scope) => [1].map(() => scope.a)", ["a"]],
  [
    "a parameter that hides the scope",
    "query: (ctx, scope) => [scope.a].map((scope) => scope.b)",
    ["a"],
  ],
  [
    "a pattern that hides the scope",
    "query: (ctx, scope) => [scope.a].map(({ scope }) => f(scope))",
    ["a"],
  ],
  [
    "a block that hides the scope",
    "query: (ctx, scope) => { { const scope = 1; f(scope); } return scope.a; }",
    ["a"],
  ],
  [
    "a loop that hides the scope",
    "query: (ctx, scope) => { for (const scope of [1]) f(scope); return scope.a; }",
    ["a"],
  ],
  [
    "a catch that hides the scope",
    "query: (ctx, scope) => { try { f(scope.a); } catch (scope) { f(scope); } }",
    ["a"],
  ],
  [
    "a function that hides the scope",
    "query: (ctx, scope) => { { function scope() {} scope(); } return scope.a; }",
    ["a"],
  ],
  [
    "a named function expression that hides the scope",
    "query: (ctx, scope) => [function scope() { return scope; }, scope.a]",
    ["a"],
  ],
  ["a var that shares the name", "query: (ctx, scope) => { var scope; return scope.a; }", all],
  [
    "properties with the scope's name",
    "query: (ctx, scope) => ({ scope: ctx.scope, x: scope.a })",
    ["a"],
  ],
  ["a method", "async query(ctx, { b }) { return b; }", ["b"]],
  ["a function expression", "query: async function (ctx, scope) { return scope.c; }", ["c"]],
  ["arguments", "query: function () { return arguments[1]; }", all],
  ["arguments in an inner arrow", "async query() { return [1].map(() => arguments[1].a); }", all],
  ["eval", "query: (ctx, scope) => eval('scope.b') + scope.a", all],
  ["eval beside a pattern", "query: (ctx, { a }) => eval('a')", all],
  [
    "a parameter that TypeScript takes away",
    "query: function (this: void, ctx, { a }) { return a; }",
    ["a"],
  ],
  [
    "a default of a later parameter",
    "query: (ctx, scope, info = scope.b) => [scope.a, info]",
    ["a", "b"],
  ],
  [
    "a default that a var of the same function does not hide",
    "query: (ctx, scope) => [1].map((x = scope.a) => { var scope = x; return scope; })",
    ["a"],
  ],
  [
    "a computed name of a method that has a parameter of the scope's name",
    "query: (ctx, scope) => ({ [scope.a](scope) { return scope; } })",
    ["a"],
  ],
  [
    "a default inside a pattern whose own parameter has the scope's name",
    "query: (ctx, scope) => { { const { x = ({ scope }) => scope } = ctx; return [x, scope.b]; } }",
    ["b"],
  ],
  [
    "a var in a static block of a class",
    "query: (ctx, scope) => (() => { class A { static { var scope = 1; } } return [A, scope.c]; })()",
    ["c"],
  ],
  [
    "a name that is escaped",
    "query: (ctx, sc\\u006fpe) => [scope.\\u0061, sc\\u006fpe.b]",
    ["a", "b"],
  ],
  ["a private member", "query: (ctx, scope) => scope.#a", all],
  ["an assertion in angle brackets", "query: (ctx, scope) => (<any>scope).a", ["a"]],
  ["a new value for the scope", "query: (ctx, scope) => { scope = ctx; return scope.a; }", all],
  ["a default of an inner pattern", "query: (ctx, scope) => (({ a } = scope) => a)()", all],
  [
    "an async function that is held",
    "query: handler",
    ["a"],
    "const handler = (async (ctx, { a }) => a) satisfies unknown;",
  ],
  ["a rest parameter", "query: (...all) => all", all],
  ["a rest parameter behind the scope", "query: (ctx, { a }, ...info) => a", ["a"]],
  [
    "a function of the file",
    "query: handler",
    ["b"],
    "async function handler(ctx, { b }) { return b; }",
  ],
  ["an arrow of the file", "query: handler", ["c"], "const handler = (ctx, scope) => scope.c;"],
  ["a shorthand", "query", ["a"], "function query(ctx, { a }) { return a; }"],
  ["the args of a reference", "query: internal.x.y, args: ({ b }) => ({ b })", ["b"]],
  [
    "args declared in the file",
    "query: internal.x.y, args",
    ["a", "c"],
    "const args = (scope) => ({ x: scope.c, y: scope.a });",
  ],
])("reads: %s", async (_what, step, reads, rest) => {
  expect(await readsOf(step, rest)).toEqual(reads);
});

test.each([
  ["a spread that is not seen", "...other.more"],
  ["a condition", "...(other ? { compensate: { mutation: other } } : {})"],
  ["a condition that may give nothing", "...(other && { compensate: { mutation: other } })"],
])("[S151] a compensation that %s may replace reads everything", async (_what, spread) => {
  const undo = "query: () => 1, compensate: { mutation: (_ctx, { b }) => b }";
  expect((await stagesOf(`.step("at", { ${undo} })`))[1]?.reads).toEqual(["b"]);
  expect((await stagesOf(`.step("at", { ${undo}, ${spread} })`))[1]?.reads).toEqual(all);
});

test.each<[where: string, node: string, reads: string[], part?: number]>([
  ["an action", '.step("at", { action: function (this: void, _ctx, { b }) {} })', ["b"]],
  ["args", '.step("at", { action: internal.x.y, args(this: void, { b }) { return b; } })', ["b"]],
  [
    "a compensation",
    '.step("at", { query: () => 1, compensate: { mutation(this: void, _ctx, { b, output }) {} } })',
    ["b", "output"],
    1,
  ],
  ["a duration", '.sleep("at", function (this: void, { b }) { return b; })', ["b"]],
  [
    "children",
    '.parent("at", { children(this: void, { b }) { return [child(other, b)]; } })',
    ["b"],
  ],
  [
    "the finalize of a parent",
    `.parent("at", { children: () => [child(other, {})],
      finalize: { query(this: void, _ctx, { b, children }) {} } })`,
    ["b", "children"],
    1,
  ],
  [
    "the on of a branch",
    '.branch("at", { on: function (this: void, { b }) { return b; }, cases: { x: (c) => c } })',
    ["b"],
  ],
  [
    "the input of a child",
    '.child("at", other, function (this: void, { b }) { return b; })',
    ["b"],
  ],
  [
    "the timeout of an event",
    '.event("at", { schema: z.any(), timeout(this: void, { b }) { return b; } })',
    ["b"],
  ],
  ["a finalize", ".finalize({ query: function (this: void, _ctx, { b }) {} })", ["b"]],
])("a `this` parameter shifts no other: %s", async (_where, node, reads, part = 0) => {
  expect((await stagesOf(node))[part]?.reads).toEqual(reads);
});

test("a `this` parameter shifts no other: recover, and all functions of a loop", async () => {
  const [step] = await stagesOf(
    '.step("at", { query: () => 1, recover: function (this: void, _error, { b }) { return b; } })',
  );
  expect(step?.recover).toEqual(["b"]);
  const [loop] = await stagesOf(`.loop("at", {
    initial: function (this: void, { a }) { return a; },
    body: function (this: void, l) { return l.step("inside", { query: () => 1 }); },
    until: function (this: void, { b, loop }) { return b === loop; },
    maxIterations: 3,
  })`);
  expect(loop?.reads).toEqual(["a"]);
  expect(loop?.until).toEqual(["b", "loop"]);
});

test("args take `info` behind a `this` parameter", async () => {
  const args = "function (this: void, { b }, info) { return { b, key: info.idempotencyKey }; }";
  const [stage] = await stagesOf(`.step("at", { action: internal.x.y, args: ${args} })`);
  expect(stage).toMatchObject({ reads: ["b"], info: true });
});

test.each([
  ["5 * 1000", []],
  ["new Date(0)", []],
  ["duration", []],
  ["(scope) => scope.b", ["b"]],
  ["wait(5)", all],
  ["true ? (scope) => scope.b : 5", all],
  ["undefined ?? ((scope) => scope.b)", all],
  ["new Function('scope', 'return scope.b')", all],
  ["held", all],
])("an event's timeout that may be a function may read anything: %s", async (timeout, reads) => {
  const rest = "const duration = 5; const { held } = { held: (scope) => scope.b };";
  const node = `.event("at", { schema: z.any(), timeout: ${timeout} })`;
  expect((await stagesOf(node, rest))[0]?.reads).toEqual(reads);
});

test.each([
  "(0, ({ b }) => b)",
  "undefined ?? (({ b }) => b)",
  "new Function('scope', 'return scope.b')",
  "held",
])("[S123] a duration that may be a function that is not seen reads everything: %s", async (of) => {
  const held = "const { held } = other();";
  expect((await stagesOf(`.sleep("at", ${of})`, held))[0]?.reads).toEqual(all);
});

test.each([
  ["imported", '.step("s", { action: charge })', {}],
  ["a member", '.step("s", { query: mails.last })', {}],
  ["curried", '.step("s", { query: charge("x") })', {}],
  ["bound", '.step("s", { mutation: mails.last.bind(null) })', {}],
  ["a let", '.step("s", { mutation: changing })', {}],
  ["a getter", '.step("s", { get mutation() { return changing; } })', {}],
  ["computed", '.step("s", { ["mutation"]: charge })', {}],
  ["before a spread", '.step("s", { query: () => 1, ...mails.policy })', { recover: all }],
  ["children", '.parent("s", { children: charge })', {}],
  ["a recover", '.step("s", { query: ({}) => 1, recover: charge })', { reads: [], recover: all }],
  ["a held reference", '.step("s", { query: last, args: charge })', { reference: "(computed)" }],
  ["a text", '.step("s", { query: internal["a"].b, args: charge })', { reference: "(computed)" }],
  ["args in a spread", '.step("s", { ...mails.args, query: internal.a.b })', { recover: all }],
  ["the key of a branch", '.branch("s", { on: charge, cases: { x: (b) => b } })', {}],
  ["the args of a child", '.child("s", leaf, charge)', {}],
  [
    "spread options",
    '.step("s", { ...mails.policy, query: ({}) => 1 })',
    { reads: [], recover: all },
  ],
  ["held options", '.event("s", mails.event)', {}],
])("[S123] what cannot be seen reads everything: %s", async (_of, node, stage) => {
  const rest = `import { charge } from "./charge";
import * as mails from "./mails";
import { internal } from "./_generated/api";
const { last } = internal.mails;
let changing = () => 1;
export const leaf = defineWorkflow({ input: z.object({}) }).step("only", { query: () => 1 });`;
  expect((await stagesOf(node, rest))[0]).toMatchObject({ reads: all, ...stage });
});

test("a name of a pattern stands for a part of its value", async () => {
  const text = `import { defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
const { options, ...rest } = { options: { query: (_ctx, { b }) => b }, query: () => 1 };
export const leaf = defineWorkflow({ input: z.object({}) }).step("x", options).step("y", options.rest);
const { nodes: other } = leaf;
export const top = defineWorkflow({ input: z.object({}) }).child("y", other, () => ({}));`;
  const { diagnostics } = await compileSources([{ file: "example.workflow.ts", text }]);
  expect(diagnostics.map(({ code, place }) => `${code}:${place.line}`)).toEqual([
    "SW1205:4",
    "SW1401:6",
  ]);
});

/** `undefined`: it may read every field. */
test.each<[what: string, step: string, fields: string[] | undefined]>([
  ["a destructured input", "query: (ctx, { input: { b, a: c = 1 } }) => b + c", ["a", "b"]],
  ["members", "query: (ctx, { input }) => input.a + input?.b + input['c']", ["a", "b", "c"]],
  ["members under another name", "query: (ctx, { input: i = {} }) => () => i!.a.b.c()", ["a"]],
  [
    "members of a scope",
    "query: (ctx, scope) => (scope.input as any).a + scope['input'].b",
    ["a", "b"],
  ],
  [
    "a local pattern",
    "query: (ctx, { input }) => { const { a, b: { c } } = input; return a; }",
    ["a", "b"],
  ],
  [
    "a pattern of a scope",
    "query: (ctx, scope) => { const { a } = scope.input; return a; }",
    ["a"],
  ],
  [
    "a nested pattern of a scope",
    "query: (ctx, s) => { const { input: { a } } = s; return a; }",
    ["a"],
  ],
  ["no field", "query: (ctx, { input }) => 1", []],
  ["args", "query: internal.x.y, args: ({ input }) => ({ of: input.a })", ["a"]],
  [
    "a recover too",
    "action: (ctx, { input }) => input.a, recover: (e, { input }) => input.b",
    ["a", "b"],
  ],
  [
    "another variable of that name",
    "query: (ctx, { input }) => [1].map((input) => input) && input.a",
    ["a"],
  ],
  [
    "a local input",
    "query: (ctx, scope) => { const { input } = scope; return input.a; }",
    undefined,
  ],
  ["a rest", "query: (ctx, { input: { a, ...rest } }) => rest", undefined],
  [
    "a rest of members",
    "query: (ctx, { input }) => { const { a, ...rest } = input; return rest; }",
    undefined,
  ],
  ["a computed field", "query: (ctx, { input }) => input[ctx.key]", undefined],
  ["a method", "query: (ctx, { input }) => input.hasOwnProperty('a')", undefined],
  ["the whole", "query: (ctx, { input }) => [input.a, input]", undefined],
  ["a shorthand", "query: (ctx, { input }) => ({ input })", undefined],
  ["an argument", "query: (ctx, { input }) => String(input)", undefined],
  ["a key that is asked for", "query: (ctx, { input }) => 'a' in input", undefined],
  ["a new value", "query: (ctx, { input }) => { input = ctx.input; return input.a; }", undefined],
  [
    "a `var` of that name",
    "query: (ctx, { input }) => { var input = input; return input.a; }",
    undefined,
  ],
  [
    "one that is whole in a recover",
    "action: (ctx, { input }) => input.a, recover: (e, s) => s",
    undefined,
  ],
  ["an eval", "query: (ctx, { input }) => eval('input') && input.a", undefined],
  ["no input", "query: (ctx, { a }) => a", undefined],
])("[S145] fields of the input that are read: %s", async (_what, step, fields) => {
  const [stage] = await stagesOf(`.step("at", { ${step} })`);
  expect(stage?.input).toEqual(fields);
});
