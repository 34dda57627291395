import { describe, expect, test } from "vitest";
import { compileSources, type CompileResult } from "../../src/compile.js";
import { formatted } from "../prettier.js";

/** Compiles a workflow with an input; `top` stands above it in the same file. */
async function compiled(input: string, top = ""): Promise<CompileResult> {
  const text = `import { defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
${top}
export const flow = defineWorkflow({
  input: ${input},
}).step("only", { query: () => null });
`;
  return await compileSources([{ file: "a.workflow.ts", text }]);
}

/** The generated file, which must be as Prettier would have it. */
async function generated(input: string, top = ""): Promise<string> {
  const { files, diagnostics } = await compiled(input, top);
  expect(diagnostics).toEqual([]);
  const text = files.find(({ path }) => path.endsWith("/flow.ts"))?.text ?? "";
  expect(await formatted(text)).toBe(text);
  return text;
}

describe("an input is copied as it is written", () => {
  test.each([
    "z.object({ true: z.literal(true), null: z.null() })",
    "z.fromJSONSchema({ true: true, false: false, null: null })",
    'z.object({ "1": z.string(), 2: z.number(), [`a`]: z.any(), "b-c": z.any() })',
    "z.object({ default: z.string(), class: z.string(), get: z.string() })",
    "z.enum(['x', 'y']).default('x')",
    "z.string().default('a\\\n    b')",
    "z.string().default(`a\n    ${1 + 1}\n      b`)",
    "z.string().regex(/[/\"'`]/giu)",
    "z.number().min(0x10).max(1_000_000n as unknown as number)",
    "(z.object({}), z.object({ a: z.string() }))",
    "z.object({ a: z.string() }) as z.ZodType<{ a: string }>",
    "z.object( {a:z.string() , b : z.number( )} )",
    "z.object({ a: z.string(), /* why */ b: z.string() })",
    "z.string().transform(function <T extends string>(this: void, value: T) { return value; })",
    "z.custom<`a${string}`>((value) => typeof value === 'string' && value in { a: 1 })",
    "z.object({ get a() { return z.string(); }, async b() {}, ...{ c: z.any() } })",
    'z.custom<import("zod").ZodType>()',
    "z.string().refine(async (value) => await Promise.resolve(value))",
    "z.any().default(new (class { a = this; b() { return this; } })())",
  ])("%s", { tags: ["large"] }, async (input) => {
    expect(await generated(input)).toContain(`// prettier-ignore\nconst input = ${input};\n`);
  });

  test("but for the margin of the definition, unless a string goes over lines", async () => {
    const input = "z.object({\n    a: z.string(),\n  })";
    expect(await generated(input)).toContain("const input = z.object({\n  a: z.string(),\n});\n");
    const withText = "z.object({\n    a: z.string().default(`\n    kept\n  `),\n  })";
    expect(await generated(withText)).toContain(`const input = ${withText};\n`);
  });

  test("a name that is escaped is the name", async () => {
    const top = 'import { part } from "./schemas";';
    expect(await generated("z.object({ a: p\\u0061rt.min(1), p\\u{61}rt })", top)).toContain(
      "const input = z.object({ a: part.min(1), part });\n",
    );
  });

  test("a name that the module exports as a string is imported as one", async () => {
    const top = 'import { "the order" as order, "plain" as plain } from "./schemas";';
    const text = await generated("z.object({ order, plain })", top);
    expect(text).toContain('import { "the order" as order, plain } from "../schemas";');
    const own = 'const order = z.object({});\nexport { order as "the order" };';
    expect(await generated("order", own)).toMatch(
      /import \{.*"the order" as input.* from "..\/a\.workflow";/,
    );
  });
});

/** The type of an input that cannot be copied. */
const throughDefinition = "WorkflowInput<typeof definition>";

describe("an input that the generated file cannot have is typed by its definition", () => {
  test.each([
    ["of a namespace", "namespace shapes { export const order = z.object({}); }", "shapes.order"],
    ["of a nested var", "{ var shape = z.object({}); }", "shape"],
    ["of a var in a condition", "if (true) { try { var shape = z.any(); } catch {} }", "shape"],
    ["of a loop", "for (var shape of [z.object({})]) break;", "z.array(shape)"],
    ["of a counting loop", "for (var [shape] = [z.any()]; ; ) break;", "z.array(shape)"],
    ["of a switch", "switch (1) { case 1: var shape = z.any(); }", "z.array(shape)"],
    ["of an import assignment", 'import shape = require("./schemas");', "shape"],
    ["of an alias", "import shape = z.core;", "shape.any"],
    ["of a pattern", "const { a: { shape } } = { a: { shape: z.any() } };", "shape"],
    ["of a class", "class Row {}", "z.instanceof(Row)"],
    ["of a type", "type Row = string;", "z.custom<Row>()"],
    ["of an enum", "enum Row { a }", "z.enum(Row)"],
  ])("%s", async (_of, top, input) => {
    const text = await generated(input, top);
    expect(text).toContain(throughDefinition);
    expect(text).toMatch(/If TypeScript says that it depends on itself, export (shapes?|Row)\./);
  });

  test.each([
    'z.custom<import("./types").Row>()',
    'z.custom<typeof import("../types")>()',
    'z.lazy(() => require("./schemas").order)',
    'z.any().refine(async () => (await import("./schemas")).check())',
    'z.any().refine(async () => (await import("./" + "schemas")).check())',
    "z.any().refine(async (name) => await import(name))",
    "z.any().refine(async (x) => await import(`./${x}`))",
    "z.any().refine((name) => require(name))",
    "z.string().default(import.meta.url)",
    "z.any().refine(() => this)",
    "z.any().default(eval('flow'))",
  ])("%s", async (input) => {
    expect(await generated(input)).toContain(throughDefinition);
  });

  test("but not one that the expression declares itself", async () => {
    const top = "type T = string;\nnamespace value {}";
    await generated("z.any().transform(<T,>(value: T): T => value)", top);
  });
});

test("[S122] what is the default export of the file is imported as that", async () => {
  const top = "export default function make() { return z.any(); }";
  expect(await generated("make()", top)).toContain('import make from "../a.workflow";');
});

test.each([
  ["a let", "export let shape = z.any();", "shape", "shape as input"],
  ["a function", "export function make() { return z.any(); }", "make()", "make"],
  ["an enum", 'export enum Color { red = "red" }', "z.enum(Color)", "Color"],
  ["a class", "export class Row {}", "z.instanceof(Row)", "Row"],
  ["an interface", "export interface Row {}", "z.custom<Row>()", "type Row"],
  ["a type", "type Row = string;\nexport { type Row };", "z.custom<Row>()", undefined],
  ["a namespace", "export namespace shapes { export const o = 1; }", "z.any(shapes.o)", "shapes"],
])("[S122] an exported name of the file is imported: %s", async (_of, top, input, name) => {
  const text = await generated(input, top);
  if (name === undefined) expect(text).toContain(throughDefinition);
  else
    expect(text).toMatch(
      new RegExp(`import \\{[^}]*\\b${name}[,\\s][^}]*\\} from "../a.workflow"`),
    );
});
