import { expect, test } from "vitest";
import { Compiler, compileSources } from "../../src/compile.js";

const head = `import { child, childNamed, defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
const input = z.object({});
`;

const fine = (name: string) =>
  `export const ${name} = defineWorkflow({ input }).step("only", { query: () => 1 });`;
const loop = (name: string, body: string, before = "") =>
  `export const ${name} = defineWorkflow({ input })${before}.loop("again", { initial: () => ({}), maxIterations: 2, body: ${body}, until: () => true });`;
const refused = `export const refused = defineWorkflow({ input })?.step("only", { query: () => 1 });`;
const unparsed = `export const unparsed = defineWorkflow({ input }.step("only", { query: () => 1 });`;
const nested = `${"[".repeat(20_000)}${"]".repeat(20_000)}`;
const starts = (name: string, workflow: string) =>
  `export const ${name} = defineWorkflow({ input }).child("kid", ${workflow}, () => ({}));`;
const mayStart = (name: string, made: string) =>
  `export const ${name} = defineWorkflow({ input }).parent("kids", { children: () => [${made}] });`;

/** Where errors are, and which workflows are sound. The files of definitions get the imports. */
async function soundOf(files: Readonly<Record<string, string>>) {
  const isDefinition = (file: string) => file.endsWith(".workflow.ts");
  const sources = Object.entries(files)
    .filter(([file]) => isDefinition(file))
    .map(([file, text]) => ({ file, text: `${head}${text}\n` }));
  const compiler = new Compiler();
  const read = (file: string) => (isDefinition(file) ? undefined : files[file]);
  const compiled = await compiler.compileSources(sources, read);
  // What is remembered says the same.
  const again = await compiler.compileSources(sources, read);
  expect([again.parsed, again.diagnostics]).toEqual([[], compiled.diagnostics]);
  expect(again.sound?.files).toEqual(compiled.sound?.files);
  const { diagnostics, sound } = compiled;
  const errors = diagnostics.map(({ code, place }) => `${code} ${place.file}`);
  return { errors, sound: sound?.plan.workflows.map(({ name }) => name) };
}

test.each<[where: string, files: Record<string, string>, errors: string[], sound: string[]]>([
  [
    "in a body of another file",
    {
      "a.workflow.ts": `import { body } from "./lib"; ${fine("beside")} ${loop("broken", "body")}`,
      "b.workflow.ts": fine("other"),
      "lib.ts": `export const body = (b) => b.step("y", { query: () => 1 }).step("y", { query: () => 1 });`,
    },
    ["SW1006 lib.ts"],
    ["beside", "other"],
  ],
  [
    "in a body that another workflow shares, where it is right",
    {
      "a.workflow.ts": `import { body } from "./lib"; ${loop("broken", "body")} ${loop("fits", "body", '.step("draft", { query: () => 1 })')}`,
      "lib.ts": `export const body = (b) => b.step("y", { query: (ctx, { draft }) => draft });`,
    },
    ["SW1301 lib.ts"],
    ["fits"],
  ],
  [
    "in a body that two share, which is told once",
    {
      "a.workflow.ts": `import { body } from "./lib"; ${loop("one", "body")} ${loop("two", "body")} ${fine("other")}`,
      "lib.ts": `export const body = (b) => b.step[0]("y", { query: () => 1 });`,
    },
    ["SW1101 lib.ts"],
    ["other"],
  ],
  [
    "in cases of another file",
    {
      "a.workflow.ts": `import { cases } from "./lib"; ${fine("other")} export const broken = defineWorkflow({ input }).branch("way", { on: () => "a", cases });`,
      "lib.ts": `export const cases = { '"a': (b) => b.step("y", { query: () => 1 }) };`,
    },
    ["SW1002 lib.ts"],
    ["other"],
  ],
  [
    "in a helper that is nested too deeply",
    {
      "a.workflow.ts": `import { body } from "./lib"; ${fine("other")} ${loop("broken", "body")}`,
      "lib.ts": `export const body = (b) => b.step("y", { query: () => ${nested} });`,
    },
    ["SW1101 a.workflow.ts"],
    ["other"],
  ],
  [
    "in the same file",
    {
      "a.workflow.ts": `${fine("beside")} export const broken = defineWorkflow({ input }).step("only", { query: (ctx, { no }) => no });`,
    },
    ["SW1301 a.workflow.ts"],
    ["beside"],
  ],
  [
    "of structure in the same file",
    { "a.workflow.ts": `${fine("beside")} ${refused} const lost = [defineWorkflow({ input })];` },
    ["SW1101 a.workflow.ts", "SW1101 a.workflow.ts"],
    ["beside"],
  ],
  [
    "in a file that does not parse",
    { "a.workflow.ts": unparsed, "b.workflow.ts": fine("other") },
    ["SW1901 a.workflow.ts"],
    ["other"],
  ],
  [
    "in a file that is nested too deeply",
    { "a.workflow.ts": `const list = ${nested};`, "b.workflow.ts": fine("other") },
    ["SW1901 a.workflow.ts"],
    ["other"],
  ],
  [
    "in a child, which takes those that start it along and is told once",
    {
      "a.workflow.ts": refused,
      "b.workflow.ts": `import { refused } from "./a.workflow"; ${starts("b", "refused")} ${mayStart("c", "child(refused, {})")} ${mayStart("d", 'childNamed("refused", {})')} ${fine("other")}`,
    },
    ["SW1101 a.workflow.ts"],
    ["other"],
  ],
  [
    "in a child of a file that does not parse",
    {
      "a.workflow.ts": unparsed,
      "b.workflow.ts": `import { unparsed } from "./a.workflow"; ${starts("b", "unparsed")} ${mayStart("c", "child(unparsed, {})")} ${mayStart("d", 'childNamed("unparsed", {})')} ${fine("other")}`,
    },
    ["SW1901 a.workflow.ts"],
    ["other"],
  ],
  [
    "of a name that two files have",
    {
      "a.workflow.ts": fine("same"),
      "b.workflow.ts": fine("same"),
      "c.workflow.ts": fine("other"),
    },
    ["SW1007 b.workflow.ts"],
    ["other", "same"],
  ],
  [
    "of what runs without Node, in all of its file",
    {
      "a.workflow.ts": `import { readFileSync } from "node:fs"; ${fine("beside")} readFileSync("x");`,
      "b.workflow.ts": fine("other"),
    },
    ["SW1501 a.workflow.ts"],
    ["other"],
  ],
])("an error %s leaves the types of the others", async (_where, files, errors, sound) => {
  expect(await soundOf(files)).toEqual({ errors, sound });
});

const own = `export const own = defineWorkflow({ input, retry: true }).step("only", { query: () => 1 });`;
const both = ["fine", "own"];

test.each<[config: string, code: string, sound?: string[]]>([
  ['{ logLevel: "LOUD" }', "SW1603", both],
  ["{ maxParallelism: Number(process.env.MOST) }", "SW1601", both],
  ["{ retention: 5, nothing: 1 }", "SW1602", both],
  ["{ retry: 7 }", "SW1603", ["own"]],
  ["{ retyr: true }", "SW1602", ["own"]],
  ["{ retry: shared() }", "SW1601", ["own"]],
  ["{ component: 1 }", "SW1603"],
  ["{ output: folder }", "SW1601"],
  ["{ ...shared() }", "SW1601"],
  ["1", "SW1601"],
  ["{", "SW1901"],
])(
  "[S178] of a config with an error, what does not depend on that is written: %s",
  async (options, code, sound) => {
    const config = `import { defineConfig } from "@stepwise/workflow"; export default defineConfig(${options});`;
    const files = { "a.workflow.ts": `${fine("fine")} ${own}`, "stepwise.config.ts": config };
    const found = await soundOf(files);
    expect(found.errors).toContain(`${code} stepwise.config.ts`);
    expect(found.sound).toEqual(sound);
  },
);

test("an error in the config leaves what holds for all workflows as it is", async () => {
  const config = (options: string) =>
    `import { defineConfig } from "@stepwise/workflow"; export default defineConfig({ ${options} });`;
  const texts: Record<string, string> = { "stepwise.config.ts": config("maxParallelism: 7") };
  const compiled = async (text: string) => {
    const sources = [{ file: "a.workflow.ts", text: head + text }];
    return await new Compiler().compileSources(sources, (file) => texts[file]);
  };
  const wrong = config('maxParallelism: 7000, logLevel: "WARN"');
  texts["stepwise.config.ts"] = wrong;
  const first = (await compiled(fine("a"))).sound?.files ?? [];
  expect(first[0]?.text).toMatch(/components\.workflow,\s*\{ logLevel: "WARN" \}/);
  texts["stepwise.config.ts"] = config("maxParallelism: 7");
  for (const { path, text } of (await compiled(fine("a"))).files) texts[path] = text;
  texts["stepwise.config.ts"] = wrong;
  const { files = [] } = (await compiled(`${fine("a")} ${fine("b")}`)).sound ?? {};
  const changed = files.filter(({ path, text }) => texts[path] !== text).map(({ path }) => path);
  expect(changed).toEqual(["_workflows/workflows.ts", "_workflows/b.plan.json", "_workflows/b.ts"]);
});

test("one structural error does not hide the others of its definition", async () => {
  const text = `${head}export const flow = defineWorkflow({ input })?.step("a", { on: 1, query: () => 1 })["sleep"]("b", 1).step("return", { query: () => 1 }).step("a", { query: () => 1 });`;
  const { diagnostics } = await compileSources([{ file: "a.workflow.ts", text }]);
  expect(diagnostics.map(({ code }) => code)).toEqual(["SW1101", "SW1004"]);
});
