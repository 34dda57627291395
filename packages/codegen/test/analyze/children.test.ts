import { expect, test } from "vitest";
import { Compiler } from "../../src/compile.js";

const app: Readonly<Record<string, string>> = {
  "../package.json":
    '{ "dependencies": { "lodash": "4", "zod-extra": "1", "extra-flows": "1", "@acme/flows": "workspace:*" } }',
  "../tsconfig.json":
    '{ "compilerOptions": { "baseUrl": "./shared", "paths": { "zod-extra": ["../convex/lib/flows.ts"], "zod-extra/*": ["../convex/lib/*"] } } }',
  "lib/flows.ts": "export const more = () => [];",
  "../shared/extra-flows.ts": "export const more = () => [];",
};

/**
 * The workflows that a parent with these children may start: of `one`, `two` and `three`, and
 * itself.
 */
async function workflowsOf(children: string, rest = ""): Promise<readonly string[] | undefined> {
  const leaf = (name: string) =>
    `export const ${name} = defineWorkflow({ input: z.object({}) }).step("only", { query: () => 1 });`;
  const leaves = `import { defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
${["one", "two", "three"].map(leaf).join("\n")}`;
  const text = `import { child, childNamed, defineWorkflow, type Child } from "@stepwise/workflow";
import { z } from "zod";
import { one, two } from "./leaves.workflow";
import { more, chunk } from "./helpers";
import { uniq } from "lodash";
export const example = defineWorkflow({ input: z.object({}) }).parent("all", { children: ${children} });
${rest}`;
  const sources = [
    { file: "example.workflow.ts", text },
    { file: "leaves.workflow.ts", text: leaves },
  ];
  const { plan, diagnostics } = await new Compiler().compileSources(
    sources,
    (file) => app[file.replace(/^\.\.\/convex\//, "")],
  );
  expect(diagnostics.map(({ message }) => message)).toEqual([]);
  const example = plan.workflows.find(({ name }) => name === "example");
  return example?.nodes[0]?.stages[0]?.workflows;
}

const helper = "function other() { return [child(two, {})]; }";

test.each<[what: string, children: string, rest?: string]>([
  ["a function of the file", "() => [child(one, {}), ...other()]", helper],
  [
    "one that calls another",
    "() => [child(one, {}), ...via()]",
    `const via = () => other(); ${helper}`,
  ],
  [
    "one that calls itself, and another",
    "() => [child(one, {}), ...turn()]",
    `function turn(): Child[] { turn(); return other(); } ${helper}`,
  ],
  ["a list of the file", "() => [child(one, {}), ...list]", "const list = [child(two, {})];"],
  [
    "a list that is filled later",
    "() => [child(one, {}), ...list]",
    "const list: Child[] = []; list.push(child(two, {}));",
  ],
  [
    "a list of values that is filled later",
    "() => [child(one, {}), ...list]",
    "const list: unknown[] = [1]; list.push(child(two, {}));",
  ],
  [
    "a list that something else gets",
    "() => [child(one, {}), ...list]",
    "const list: unknown[] = [1]; fill(list); declare function fill(list: unknown[]): void;",
  ],
  [
    "an object of values that is filled later",
    "() => ({ a: child(one, {}), ...all })",
    "const all: Record<string, unknown> = { b: 1 }; Object.assign(all, { c: child(two, {}) });",
  ],
  [
    "a workflow's name that stands for another",
    "() => { const one = two; return [child(one, {})]; }",
  ],
  [
    "an object of the file",
    "() => ({ a: child(one, {}), ...all })",
    "const all = { b: child(two, {}) };",
  ],
  [
    "a method",
    "() => [child(one, {}), ...all.of()]",
    "const all = { of: () => [child(two, {})] };",
  ],
  ["a variable", "() => [child(one, {}), last]", "let last = child(two, {});"],
  ["what is imported", "() => [child(one, {}), ...more()]"],
  ["an imported list", "() => [child(one, {}), ...more]"],
  ...["zod-extra", "zod-extra/flows", "extra-flows", "@acme/flows"].map(
    (name): [string, string, string] => [
      `what ${name} gives, which is a dependency's name for a file of the app`,
      "() => [child(one, {}), ...flows()]",
      `import { more as flows } from "${name}";`,
    ],
  ),
  [
    "child under another name",
    "() => { const make = child; return [child(one, {}), make(two, {})]; }",
  ],
])(
  "[S10] children that may come from elsewhere may be of any workflow: %s",
  { tags: ["large"] },
  async (_what, ...of) => {
    expect(await workflowsOf(...of)).toBeUndefined();
  },
);

test.each<[what: string, children: string, rest?: string]>([
  ["nothing else", "({ input }) => [1, 2].map((n) => child(one, { n, input }))"],
  [
    "functions of the language",
    "() => Array.from({ length: Math.max(1, 2) }, () => child(one, {}))",
  ],
  [
    "a function that gives data",
    "() => [1, 2].filter(isOdd).map(() => child(one, {}))",
    "const isOdd = (n: number) => n % 2 === MOD; const MOD = 1;",
  ],
  [
    "values",
    "() => LANGUAGES.slice(0, LIMIT).map((to) => child(one, { to, ...OPTIONS }))",
    'const LIMIT = 2 * 5; const LANGUAGES = ["de", "en"] as const; const OPTIONS = { of: {} };',
  ],
  [
    "an object of values",
    "() => [child(one, {})].slice(SIZES.none)",
    "const SIZES = { none: 0, all: [1] };",
  ],
  [
    "a list that is read elsewhere",
    "() => LIST.map((to) => child(one, { to }))",
    "const LIST = [1, 2]; for (const each of LIST) if (LIST.includes(each)) Math.max(...LIST, LIST[0]);",
  ],
  ["a counter", "() => { count++; return [child(one, {})]; }", "let count = 0;"],
  ["a function of a package", "() => uniq([1, 2]).map(() => child(one, {}))"],
  ["an imported function, for an input", "() => [child(one, chunk({ a: 1 }))]"],
  ["a name of its own", "() => { const more = [1]; return more.map(() => child(one, {})); }"],
  ["types", "(): Child<unknown>[] => [child(one, {}) as ReturnType<typeof chunk>]"],
])(
  "[S10] children that it makes itself are of the workflows that it names: %s",
  async (_what, ...of) => {
    expect(await workflowsOf(...of)).toEqual(["one"]);
  },
);

test.each([
  ["exchange their names", "export { one as two, two as one };", "./pair.workflow", "two"],
  ["exchange them on the way", "export { one, two };", "./names", "one"],
  ["are given, and one under the name of the other", "export { one, two };", "./all", "one"],
  ["are given, and one as a const of that name", "export { one, two };", "./const", "one"],
  ["are given, and one by default", "export { one, two };", "./default", "one"],
])(
  "[S10] a child is the workflow that is exported by its name where two %s",
  async (_how, exports, module, name) => {
    const flow = (of: string) =>
      `const ${of} = defineWorkflow({ input: z.object({}) }).step("of", { query: () => 1 });\n`;
    const head = `import { child, defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";\n`;
    const top = `import { ${module === "./default" ? "default as two" : "two"} } from "${module}";
export const top = defineWorkflow({ input: z.object({}) }).child("c", two, () => ({}));`;
    const sources = [
      { file: "pair.workflow.ts", text: `${head}${flow("one")}${flow("two")}${exports}` },
      { file: "top.workflow.ts", text: `${head}${top}` },
    ];
    const pair = 'import { one, two } from "./pair.workflow";\nexport * from "./pair.workflow";\n';
    const files: Readonly<Record<string, string>> = {
      "names.ts": `${pair}export { two as one, one as two };`,
      "all.ts": `${pair}export { one as two };`,
      "const.ts": `${pair.replace(", two", "")}export const two = one;`,
      "default.ts": `${pair}export default one;`,
    };
    const found = await new Compiler().compileSources(sources, (file) => files[file]);
    const text = found.files.find(({ path }) => path.endsWith("top.ts"))?.text;
    expect(/nodes\.c\.args, (\w+)\)/.exec(text ?? "")?.[1]).toBe(name);
  },
);

test.each([
  ["a whole module that a barrel hands on", "flows.leaf"],
  ["one of it", "barrel.flows.leaf"],
  ["a record of another file", "all.record.leaf"],
  ["a name in brackets of a record in it", 'record["others"].leaf'],
  ["a record of this file", "own.deep.leaf"],
  ["a getter of a record", "own.late"],
])("[S10] a child may be named by %s", async (_by, leaf) => {
  const head =
    'import { child, defineWorkflow } from "@stepwise/workflow"; import { z } from "zod";\n';
  const made = 'const made = defineWorkflow({ input: z.object({}) }).sleep("nap", 1);';
  const top = `import * as barrel from "./barrel"; import { flows } from "./barrel";
import * as all from "./all"; import { record } from "./all";
const own = { deep: { leaf: flows.leaf }, get late() { return flows.leaf; } };
export const top = defineWorkflow({ input: z.object({}) })
  .child("one", ${leaf}, () => ({}))
  .parent("all", { children: () => [child(${leaf}, {})] });`;
  const sources = [
    { file: "leaf.workflow.ts", text: `${head}${made} export { made as leaf };` },
    { file: "top.workflow.ts", text: head + top },
  ];
  const files: Readonly<Record<string, string>> = {
    "barrel.ts": 'export * as flows from "./all";',
    "all.ts":
      'import { leaf } from "./leaf.workflow"; export * from "./leaf.workflow"; export const record = { leaf, others: { leaf } } as const;',
  };
  const { plan, diagnostics } = await new Compiler().compileSources(sources, (file) => files[file]);
  expect(diagnostics).toEqual([]);
  const nodes = plan.workflows.find(({ name }) => name === "top")?.nodes;
  expect(nodes?.map(({ stages }) => stages[0]?.workflows)).toEqual([["leaf"], ["leaf"]]);
});

test("[S10] a child may be named by a member of a spread module", async () => {
  const head = 'import { defineWorkflow } from "@stepwise/workflow"; import { z } from "zod";\n';
  const leaf = `${head}export const leaf = defineWorkflow({ input: z.object({}) }).sleep("s", 1);`;
  const text = `${head}import * as all from "./leaf.workflow";
const flows = { ...all };
export const top = defineWorkflow({ input: z.object({}) }).child("one", flows.leaf, () => ({}));`;
  const sources = [
    { file: "leaf.workflow.ts", text: leaf },
    { file: "top.workflow.ts", text },
  ];
  const read = (file: string) => (file === "leaf.workflow.ts" ? leaf : undefined);
  const { plan, diagnostics } = await new Compiler().compileSources(sources, read);
  expect(diagnostics).toEqual([]);
  expect(plan.workflows[1]?.nodes[0]?.stages[0]?.workflows).toEqual(["leaf"]);
});

test.each([
  [
    "a record that something changes",
    "record.leaf",
    "export const record = { leaf }; record.leaf = other;",
  ],
  ["a record in a variable", "record.leaf", "export let record = { leaf };"],
  [
    "a record of itself",
    "record.leaf",
    "export const record = { get leaf() { return record.leaf; }, x: 1 };",
  ],
  [
    "records of each other",
    "record.leaf",
    "const b = { leaf: a.leaf }; const a = { leaf: b.leaf }; export { a as record };",
  ],
  ["what may have any name", "record[key]", "export const record = { leaf };"],
])("[S10] %s does not say which child it is", async (_what, leaf, record) => {
  const text = `import { defineWorkflow } from "@stepwise/workflow"; import { z } from "zod";
import { record } from "./all";
export const top = defineWorkflow({ input: z.object({}) }).child("one", ${leaf}, () => ({}));`;
  const all = `import { leaf, other } from "./leaf.workflow"; ${record}`;
  const read = (file: string) => (file === "all.ts" ? all : undefined);
  const sources = [{ file: "top.workflow.ts", text }];
  const { diagnostics } = await new Compiler().compileSources(sources, read);
  expect(diagnostics.map(({ code }) => code)).toEqual(["SW1401"]);
});
