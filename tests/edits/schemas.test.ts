import { describe, expect, test } from "vitest";
import { z } from "zod";
import { Deployment, type Files, released, useReleases } from "./deployed.js";
import { compare } from "../../packages/codegen/src/compatibility/compare.js";
import type { Change } from "../../packages/codegen/src/compatibility/lines.js";
import { changesOf, compiled } from "./edited.js";

/* What `check` says of edited schemas, retries and waits, and what runs do that are in flight. */

const releases = useReleases();

const app = (input: string, nodes: string, options = "", more = ""): Files => ({
  "flow.workflow.ts": `
import { child, defineWorkflow } from "@stepwise/workflow";
import { v } from "convex/values";
import { z } from "zod";
${more}
export const kid = defineWorkflow({ input: z.object({}) }).sleep("rest", "1h");
export const flow = defineWorkflow({ input: ${input}${options} })${nodes};`,
});

async function verdicts(before: Files, now: Files): Promise<string[]> {
  return (await changesOf(before, now)).map(
    ({ node, compatibility, message }) => `${compatibility} ${node ?? "flow"}: ${message}`,
  );
}

/** A run is started under one version; at a place the next is deployed. */
async function deployed(before: Files, now: Files, input: object = {}, until?: string) {
  const versions = await released(releases, before, now);
  const deployment = new Deployment(versions[0], versions);
  const id = (await deployment.call("start", { name: "flow", input })) as string;
  if (until !== undefined)
    await deployment.drive(async () =>
      (await deployment.see(id)).active.some(
        ({ node, state }) => node === until && state === "waiting",
      ),
    );
  deployment.deploy(versions[1]);
  return [deployment, id] as const;
}

const GATE = `.sleep("gate", "1h")`;
const reads = `${GATE}.step("told", { query: (_ctx, { input }) => input.tenant ?? "none" }).step("other", { query: () => 1 }).finalize({ query: (_ctx, { told }) => told })`;
const shared = `export const tenant = z.string().optional();`;
const enums = `enum Kind { A = "a", B = "b" } enum Counted { A, B }
const Kinds = { A: "a", B: "b", C: "c" } as const;
const Tree = z.object({ get kids() { return z.array(Tree); } });`;
const noted = `const More = v.object({ k: v.literal("B"), note: v.optional(v.string()) });`;
const union = ["A", "B", "C"]
  .map(
    (name) =>
      `const ${name} = z.object({ k: z.literal("${name}") }); const V${name} = v.object({ k: v.literal("${name}") });`,
  )
  .join("\n");

/** Starts a run that begins after an hour. */
const starts = `
import { WorkflowManager } from "@stepwise/workflow";
import { internalMutationGeneric } from "convex/server";
import { components } from "./_generated/api";
import { workflows } from "./_workflows/index";
const workflow = new WorkflowManager(components.workflow);
export const start = internalMutationGeneric((ctx, { input }) =>
  workflow.start(ctx, workflows.flow, input, { runAfter: "1h" }));`;

/** What check says if values may have no other fields now. */
const CLOSED =
  /^stops flow: input takes no other fields now: runs that have not begun fail with invalidInput if theirs has any, and runs that have begun keep what they have$/;

/** What it says if a function refines an object whose fields are others now. */
const REFINED =
  /^safe flow: input is refined by a function, which check does not compare: runs that have not begun fail with invalidInput if it refuses theirs, and runs that have begun keep what they have$/;

describe("the input", () => {
  const top = `const Base = z.object({ id: z.string(), note: z.string().optional(), tags: z.array(z.string()).default([]) });
const more = { n: z.number(), m: z.number().optional() }; const mask = { id: true };`;

  test.each([
    `Base`,
    `Base.extend({ n: z.number(), id: z.string().optional() })`,
    `Base.extend(more)`,
    `Base.safeExtend({ ...more, o: z.string().nullish() }).refine(() => true)`,
    `Base.pick({ id: true, tags: true })`,
    `Base.omit(mask).extend(Base.pick(mask).shape)`,
    `Base.partial()`,
    `Base.partial({ id: true }).describe("d")`,
    `Base.required()`,
    `Base.partial().required({ note: true })`,
    `Base.merge(z.object(more))`,
    `z.object({ ...Base.shape, ...more, get own() { return z.string().optional(); } })`,
    `z.object({ note: Base.shape.note, tags: Base.shape.tags, id: Base.shape.id.optional(), o: Base.shape.note.default("n") })`,
    `z.strictObject(more).loose()`,
    `z.looseObject({ "a-b": z.string(), 3: z.number() }).strict()`,
  ])(
    "[S241] check sees the fields of a schema as zod has them: %s",
    { tags: ["large"] },
    async (schema) => {
      const made = new Function("z", `${top} return ${schema}`)(z) as z.ZodObject;
      const isOptional = (field: z.core.$ZodType) => z.object({ field }).safeParse({}).success;
      const files = app(schema, GATE, "", top);
      const { plan } = await compiled(files);
      const { exact, fields = [] } =
        plan.workflows.find(({ name }) => name === "flow")?.fields ?? {};
      expect(
        new Map(fields.map((text) => [text.replace(/^\S* /, ""), /[?=] /.test(text)])),
      ).toEqual(
        new Map(Object.entries(made.shape).map(([name, field]) => [name, isOptional(field)])),
      );
      const own = Object.entries(given).filter(([name]) => name in made.shape);
      const others = { ...Object.fromEntries(own), other: 1 };
      expect(exact === true).toBe(!made.safeParse(others).success);
    },
  );

  test("a schema that stands for itself by mistake is seen in time", async () => {
    const names = Array.from({ length: 30 }, (_, at) => `f${at}: Own.shape.f${at}`).join(", ");
    const own = `const Own = z.object({ ${names}, note: z.lazy(() => Own.shape.note) });`;
    const { plan } = await compiled(app("Own.partial()", GATE, "", own));
    expect(plan.workflows.find(({ name }) => name === "flow")?.fields?.fields).toHaveLength(31);
  });

  test("[S241] of a plan without the members of unions, nothing is said of one that is the same", async () => {
    const files = app(`z.object({ kind: z.enum(["a", "b"]).default("a") })`, GATE);
    const { plan } = await compiled(files);
    const members = /(?<=^[0-9a-f]+)[|0-9a-f]+/;
    const workflows = plan.workflows.map((each) => ({
      ...each,
      fields: {
        ...each.fields,
        fields: each.fields?.fields?.map((text) => text.replace(members, "")),
      },
    }));
    expect(workflows).not.toEqual(plan.workflows);
    expect(compare({ ...plan, workflows }, plan)).toEqual([]);
  });

  const given = { id: "1", note: "n", tags: [], n: 1, m: 1, o: "o", own: "w", "a-b": "c", 3: 4 };

  test.each<[what: string, before: string, now: string, verdict: RegExp[]]>([
    [
      "a field with a default is new",
      `z.object({ url: z.string() })`,
      `z.object({ url: z.string(), tenant: z.string().default("acme") })`,
      [
        /^safe flow: input\.tenant is new: in runs that have begun it may be undefined, though it has a default.*; "told" reads it$/,
      ],
    ],
    [
      "an optional field is new, given by name",
      `z.object({ url: z.string() })`,
      `z.object({ url: z.string(), tenant })`,
      [/^safe flow: input\.tenant is new.*may be undefined, and.*"told" reads/],
    ],
    ...[
      `z.string().optional().transform((text) => text ?? "")`,
      `z.string().transform((text) => text ?? "")`,
      `z.union([z.string(), z.undefined()])`,
      `z.string().or(z.number().default(1)).refine(() => true)`,
      `z.undefined()`,
      `z.any()`,
      `z.preprocess((text) => text ?? "none", z.string())`,
      `z.preprocess((text = "none") => text, z.string())`,
      `z.preprocess((text) => text, z.string())`,
      `z.preprocess((text) => text, z.string().default("none"))`,
      `z.pipe(z.transform((text) => text || "none"), z.string())`,
      `z.preprocess((text) => text ?? undefined, z.string())`,
      `z.preprocess((text) => text || undefined, z.string())`,
      `z.preprocess((text) => text ?? null, z.string())`,
      `z.preprocess((text) => text ?? null, z.string().nullable())`,
      `z.preprocess((text) => text?.trim(), z.string())`,
      `z.preprocess((text) => text?.trim() ?? "none", z.string())`,
      `z.preprocess((text) => (text === "" ? undefined : text), z.string())`,
      `z.preprocess((text) => (text == null ? "none" : text), z.string())`,
      `z.preprocess((text) => (typeof text === "string" ? text : "none"), z.string())`,
      `z.preprocess((text) => { if (text === undefined) return "none"; return text; }, z.string())`,
      `z.preprocess((text) => { const known = text ?? "none"; return known; }, z.string())`,
      `z.preprocess((list) => (Array.isArray(list) ? list : []), z.array(z.string()))`,
      `z.preprocess((list) => (Array.isArray(list) ? list : [list]), z.array(z.string()))`,
      `z.preprocess((isOn) => isOn === "on", z.boolean())`,
      `z.preprocess((isOn) => !!isOn, z.boolean())`,
      `z.preprocess(() => "none", z.string())`,
      `z.preprocess(String, z.string())`,
      `z.preprocess(Number, z.number())`,
      `z.preprocess(({ a } = {}) => a ?? "none", z.string())`,
      `z.preprocess(({ a = "none" } = {}) => a, z.string())`,
      `z.preprocess(({ a } = {}) => a, z.string())`,
      `z.preprocess(({ a: { b = "none" } = {} } = { a: undefined }) => b, z.string())`,
      `z.preprocess(({ ...others } = {}) => others.a, z.string())`,
      `z.preprocess(([, a = "none"] = []) => a, z.string())`,
      `z.preprocess((text) => { const { a = "none" } = text ?? {}; return a; }, z.string())`,
      `z.object({ b: z.string() }).optional().transform(({ b } = { b: "none" }) => b).pipe(z.string())`,
      `z.string().apply((field) => field.optional())`,
      `z.string().apply((field) => field.min(1))`,
      `z.string().optional().apply((field) => field.transform((text) => text ?? "none")).pipe(z.string())`,
      `z.string().apply((field) => field.optional().apply((field) => field.nullable()))`,
      `z.transform((text) => text)`,
      `z.lazy(() => z.string())`,
      `z.lazy(() => z.string().optional())`,
      `z.lazy(() => { return z.string().default("none"); })`,
      `z.string().register(z.registry(), {})`,
      `z.string().optional().register(z.registry(), {})`,
      `z.string().default("none").clone()`,
      `z.string().optional().transform((text) => (text === undefined ? "none" : text)).pipe(z.string())`,
      `z.string().default("none").pipe(z.string())`,
      `z.string().pipe(z.string().optional())`,
      `z.string().optional().pipe(z.string())`,
      `z.string().optional().pipe(z.string().optional())`,
      `z.string().optional().pipe(z.transform((text) => text))`,
      `z.string().optional().transform((text) => text ?? "none").pipe(z.string())`,
    ].map((schema): [string, string, string, RegExp[]] => {
      // What takes a missing value, zod itself says.
      const made = new Function("z", `return z.object({ a: ${schema} })`)(z) as z.ZodObject;
      const takes = made.safeParse({}).success;
      return [
        `a field is new that ${takes ? "takes" : "refuses"} a missing value: ${schema}`,
        `z.object({})`,
        `z.object({ a: ${schema} })`,
        [takes ? /^safe flow: input\.a is new: / : /^stops flow: input\.a is new and required/],
      ];
    }),
    [
      "a required field is new, whose schema had a default but takes it away",
      `z.object({})`,
      `z.object({ a: z.string().optional().unwrap() })`,
      [/^stops flow: input\.a is new and required/],
    ],
    [
      "[S241] a required field is new in a schema that is derived",
      `z.object({ url: z.string() }).partial().refine(() => true)`,
      `z.object({ url: z.string() }).partial().extend({ tenant: z.string() }).refine(() => true)`,
      [/^stops flow: input\.tenant is new and required.*"told"/, REFINED],
    ],
    [
      "a required field is new",
      `z.object({})`,
      `z.object({ tenant: z.string() })`,
      [
        /^stops flow: input\.tenant is new and required: runs that have not begun fail with invalidInput.*"told"/,
      ],
    ],
    [
      "a field is removed, and values may have others",
      `z.object({ tenant: z.any(), url: z.string() })`,
      `z.object({ tenant: z.any() })`,
      [/^safe flow: input\.url is removed: runs that have begun keep/],
    ],
    ...[
      [`v.object({ tenant: v.any(), url: v.string() })`, `v.object({ tenant: v.any() })`],
      [`z.object({ tenant: z.any(), url: z.string() })`, `z.object({ tenant: z.any() }).strict()`],
      [`z.object({ tenant: z.any(), url: z.string() })`, `z.strictObject({ tenant: z.any() })`],
    ].map(([before = "", now = ""]): [string, string, string, RegExp[]] => [
      `a field is removed, and values may have no others: ${now}`,
      before,
      now,
      [
        /^stops flow: input\.url is removed: runs that have not begun fail with invalidInput/,
        ...(before.startsWith("v.") ? [] : [CLOSED]),
      ],
    ]),
    ...[
      [`z.looseObject({ tenant: z.any() })`, `z.strictObject({ tenant: z.any() })`],
      [`z.object({ tenant: z.any() }).loose()`, `z.object({ tenant: z.any() }).strict()`],
      [`z.object({ tenant: z.any() }).passthrough()`, `z.strictObject({ tenant: z.any() })`],
      [`z.object({ tenant: z.any() })`, `z.object({ tenant: z.any() }).strict()`],
      [
        `z.looseObject({ tenant: z.any() }).refine(() => true)`,
        `z.strictObject({ tenant: z.any() }).refine(() => true)`,
      ],
    ].map(([before = "", now = ""]): [string, string, string, RegExp[]] => [
      `values may have no other fields now: ${before}, then ${now}`,
      before,
      now,
      now.includes("refine") ? [CLOSED, REFINED] : [CLOSED],
    ]),
    [
      "values may have no other fields, which had a schema",
      `z.object({ tenant: z.any() }).catchall(z.string())`,
      `z.strictObject({ tenant: z.any() })`,
      [/^safe flow: another input.*, and fails with invalidInput if it does not fit; check cannot/],
    ],
    [
      "values may have other fields now",
      `z.strictObject({ tenant: z.any() })`,
      `z.looseObject({ tenant: z.any() })`,
      [/^safe flow: another input.*when it begins$/],
    ],
    [
      "a field has another type",
      `z.object({ tenant: z.string() })`,
      `z.object({ tenant: z.number() })`,
      [
        /^stops flow: input\.tenant has another schema: runs that have not begun fail with invalidInput, unless their value fits, and runs that have begun keep what they have; "told"/,
      ],
    ],
    ...[
      [`z.object({ tenant: z.enum(["a"]) })`, `z.object({ tenant: z.enum(["b", "a"]) })`],
      [`z.object({ tenant: z.string() })`, `z.object({ tenant: z.union([z.null(), z.string()]) })`],
      [`z.object({ tenant: z.string() })`, `z.object({ tenant: z.string().or(z.number()) })`],
      [`z.object({ tenant: z.string() })`, `z.object({ tenant: z.string().nullable() })`],
      [`z.object({ tenant: z.string().optional() })`, `z.object({ tenant: z.string().nullish() })`],
      [`z.object({ tenant: z.enum(["a"]) })`, `z.object({ tenant: z.enum(Kind) })`],
      [`z.object({ tenant: z.enum(Kind) })`, `z.object({ tenant: z.enum(Kinds) })`],
      [
        `z.object({ tenant: z.enum(["a", "b"]).default("a") })`,
        `z.object({ tenant: z.enum(["a", "b", "c"]).default("a") })`,
      ],
      [
        `v.object({ tenant: v.union(v.literal("a"), v.literal("b")) })`,
        `v.object({ tenant: v.union(v.literal("a"), v.literal("c"), v.literal("b")) })`,
      ],
    ].map(([before = "", now = ""]): [string, string, string, RegExp[]] => [
      `a field takes more: ${before}, then ${now}`,
      before,
      now,
      [/^safe flow: input\.tenant takes more now: runs that have begun keep what they have, and/],
    ]),
    [
      "a field takes other values",
      `z.object({ tenant: z.enum(["a", "b"]) })`,
      `z.object({ tenant: z.enum(["a", "c"]) })`,
      [/^stops flow: input\.tenant has another schema/],
    ],
    ...[
      [
        `a: z.string(), b: z.string().optional()`,
        /^safe flow: input\.tenant\.b is new: in runs that have begun it may be undefined, .*; "told" reads it$/,
      ],
      [
        `a: z.string().optional()`,
        /^safe flow: input\.tenant\.a was required before: .*; "told" reads it$/,
      ],
      [`a: z.string().describe("the a")`, /^safe flow: another input: .*when it begins$/],
      [`a: z.string(), b: z.string()`, /^stops flow: input\.tenant\.b is new and required: /],
      [`a: z.number()`, /^stops flow: input\.tenant\.a has another schema: /],
    ].flatMap(([fields, told]) =>
      ["", ".optional()", ".default({})", ".readonly()"].map(
        (around): [string, string, string, RegExp[]] => [
          `a field is an object, with ${around || "nothing"} around it: { ${String(fields)} }`,
          `z.object({ tenant: z.object({ a: z.string() })${around} })`,
          `z.object({ tenant: z.object({ ${String(fields)} })${around} })`,
          [told as RegExp],
        ],
      ),
    ),
    ...[
      [
        `v.array(v.object({ a: v.any() }))`,
        `v.array(v.object({ a: v.any(), b: v.optional(v.any()) }))`,
        /^safe flow: input\.tenant\[\]\.b is new/,
      ],
      [
        `v.object({ a: v.any(), b: v.any() })`,
        `v.object({ a: v.any() })`,
        /^stops flow: input\.tenant\.b is removed/,
      ],
      [
        `z.object({ a: z.any() }).array().optional()`,
        `z.array(z.strictObject({ a: z.any() })).optional()`,
        /^stops flow: input\.tenant\[\] takes no other fields now: runs that have not begun fail with invalidInput if theirs has any/,
      ],
      [
        `z.object({ a: z.object({ b: z.any() }) })`,
        `z.object({ a: z.object({ b: z.any(), c: z.any().default(1) }) })`,
        /^safe flow: input\.tenant\.a\.c is new: .*, though it has a default/,
      ],
      [
        `z.object({ a: z.object({ b: z.any() }) })`,
        `z.object({ a: z.object({ b: z.any() }).optional() }).optional()`,
        [/^safe flow: input\.tenant was required/, /^safe flow: input\.tenant\.a was required/],
      ],
      [
        `z.array(z.object({ a: z.any() }))`,
        `z.array(z.object({ a: z.any() })).min(1)`,
        /^stops flow: input\.tenant has another schema/,
      ],
      [
        `z.array(z.object({ a: z.any() }))`,
        `z.object({ a: z.any() })`,
        /^stops flow: input\.tenant has another schema/,
      ],
      [
        `z.object({ a: z.any() })`,
        `z.object({ a: z.any() }).refine(() => true)`,
        /^stops flow: input\.tenant has another schema/,
      ],
      [
        `z.object({ a: z.any() })`,
        `z.object({ a: z.any() }).transform((one) => one)`,
        /^stops flow: input\.tenant has another schema/,
      ],
      [
        `z.object({ a: z.any() })`,
        `z.object({ a: z.any() }).catchall(z.null())`,
        /^stops flow: input\.tenant has another schema/,
      ],
      [
        `Tree.extend({ a: z.string() })`,
        `Tree.extend({ a: z.number() })`,
        /^stops flow: input\.tenant\.a has another schema/,
      ],
      [
        `z.object({ constructor: z.object({ a: z.any() }) })`,
        `z.object({ constructor: z.object({ a: z.any(), b: z.any().default(1) }) })`,
        /^safe flow: input\.tenant\.constructor\.b is new/,
      ],
    ].map(([before, now, told]): [string, string, string, RegExp[]] => [
      `what is inside of a field is another: ${String(before)}, then ${String(now)}`,
      `z.object({ tenant: ${String(before)} })`,
      `z.object({ tenant: ${String(now)} })`,
      [told as RegExp | RegExp[]].flat(),
    ]),
    ...[
      [`z.object({ tenant: z.string().nullable() })`, `z.object({ tenant: z.string() })`],
      [`z.object({ tenant: z.string().nullish() })`, `z.object({ tenant: z.string().optional() })`],
      [`z.object({ tenant: z.enum(Kinds) })`, `z.object({ tenant: z.enum(Kind) })`],
      [`z.object({ tenant: z.enum(Counted) })`, `z.object({ tenant: z.enum(Kinds) })`],
    ].map(([before = "", now = ""]): [string, string, string, RegExp[]] => [
      `a field takes less: ${before}, then ${now}`,
      before,
      now,
      [/^stops flow: input\.tenant has another schema/],
    ]),
    ...[
      [`z.object({ tenant: z.string() })`, `z.object({ tenant: z.string().brand("T") })`],
      [`z.object({ tenant: z.string().readonly() })`, `z.object({ tenant: z.string() })`],
      [`z.object({ tenant: z.string() })`, `z.object({ tenant: z.readonly(z.string()) })`],
    ].map(([before = "", now = ""]): [string, string, string, RegExp[]] => [
      `only the type of a field is another: ${before}, then ${now}`,
      before,
      now,
      [/^safe flow: another input: /],
    ]),
    [
      "a field with a default, which nothing may change, is required",
      `z.object({ tenant: z.string().default("a").readonly() })`,
      `z.object({ tenant: z.string() })`,
      [/^safe flow: input\.tenant had a default before/],
    ],
    [
      "an optional field is required, of v.object",
      `v.object({ tenant: v.optional(v.string()) })`,
      `v.object({ tenant: v.string() })`,
      [/^stops flow: input\.tenant is required now/],
    ],
    [
      "a field with a default, which was filled in at the start, is required",
      `z.object({ tenant: z.string().default("a") })`,
      `z.object({ tenant: z.string() })`,
      [
        /^safe flow: input\.tenant had a default before: .* begins with the new schema, but fails with invalidInput if the field was not given beside one that is transformed; "told" reads it/,
      ],
    ],
    ...[
      `z.object({ tenant: z.string().catch("a").optional() })`,
      `z.object({ tenant: z.string().catch("a") }).partial()`,
      `z.object({ tenant: z.string().optional().catch("a") })`,
    ].map((before): [string, string, string, RegExp[]] => [
      `a field that nothing fills in, though it has a catch, is required: ${before}`,
      before,
      `z.object({ tenant: z.string() })`,
      [/^stops flow: input\.tenant is required now/],
    ]),
    [
      "a field with a default that another schema makes optional is required",
      `z.object({ tenant: z.object({ one: z.string().default("a") }).shape.one.optional() })`,
      `z.object({ tenant: z.string() })`,
      [/^safe flow: input\.tenant had a default before/],
    ],
    [
      "a required field is optional",
      `z.object({ tenant: z.string() })`,
      `z.object({ tenant: z.string().optional().describe("who") })`,
      [/^safe flow: input\.tenant was required before/],
    ],
    [
      "an optional field has a default",
      `z.object({ tenant: z.optional(z.string()) })`,
      `z.object({ tenant: z.string().default("a") })`,
      [/^safe flow: input\.tenant has a default now: in runs that have begun it may be undefined/],
    ],
    [
      "another default",
      `z.object({ tenant: z.string().default("a") })`,
      `z.object({ tenant: z.string().default("b") })`,
      [
        /^safe flow: another input: runs that have begun keep theirs, and a run that has not is parsed by the new schema when it begins$/,
      ],
    ],
    [
      "fields that cannot be seen",
      `z.object({ tenant: z.string() })`,
      `z.object({ tenant: z.string() }).transform((one) => one)`,
      [/^safe flow: another input.*; check cannot see all of its fields$/],
    ],
    ...[
      [`z.discriminatedUnion("k", [A, B, C])`, `z.discriminatedUnion("k", [A, C])`],
      [`z.union([A, B]).or(C)`, `z.union([A, B.extend({ n: z.number() })]).or(C)`],
      [`v.union(v.object({ a: v.string() }), VB, VC)`, `v.union(v.object({ a: v.string() }), VC)`],
    ].map(([before = "", now = ""]): [string, string, string, RegExp[]] => [
      `[S275] a schema of a union is gone: ${now}`,
      before,
      now,
      [
        /^stops flow: input has another schema in 1 of 3 cases: runs that have not begun fail with invalidInput, unless their value fits, and runs that have begun keep what they have$/,
      ],
    ]),
    [
      "[S275] a union takes more",
      `z.discriminatedUnion("k", [A, B])`,
      `z.discriminatedUnion("k", [A, B, C])`,
      [/^safe flow: another input.*when it begins$/],
    ],
    ...[
      [`z.union([A, B]).optional()`, `z.union([A, B, C]).optional()`],
      [`z.union([A, B])`, `z.optional(z.union([A, B]))`],
      [`z.union([A, B]).default({ k: "A" })`, `z.union([A, B]).nullish().readonly()`],
      [`z.enum(["a", "b"]).default("a")`, `z.enum(["a", "b", "c"]).default("b")`],
    ].map(([before = "", now = ""]): [string, string, string, RegExp[]] => [
      `[S266] a union with something around it takes more: ${now}`,
      before,
      now,
      [/^safe flow: another input.*when it begins$/],
    ]),
    ...[
      [`z.union([A, B]).optional()`, `z.union([A, C]).optional()`],
      [`z.union([A, B]).default({ k: "A" })`, `z.union([A, B])`],
      [`z.enum(["a", "b"]).nullable()`, `z.enum(["a", "b"]).optional()`],
    ].map(([before = "", now = ""]): [string, string, string, RegExp[]] => [
      `[S266] a union with something around it takes less: ${now}`,
      before,
      now,
      [/^stops flow: input has another schema in 1 of 3 cases: runs that have not begun fail/],
    ]),
    [
      "[S266] what is no union has something around it",
      `z.object({ a: z.string() }).optional()`,
      `z.object({ a: z.string(), b: z.string().optional() }).optional()`,
      [/^safe flow: another input.*, and fails with invalidInput if it does not fit; check cannot/],
    ],
    ...[`z.object({ a: z.string() })`, `z.object({ a: z.string() }).refine(() => true)`].map(
      (before): [string, string, string, RegExp[]] => [
        `[S275] another function refines it, after ${before}`,
        before,
        `z.object({ a: z.string() }).refine(({ a }) => a !== "").describe("all")`,
        [/^safe flow: another input.*, and fails with invalidInput if it does not fit; check/],
      ],
    ),
    ...[`z.object({ a: z.string() })`, `z.object({ a: z.string() }).refine(() => true)`].map(
      (before): [string, string, string, RegExp[]] => [
        `[S275] a function refines it, and a field is new, after ${before}`,
        before,
        `z.object({ a: z.string(), b: z.string().optional() }).refine(({ a }) => a !== "")`,
        [/^safe flow: input\.b is new: /, REFINED],
      ],
    ),
    [
      "[S275] no function refines it any more, and a field is new",
      `z.object({ a: z.string() }).refine(({ a }) => a !== "")`,
      `z.object({ a: z.string(), b: z.string().optional() })`,
      [/^safe flow: input\.b is new: /],
    ],
    [
      "[S275] no function refines it any more",
      `z.object({ a: z.string() }).refine(({ a }) => a !== "")`,
      `z.object({ a: z.string() })`,
      [/^safe flow: another input.*when it begins$/],
    ],
    [
      "[S275] what cannot be seen may be refused",
      `z.record(z.string(), z.string())`,
      `z.record(z.string(), z.number())`,
      [/^safe flow: another input.*, and fails with invalidInput if it does not fit; check cannot/],
    ],
    ...[
      [
        `z.array(z.object({ a: z.string() })).min(1)`,
        `z.array(z.object({ a: z.string(), b: z.string().optional() })).min(1)`,
      ],
      [
        `z.object({ a: z.string() }).array().min(1).max(9).default([])`,
        `z.object({ a: z.string(), b: z.string().optional() }).array().min(1).max(9).default([])`,
      ],
    ].map(([before = "", now = ""]): [string, string, string, RegExp[]] => [
      `[S275] an optional field is new inside a list of some length: ${now}`,
      `z.object({ items: ${before} })`,
      `z.object({ items: ${now} })`,
      [/^safe flow: input\.items\[\]\.b is new: /],
    ]),
    ...[
      [
        "z.object({ a: z.string() }).nullable()",
        "z.object({ a: z.string(), b: z.string().optional() }).nullable()",
      ],
      [
        "z.nullish(z.object({ a: z.string() }))",
        "z.nullish(z.object({ a: z.string(), b: z.string().optional() }))",
      ],
    ].map(([before = "", now = ""]): [string, string, string, RegExp[]] => [
      `[S275] an optional field is new inside what may be null: ${now}`,
      `z.object({ one: ${before} })`,
      `z.object({ one: ${now} })`,
      [/^safe flow: input\.one\.b is new: /],
    ]),
    [
      "[S275] it may not be null any more, and has a new field",
      `z.object({ one: z.object({ a: z.string() }).nullable() })`,
      `z.object({ one: z.object({ a: z.string(), b: z.string().optional() }) })`,
      [/^stops flow: input\.one has another schema/],
    ],
    [
      "[S275] a field inside a list is required now",
      `z.object({ items: z.array(z.object({ a: z.string().optional() })).min(1) })`,
      `z.object({ items: z.array(z.object({ a: z.string() })).min(1) })`,
      [/^stops flow: input\.items\[\]\.a is required now/],
    ],
    [
      "[S275] a list must be longer, in which a field is new",
      `z.object({ items: z.array(z.object({ a: z.string() })).min(1) })`,
      `z.object({ items: z.array(z.object({ a: z.string(), b: z.string().optional() })).min(2) })`,
      [/^stops flow: input\.items has another schema/],
    ],
    ...(
      [
        [
          "[A, B]",
          `[B, A.extend({ note: z.string().optional() })]`,
          /^safe flow: input\.one\.note is new: /,
        ],
        [
          "[A, B]",
          `[A.extend({ note: z.string() }), B, C]`,
          /^stops flow: input\.one\.note is new and required/,
        ],
        [
          "[A, B, C]",
          `[A, B.extend({ note: z.string().optional() })]`,
          /^stops flow: input\.one has another schema/,
        ],
        [
          "[A, B]",
          `[A.extend({ k: z.literal("D") }), B]`,
          /^stops flow: input\.one has another schema/,
        ],
        [
          "[A, B]",
          `[A.extend({ note: z.string().optional() }).refine(() => true), B]`,
          /^stops flow: input\.one has another schema/,
        ],
      ] as const
    ).map(([before, now, verdict]): [string, string, string, RegExp[]] => [
      `[S275] one schema of several with a tag is another: ${now}`,
      `z.object({ one: z.discriminatedUnion("k", ${before}) })`,
      `z.object({ one: z.discriminatedUnion("k", ${now}) })`,
      [verdict],
    ]),
    ...(
      [
        ["v.union(VA, VB)", "v.union(VA, More)", /^safe flow: input\.one\.note is new: /],
        [
          "v.union(v.null(), VB)",
          "v.union(v.null(), More)",
          /^safe flow: input\.one\.note is new: /,
        ],
        [
          "v.union(VA, VB, v.null())",
          "v.union(VA, More)",
          /^stops flow: input\.one has another schema/,
        ],
        ["v.union(VA, VB, VC)", "v.union(VA, More)", /^stops flow: input\.one has another schema/],
        [
          "v.union(VA, VB, v.string())",
          "v.union(VA, More, v.string())",
          /^stops flow: input\.one has another schema/,
        ],
        [
          "v.union(VA, VB)",
          "v.union(VA, v.object({ k: v.union(v.literal('B'), v.literal('A')), note: v.optional(v.string()) }))",
          /^stops flow: input\.one has another schema/,
        ],
      ] as const
    ).map(([before, now, verdict]): [string, string, string, RegExp[]] => [
      `[S275] one of several that a literal tells apart is another: ${now}`,
      `v.object({ one: ${before} })`,
      `v.object({ one: ${now} })`,
      [verdict],
    ]),
    ...(
      [
        [
          "z.union([A, B])",
          "z.union([B.extend({ note: z.string().optional() }), A, C])",
          /^safe flow: input\.one\.note is new: /,
        ],
        [
          "z.union([A, z.object({ n: z.number() })])",
          "z.union([A, z.object({ n: z.number(), note: z.string().optional() })])",
          /^stops flow: input\.one has another schema/,
        ],
        [
          `z.union([A, z.object({ k: z.literal(["A", "D"]) })])`,
          `z.union([A, z.object({ k: z.literal(["A", "D"]), note: z.string().optional() })])`,
          /^stops flow: input\.one has another schema/,
        ],
        [
          `z.union([A, B.partial()])`,
          `z.union([A, B.partial().extend({ note: z.string().optional() })])`,
          /^stops flow: input\.one has another schema/,
        ],
      ] as const
    ).map(([before, now, verdict]): [string, string, string, RegExp[]] => [
      `[S275] one of several is another: ${now}`,
      `z.object({ one: ${before} })`,
      `z.object({ one: ${now} })`,
      [verdict],
    ]),
    [
      "[S275] a field is new in one of several with a tag, in a list",
      `z.object({ all: z.array(z.discriminatedUnion("k", [A, B])).max(5).optional() })`,
      `z.object({ all: z.array(z.discriminatedUnion("k", [A, B.extend({ note: z.string().default("") })])).max(5).optional() })`,
      [/^safe flow: input\.all\[\]\.note is new: /],
    ],
    ...[
      [`z.literal("x")`, `z.literal(["x", "y"])`],
      [`z.literal("x").optional()`, `z.enum(["x", "y"]).optional()`],
      [`z.union([z.literal("x"), z.literal(1)])`, `z.literal(["x", 1, null])`],
    ].map(([before = "", now = ""]): [string, string, string, RegExp[]] => [
      `[S266] a literal takes more: ${now}`,
      `z.object({ one: ${before} })`,
      `z.object({ one: ${now} })`,
      [/^safe flow: (input\.one takes more now: |another input.*when it begins$)/],
    ]),
    ...[
      [`z.literal(["x", "y"])`, `z.literal("x")`],
      [`z.literal("x")`, `z.literal("y")`],
      [`z.literal("1")`, `z.literal(1)`],
    ].map(([before = "", now = ""]): [string, string, string, RegExp[]] => [
      `[S275] a literal is another: ${now}`,
      `z.object({ one: ${before} })`,
      `z.object({ one: ${now} })`,
      [/^stops flow: input\.one has another schema/],
    ]),
    ...["held.one", "held.in.two", "held.three", "z.object(held.fields)"].map(
      (now): [string, string, string, RegExp[]] => [
        `[S275] a field is new and required in a schema that an object holds: ${now}`,
        `z.object({})`,
        now,
        [/^stops flow: input\.size is new and required/],
      ],
    ),
    [
      "a schema that is given by name",
      `z.object({ tenant: z.string() })`,
      `whole`,
      [/^stops flow: input\.size is new and required/],
    ],
    [
      "the same",
      `z.object({ a: z.any(), tenant: z.any() })`,
      `z.object({ a: z.any(), tenant: z.any() })`,
      [],
    ],
  ])("[S145] %s", async (_what, before, now, verdict) => {
    const more = `${shared}\n${enums}\n${union}\n${noted}\nexport const whole = z.object({ tenant: z.string(), size: z.number() });
const three = z.object({ size: z.number() }); const held = { one: three.describe("one"), in: { two: three }, three, fields: { size: z.number() } } as const;`;
    expect(await verdicts(app(before, reads, "", more), app(now, reads, "", more))).toEqual(
      verdict.map((each) => expect.stringMatching(each)),
    );
  });

  test(
    "[S136] [S145] a start that waits goes on or fails as check says of what is inside its fields",
    { tags: ["large"] },
    async () => {
      const files = (more: string) => ({
        ...app(`z.object({ tenant: z.array(z.object({ a: z.string()${more} })) })`, reads),
        "later.ts": starts,
      });
      for (const [more, compatibility, output] of [
        [", b: z.number().default(1)", "safe", [{ a: "x", b: 1 }]],
        [", b: z.number()", "stops", undefined],
      ] as const) {
        const versions = await released(releases, files(""), files(more));
        const [{ compatibility: said }] = (await changesOf(files(""), files(more))) as [Change];
        const deployment = new Deployment(versions[0], versions);
        const input = { tenant: [{ a: "x" }] };
        const id = (await deployment.call("later:start", { input })) as string;
        deployment.deploy(versions[1]);
        await deployment.drive();
        expect(said).toBe(compatibility);
        expect(await deployment.see(id)).toMatchObject(
          output === undefined
            ? { state: "failed", error: { kind: "invalidInput" } }
            : { state: "completed", output },
        );
      }
    },
  );

  test(
    "[S136] [S145] a start that waits, with a field that is refused now, fails with invalidInput",
    { tags: ["large"] },
    async () => {
      const files = (input: string) => ({ ...app(input, reads), "later.ts": starts });
      const [before, now] = [files(`z.looseObject({})`), files(`z.strictObject({})`)];
      const versions = await released(releases, before, now);
      const deployment = new Deployment(versions[0], versions);
      const start = (input: object) => deployment.call("later:start", { input }) as Promise<string>;
      const ids = [await start({ other: 1 }), await start({})];
      deployment.deploy(versions[1]);
      await deployment.drive();
      expect(await deployment.seeAll(ids)).toMatchObject([
        { state: "failed", error: { kind: "invalidInput" } },
        { state: "completed" },
      ]);
    },
  );

  test(
    "[S139] [S145] a start that waits, without a field that had a default, fails beside a transform",
    { tags: ["large"] },
    async () => {
      const kid = (input: string) => ({
        "flow.workflow.ts": `
import { child, defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
export const kid = defineWorkflow({ input: z.object({ ${input} }) }).sleep("rest", "1h").step("told", { query: (_ctx, { input }) => input.a });
export const flow = defineWorkflow({ input: z.object({}) })
  .parent("kids", { children: () => [child(kid, { n: "1" }), child(kid, { n: "2" })], concurrency: 1, tolerate: "all",
    finalize: { query: (_ctx, { children }) => children.map((each) => each.ok ? each.output : each.error.kind) } });`,
      });
      const outputs = async (n: string) => {
        const [before, now] = [
          kid(`a: z.string().default("x"), n: ${n}`),
          kid(`a: z.string(), n: ${n}`),
        ];
        const [deployment, id] = await deployed(before, now, {}, "kids");
        await deployment.drive();
        return (await deployment.see(id)).output;
      };
      expect(await outputs("z.string()")).toEqual(["x", "x"]);
      expect(await outputs("z.string().transform(Number)")).toEqual([
        "invalidInput",
        "invalidInput",
      ]);
    },
  );

  test.each([
    ["with a default", `z.object({ tenant: z.string().default("acme") })`, {}, "none"],
    ["required", `z.object({ tenant: z.string() })`, {}, "none"],
  ])(
    "[S145] a run that has begun has nothing in a field that is new, %s",
    { tags: ["large"] },
    async (_what, now, input, output) => {
      const [deployment, id] = await deployed(
        app(`z.object({})`, reads),
        app(now, reads),
        input,
        "gate",
      );
      await deployment.drive();
      expect(await deployment.see(id)).toMatchObject({ state: "completed", output });
    },
  );

  test(
    "[S145] check names the nodes that read a field, and those that may read any",
    { tags: ["large"] },
    async () => {
      const nodes = `${GATE}
      .step("told", { query: (_ctx, { input: { tenant } }) => tenant ?? "none" })
      .step("other", { query: (_ctx, { input }) => input.url })
      .branch("way", { on: ({ input }) => (input.url ? "x" : "y"), cases: {
        x: (b) => b.step("asked", { query: (_ctx, scope) => scope.input.tenant ?? "none" }),
        y: (b) => b,
      } })
      .step("all", { query: (_ctx, { input, told, way }) => [told, way, Object.keys(input).length].join() })`;
      const [before, now] = [
        app(`z.object({ url: z.string() })`, nodes),
        app(`z.object({ url: z.string(), tenant: z.string().default("acme") })`, nodes),
      ];
      expect(await verdicts(before, now)).toEqual([
        expect.stringMatching(/; "told" and "way" read it; "all" reads the input$/),
      ]);
      const unread = app(
        `z.object({ url: z.string() })`,
        GATE + `.step("other", { query: (_ctx, { input }) => input.url })`,
      );
      const grown = app(
        `z.object({ url: z.string(), tenant: z.string() })`,
        GATE + `.step("other", { query: (_ctx, { input }) => input.url })`,
      );
      expect(await verdicts(unread, grown)).toEqual([
        expect.stringMatching(
          /^stops flow: input\.tenant is new and required: .*in runs that have begun it may be undefined$/,
        ),
      ]);
      const [deployment, id] = await deployed(before, now, { url: "u" }, "gate");
      await deployment.drive();
      expect(await deployment.see(id)).toMatchObject({ output: "none,none,1" });
    },
  );

  test.each([
    [`{ tenant: ({ input }) => input.org.id }`, true],
    [`["exports", { tenant: ({ input }) => input.org.id }]`, true],
    [`["exports"]`, false],
  ])(
    "[S145] [S196] check says that the keys of a workflow's limits read a field that is new: %s",
    { tags: ["large"] },
    async (limits, isKeyed) => {
      const given = (input: string, options: string): Files => ({
        ...app(input, `${GATE}.step("act", { action: () => 1 })`, options),
        "stepwise.config.ts": `
import { defineConfig } from "@stepwise/workflow";
export default defineConfig({ limits: { tenant: { perKey: 1 }, exports: { total: 1 } } });`,
      });
      const before = given(`z.object({})`, "");
      const org = `z.object({ org: z.object({ id: z.string() }).default({ id: "acme" }) })`;
      const now = given(org, `, limits: ${limits}`);
      const told = (await verdicts(before, now)).find((each) => each.includes("input.org is new"));
      expect(told?.endsWith("; the keys of its limits read the input")).toBe(isKeyed);
      const [deployment, id] = await deployed(before, now, {}, "gate");
      await deployment.drive();
      expect(await deployment.see(id)).toMatchObject(
        isKeyed ? { state: "failed", error: { node: "act" } } : { state: "completed" },
      );
    },
  );

  test(
    "[S145] a run that has begun keeps the value of a field that has another type or is removed",
    { tags: ["large"] },
    async () => {
      const before = app(`z.object({ tenant: z.string() })`, reads);
      for (const now of [`z.object({ tenant: z.number() })`, `z.strictObject({})`]) {
        const [deployment, id] = await deployed(before, app(now, reads), { tenant: "a" }, "gate");
        await deployment.drive();
        expect(await deployment.see(id)).toMatchObject({ state: "completed", output: "a" });
      }
    },
  );
});

describe("what is sensitive", () => {
  test.each([
    ["added", "hidden", "", `, sensitive: true`, { first: undefined, last: true }],
    ["removed", "shown", `, sensitive: true`, "", { first: true, last: undefined }],
  ])(
    "[S276] sensitive: true is %s: what later nodes give is %s, and check says so",
    { tags: ["large"] },
    async (what, then, was, is, hidden) => {
      const of = (options: string) => {
        const nodes = `.step("first", { query: () => 1 })${GATE}.step("last", { query: () => 2 })`;
        return app(`z.object({})`, nodes, options);
      };
      expect(await verdicts(of(was), of(is))).toEqual([
        `safe flow: \`sensitive: true\` is ${what}: runs that were started before show as much of their input as they did, and what the nodes give that they come to from now on is ${then}`,
      ]);
      const [deployment, runId] = await deployed(of(was), of(is), {}, "gate");
      await deployment.drive();
      const { page } = await deployment.ask<{ page: { node: string; isSensitive?: boolean }[] }>(
        "steps",
        { name: "flow", runId },
      );
      const seen = new Map(page.map(({ node, isSensitive }) => [node, isSensitive]));
      expect({ first: seen.get("first"), last: seen.get("last") }).toEqual(hidden);
    },
  );

  test.each([
    ["added", "", `, sensitive: ["input.k"]`, /^The message is not shown/],
    ["removed", `, sensitive: ["input.k"]`, "", /^It is k$/],
  ])(
    "[S276] a sensitive path is %s: messages follow it at once, and check says so",
    async (_what, was, is, message) => {
      const of = (options: string) => {
        const bad = `.sleep("bad", ({ input }) => { throw new Error("It is " + input.k); })`;
        return app(`z.object({ k: z.string() })`, `${GATE}${bad}`, options);
      };
      expect(await verdicts(of(was), of(is))).toEqual([
        expect.stringMatching(/paths of `sensitive`, by which messages are hidden at once$/),
      ]);
      const [deployment, runId] = await deployed(of(was), of(is), { k: "k" }, "gate");
      await deployment.drive();
      expect((await deployment.see(runId)).error?.message).toMatch(message);
    },
  );
});

describe("events and states", () => {
  const asks = (events: string) =>
    `.event("ask", { anyOf: { ${events} } }).step("told", { query: (_ctx, { ask }) => ask.name })`;
  const both = app(`z.object({})`, asks("paid: z.string(), refunded: z.string()"));
  const one = app(`z.object({})`, asks("paid: z.string()"));

  test("[S145] of events that another file gives, check says that it does not see them", async () => {
    const events = (more: string): Files => ({
      "events.ts": `import { z } from "zod"; export const events = { a: z.string(), ${more} };`,
      ...app(
        "z.object({})",
        `.event("ask", { anyOf: events })`,
        "",
        `import { events } from "./events";`,
      ),
    });
    expect(await verdicts(events("b: z.null()"), events(""))).toContainEqual(
      expect.stringMatching(
        /^safe ask: check cannot see all of its events: whoever sends one that is gone, or/,
      ),
    );
    expect(await verdicts(events("b: z.null()"), events("b: z.null(),"))).toEqual([]);
  });

  test("[S145] an event leaves anyOf: whoever sends it gets an error, and the run waits for the others", async () => {
    expect(await verdicts(both, one)).toContainEqual(
      expect.stringMatching(
        /^safe ask: the event "refunded" is not taken here any more: runs wait for "paid", and whoever sends it gets an error$/,
      ),
    );
    expect(await verdicts(one, both)).toEqual([expect.stringMatching(/^safe ask: changed/)]);
    const [deployment, runId] = await deployed(both, one, {}, "ask");
    const send = (event: string) =>
      deployment.call("send", { name: "flow", runId, event, value: "all" });
    await expect(send("refunded")).rejects.toThrow("No node of workflow");
    expect(await send("paid")).toBe("taken");
    expect(await deployment.see(runId)).toMatchObject({ state: "completed", output: "paid" });
  });

  test("[S145] an event's node is renamed: whoever sends the old name gets an error", async () => {
    const node = (name: string) => `.event("${name}", { schema: z.string() })`;
    const before = app(`z.object({})`, node("ask"));
    const now = app(`z.object({})`, node("question"), `, renamed: { ask: "question" }`);
    expect(await verdicts(before, now)).toContainEqual(
      expect.stringMatching(
        /^safe question: the event "ask" is not taken here any more.*gets an error$/,
      ),
    );
    const [deployment, runId] = await deployed(before, now, {}, "ask");
    await expect(
      deployment.call("send", { name: "flow", runId, event: "ask", value: "x" }),
    ).rejects.toThrow("No node of workflow");
  });

  const another = (what: string, readers = "") =>
    expect.stringMatching(
      new RegExp(
        `^safe ask: ask has another schema${what}: runs that are past it keep what they took, and unless it fits, whoever sends it as before gets an error, and a run that has kept one fails here${readers}$`,
      ),
    );
  const asking = (schema: string, more = "") =>
    app(
      `z.object({})`,
      `${GATE}.event("ask", { schema: ${schema} }).step("told", { query: (_ctx, { ask }) => ask })`,
      "",
      more,
    );

  test.each([
    [`z.string()`, `z.number()`, ""],
    [`z.enum(["a", "b"])`, `z.enum(["a"])`, " in 1 of 2 cases"],
    [`z.literal(["a", "b"])`, `z.literal(["b"])`, " in 1 of 2 cases"],
    [`z.object({ k: z.string() })`, `z.string()`, ""],
    [`z.string()`, `z.object({ k: z.string() })`, ""],
    [`z.object({ k: z.string() })`, `z.object({ k: z.string() }).refine(({ k }) => k !== "")`, ""],
    [`z.string().refine((k) => k !== "")`, `z.string().refine((k) => k !== "-")`, ""],
    [`v.union(v.string(), v.null())`, `v.union(v.string())`, " in 1 of 2 cases"],
    [`z.array(z.string()).describe("all")`, `z.array(z.number())`, ""],
  ])(
    "[S275] check says what comes of an event that takes %s and then %s",
    async (was, is, what) => {
      expect(await verdicts(asking(was), asking(is))).toContainEqual(
        another(what, '; "told" reads it'),
      );
    },
  );

  test("[S275] an event's field has no default any more: who sends it without one gets an error", async () => {
    const was = asking(`z.object({ k: z.string().default("k") })`);
    expect(await verdicts(was, asking(`z.object({ k: z.string() })`))).toContainEqual(
      expect.stringMatching(
        /^safe ask: ask\.k had a default before: .*, and unless it fits, whoever sends it as before gets an error/,
      ),
    );
  });

  test("[S275] an event's schema is refined, and has a new field: it may refuse what it took", async () => {
    const was = asking(`z.object({ k: z.string() })`);
    const is = asking(
      `z.object({ k: z.string(), n: z.number().optional() }).refine(({ k }) => k !== "")`,
    );
    expect(await verdicts(was, is)).toContainEqual(
      expect.stringMatching(
        /^safe ask: ask is refined by a function, which check does not compare: runs that are past it keep what they took, and unless it fits, whoever sends it as before gets an error/,
      ),
    );
  });

  test.each([
    [`z.enum(["a"])`, `z.enum(["a", "b"])`],
    [`z.string()`, `z.string().describe("all")`],
    [`z.union([z.string(), z.null()])`, `z.null().or(z.string())`],
  ])("[S275] an event that took %s and takes %s refuses nothing", async (was, is) => {
    expect(await verdicts(asking(was), asking(is))).toEqual([
      expect.stringMatching(/^safe ask: changed/),
    ]);
  });

  test("[S275] an event is refused by another schema, and fails a run that has kept it", async () => {
    const [deployment, runId] = await deployed(asking(`z.string()`), asking(`z.number()`));
    const send = (value: unknown) =>
      deployment.call("send", { name: "flow", runId, event: "ask", value });
    await expect(send("a")).rejects.toThrow("does not fit its schema");
    deployment.deploy(await releases.release(asking(`z.string()`)));
    await send("a");
    deployment.deploy(await releases.release(asking(`z.number()`), asking(`z.string()`)));
    await deployment.drive();
    expect(await deployment.see(runId)).toMatchObject({
      state: "failed",
      error: { kind: "invalidInput", node: "ask" },
    });
  });

  test("[S275] a loop's state has another schema: an iteration that has begun keeps its own", async () => {
    const loop = (schema: string) =>
      app(
        `z.object({})`,
        `.loop("turn", { state: ${schema}, initial: () => 1, body: (b) => b.step("x", { query: () => 1 }), until: () => true, maxIterations: 3 })`,
      );
    expect(await verdicts(loop(`z.string()`), loop(`z.number()`))).toContain(
      'safe turn: state has another schema: an iteration that has begun keeps the state that it has; "turn" reads it',
    );
  });

  test("[S275] a schema that a file has as its default export is compared too", async () => {
    const files = (schema: string): Files => ({
      ...app(`given`, GATE, "", `import given from "./given";`),
      "given.ts": `import { z } from "zod";\nexport default z.object({ a: ${schema} });`,
    });
    expect(await verdicts(files(`z.string()`), files(`z.number()`))).toEqual([
      expect.stringMatching(/^stops flow: input\.a has another schema/),
    ]);
  });

  test("[S145] an event takes no other fields now: who sends some gets an error", async () => {
    const nodes = (kind: string) => `.event("ask", { schema: z.${kind}({ a: z.string() }) })`;
    const before = app(`z.object({})`, nodes("looseObject"));
    const now = app(`z.object({})`, nodes("strictObject"));
    expect(await verdicts(before, now)).toContainEqual(
      expect.stringMatching(
        /^safe ask: ask takes no other fields now: .*unless it fits, whoever sends it as before gets an error/,
      ),
    );
  });

  test("[S145] a field of an event or of a loop's state is new: its readers are named", async () => {
    const nodes = (field: string) =>
      `.event("ask", { schema: z.object({ a: z.string()${field} }) })${GATE}.step("told", { query: (_ctx, { ask }) => ask.b ?? "none" })`;
    const before = app(`z.object({})`, nodes(""));
    const now = app(`z.object({})`, nodes(`, b: z.string()`));
    expect(await verdicts(before, now)).toContainEqual(
      expect.stringMatching(
        /^safe ask: ask\.b is new and required: runs that are past it keep what they took, and unless it fits, whoever sends it as before gets an error, and a run that has kept one fails here; "told" reads it$/,
      ),
    );
    const [deployment, runId] = await deployed(before, now, {}, "ask");
    const send = (value: object) =>
      deployment.call("send", { name: "flow", runId, event: "ask", value });
    await expect(send({ a: "x" })).rejects.toThrow("does not fit its schema");
    const loop = (field: string) =>
      `.loop("turn", { state: z.object({ n: z.number()${field} }), initial: () => ({ n: 1, m: 1 }), body: (b) => b.step("x", { query: () => ({ n: 1, m: 1 }) }), until: () => true, maxIterations: 3 })`;
    expect(
      await verdicts(app(`z.object({})`, loop("")), app(`z.object({})`, loop(`, m: z.number()`))),
    ).toContainEqual(
      expect.stringMatching(
        /^safe turn: state\.m is new and required: an iteration that has begun keeps the state/,
      ),
    );
  });
});

describe("the workflow's retry", () => {
  const RETRY = `, retry: { maxAttempts: 4, initialBackoffMs: 3_600_000, base: 1 }`;
  const nodes = `.step("x", { action: () => { throw new Error("again"); } }).step("own", { action: () => 1, retry: false }).step("q", { query: () => 1 })`;
  const before = app(`z.object({})`, nodes, RETRY);

  test("[S146] it is removed: a run that waits for its next attempt fails at that, and check names the nodes", async () => {
    const now = app(`z.object({})`, nodes);
    expect(await verdicts(before, now)).toEqual([
      'safe flow: the retry is removed: it holds for "x", also in runs that wait for their next attempt, which then fail or go on by it',
    ]);
    const [deployment, id] = await deployed(before, now, {}, "x");
    await deployment.drive();
    expect(await deployment.see(id)).toMatchObject({ state: "failed", error: { attempt: 2 } });
  });

  test(
    "[S146] it is another one: that holds for a run that waits for its next attempt",
    { tags: ["large"] },
    async () => {
      const now = app(`z.object({})`, nodes, RETRY.replace("4", "3"));
      expect(await verdicts(before, now)).toEqual([
        expect.stringMatching(/^safe flow: another retry: it holds for "x",/),
      ]);
      const [deployment, id] = await deployed(before, now, {}, "x");
      await deployment.drive();
      expect(await deployment.see(id)).toMatchObject({ state: "failed", error: { attempt: 3 } });
    },
  );

  test.each(["query", "mutation"])(
    "[S146] an action that waits for its next attempt is a %s now: the run goes on, and check says so",
    { tags: ["large"] },
    async (kind) => {
      const was = `.step("x", { action: () => { throw new Error("again"); }, retry: { maxAttempts: 4, initialBackoffMs: 3_600_000, base: 1 } })`;
      const texts = [
        app(`z.object({})`, was),
        app(`z.object({})`, `.step("x", { ${kind}: () => 1 })`),
      ] as const;
      expect(await verdicts(...texts)).toEqual([
        expect.stringMatching(/^safe x: changed: runs in flight go on.*; an action that runs ends/),
      ]);
      const [deployment, id] = await deployed(...texts, {}, "x");
      await deployment.drive();
      expect(await deployment.see(id)).toMatchObject({ state: "completed", output: 1 });
    },
  );
});

describe("parents and waits", () => {
  const parent = (handler: string) =>
    `.parent("p", { ${handler}children: () => [child(kid, {})], finalize: { query: () => "done" } })`;

  test.each([
    ["query", "query: () => 1, "],
    ["mutation of its own transaction", "mutation: () => 1, isolate: true, "],
  ])(
    "[S115] a parent's %s handler is removed: no run stops",
    { tags: ["large"] },
    async (_what, handler) => {
      const without = (handler: string, first = "") => app(`z.object({})`, first + parent(handler));
      const texts = [without(handler), without("")] as const;
      expect(await verdicts(...texts)).toEqual([
        expect.stringMatching(/^safe p: changed: runs in/),
      ]);
      const [unbegun, id] = await deployed(...texts);
      expect((await unbegun.see(id)).active).toMatchObject([{ node: "p.output" }]);
      await unbegun.drive();
      expect(await unbegun.see(id)).toMatchObject({
        state: "completed",
        output: "done",
        active: [],
      });
      const [deployment, other] = await deployed(...texts, {}, "p");
      await deployment.drive();
      expect(await deployment.see(other)).toMatchObject({ state: "completed", output: "done" });
      const later = [without(handler, GATE), without("", GATE)] as const;
      expect(await verdicts(...later)).toEqual([expect.stringMatching(/^safe p:/)]);
      const [gated, third] = await deployed(...later, {}, "gate");
      await gated.drive();
      expect(await gated.see(third)).toMatchObject({ state: "completed", output: "done" });
    },
  );

  test.each([
    [`.sleep("x", "1h")`, `.sleep("x", "2h")`],
    [`.sleep("x", "1h")`, `.sleep("x", () => "2h")`],
    [`.event("x", { schema: z.string(), timeout: "1h" })`, `.event("x", { schema: z.string() })`],
    [`.parent("x", { timeout: "1h", children: () => [] })`, `.parent("x", { children: () => [] })`],
    [`.event("x", { schema: z.string() })`, `.event("x", { schema: z.string(), timeout: "1h" })`],
  ])("[S145] a wait that has begun keeps its time: %s is %s now", async (before, now) => {
    expect(await verdicts(app(`z.object({})`, before), app(`z.object({})`, now))).toEqual([
      expect.stringMatching(/^safe x: changed: .*; a wait that has begun keeps its time$/),
    ]);
  });

  test("[S145] check cannot see if an event whose timeout is not written out has one", async () => {
    const event = (match: string) => `.event("x", { schema: z.string(), match: ${match} })`;
    const [before, now] = [event(`() => true`), event(`(sent) => sent !== ""`)];
    expect(await verdicts(app(`z.object({})`, before), app(`z.object({})`, now))).toEqual([
      expect.stringMatching(/; a wait that has begun keeps its timeout, if it has one$/),
    ]);
  });
});
