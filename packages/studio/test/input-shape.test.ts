import { v } from "convex/values";
import { expect, test } from "vitest";
import { z } from "zod";
import { exampleOf, shapeOf } from "../src/input-shape.js";

const text = { kind: "string" };
const field = (name: string, shape: object) => ({ name, shape, isOptional: false });

test.each([
  ["a text or null", z.string().nullable(), { kind: "other", example: "" }],
  ["one of some texts or null", z.enum(["a"]).nullable(), { kind: "choice", values: ["a", null] }],
  [
    "a bigint beside a text",
    z.object({ count: z.bigint(), name: z.string() }),
    { kind: "object", fields: [field("count", { kind: "int64" }), field("name", text)] },
  ],
  [
    "what JSON Schema cannot say beside a text",
    z.object({ at: z.custom<Date>(), name: z.string().transform((name) => name.length) }),
    {
      kind: "object",
      fields: [field("at", { kind: "other", example: {} }), field("name", text)],
    },
  ],
  ["fields without a name", z.record(z.string(), z.number()), { kind: "other", example: {} }],
  [
    // A form would leave them out.
    "fields with a name and others",
    z.looseObject({ a: z.string() }),
    { kind: "other", example: { a: "" } },
  ],
  [
    "the same fields alone",
    z.strictObject({ a: z.string() }),
    { kind: "object", fields: [field("a", text)] },
  ],
  ["texts", z.array(z.string()), { kind: "lines", of: "string" }],
  ["integers", v.array(v.int64()), { kind: "lines", of: "int64" }],
  ["lists", v.array(v.array(v.string())), { kind: "other", example: [] }],
  [
    "ids of a table",
    v.object({ files: v.array(v.id("_storage")) }),
    {
      kind: "object",
      fields: [{ ...field("files", { kind: "lines", of: "string" }), about: "ids of _storage" }],
    },
  ],
  ["bytes", v.bytes(), { kind: "other", example: new ArrayBuffer() }],
])("the form of %s asks for what the schema takes", (_what, schema, shape) => {
  expect(shapeOf(schema)).toEqual(shape);
});

test("an example has a value for each field that must be there, also for those inside", () => {
  const address = z.object({ street: z.string(), floor: z.number().optional() });
  const schema = z.object({ to: address, from: address.optional(), stamps: z.bigint() });
  expect(exampleOf(shapeOf(schema))).toEqual({ to: { street: "" }, stamps: 0n });
});
