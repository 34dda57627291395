import { expect, test } from "vitest";
import type { Files } from "./deployed.js";
import { verdictOf } from "./edited.js";

/* Schemas that a later statement changes: check sees none of their fields, and says so. */

const UNSEEN =
  /^safe: another input: .*, and fails with invalidInput if it does not fit; check cannot see all of its fields$/;

const fields = `export const fields: Record<string, z.ZodType> = { a: z.string() };`;
const list = `const list = ["a"] as ["a", ...string[]];`;
const imported = `import { fields } from "./fields";`;
const whole = `import * as lib from "./fields";`;

/** @param schema the input; @param more what a module has before it; @param own what fields.ts has */
const app = (schema: string, more: string, own = ""): Files => ({
  "flow.workflow.ts": `
import { defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
${more}
export const flow = defineWorkflow({ input: ${schema} }).sleep("gate", "1h");`,
  "fields.ts": `import { z } from "zod"; ${fields} ${own}`,
});

test.each<[what: string, schema: string, declared: string, later: string]>([
  ["a field is set", "z.object(fields)", fields, "fields.b = z.number();"],
  ["a field is set by its text", "z.object(fields)", fields, `fields["b"] = z.number();`],
  [
    "fields are set in a loop",
    "z.object(fields)",
    fields,
    `for (const each of ["b"]) { fields[each] = z.number(); }`,
  ],
  ["a field is deleted", "z.object(fields)", fields, "delete (fields as any).a;"],
  ["fields are assigned", "z.object(fields)", fields, "Object.assign(fields, { b: z.number() });"],
  [
    "a function is called for its effect",
    "z.object(fields)",
    fields,
    `function add(to: Record<string, z.ZodType>) { to.b = z.number(); } add(fields);`,
  ],
  [
    "it has another name there",
    "z.object(fields)",
    fields,
    "const same = fields; same.b = z.number();",
  ],
  [
    "a let is given another schema",
    "Whole",
    "let Whole: z.ZodType = z.object({ a: z.string() });",
    "Whole = z.object({ a: z.string(), b: z.number() });",
  ],
  [
    "a function gives a let another one",
    "Whole",
    "let Whole: z.ZodType = z.object({ a: z.string() });",
    "const widen = () => { Whole = Whole.optional(); }; widen();",
  ],
  ["something is put into a list", "z.enum(list)", list, `list.push("b");`],
  ["a field of another file is set here", "z.object(fields)", imported, "fields.b = z.number();"],
  [
    "a field of a whole file is set here",
    "z.object(lib.fields)",
    whole,
    "lib.fields.b = z.number();",
  ],
])(
  "[S241] check says that it does not see a schema that is changed later: %s",
  async (_what, schema, declared, later) => {
    const before = app(schema, declared);
    const now = app(schema, `${declared} ${later}`);
    expect(await verdictOf(before, now)).toEqual([expect.stringMatching(UNSEEN)]);
    expect(await verdictOf(now, before)).toEqual([expect.stringMatching(UNSEEN)]);
  },
);

test("[S241] check says so of what its own file changes, and a workflow imports", async () => {
  for (const schema of ["z.object(fields)", "z.object({ ...fields })"]) {
    const before = app(schema, imported);
    const now = app(schema, imported, "fields.b = z.number();");
    expect(await verdictOf(before, now)).toEqual([expect.stringMatching(UNSEEN)]);
  }
});

test("[S117] a field whose schema is changed later has another schema", async () => {
  const one = "const one: Record<string, z.ZodType> = { a: z.string() };";
  const schema = "z.object({ kept: z.string(), one: z.object(one) })";
  expect(await verdictOf(app(schema, one), app(schema, `${one} one.b = z.number();`))).toEqual([
    expect.stringMatching(/^stops: input\.one has another schema/),
  ]);
});

test.each([
  "export const parsed = fields.a?.parse('x');",
  "export const all = { ...fields }; all.b = z.number();",
  "z.globalRegistry.add(Whole, { id: 'w' });",
  "note(Whole); function note(of: z.ZodType) { return of; }",
  "export const row = z.object(fields).extend({ b: z.number() });",
  "export function other(fields: Record<string, unknown>) { fields.b = 1; }",
])("[S117] what changes no schema leaves it seen: %s", async (later) => {
  const declared = `${fields} const Whole = z.object(fields);`;
  const now = `${fields.replace("z.string()", "z.number()")} const Whole = z.object(fields);`;
  expect(
    await verdictOf(app("Whole", `${declared} ${later}`), app("Whole", `${now} ${later}`)),
  ).toEqual([expect.stringMatching(/^stops: input\.a has another schema/)]);
});
