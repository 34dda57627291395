import type { GenericValidator, Value } from "convex/values";

/** What a form asks for. `other` is edited as JSON. */
export type Shape =
  | { readonly kind: "string" | "number" | "int64" | "boolean" }
  | { readonly kind: "choice"; readonly values: readonly Value[] }
  /** Each line of its field is an item. */
  | { readonly kind: "lines"; readonly of: "string" | "number" | "int64" }
  | { readonly kind: "object"; readonly fields: readonly Field[] }
  | { readonly kind: "other"; readonly example: Value };

export interface Field {
  readonly name: string;
  readonly shape: Shape;
  readonly isOptional: boolean;
  /** What its schema says of it, such as the table of an id. */
  readonly about?: string;
}

/** The part of JSON Schema that is used. */
interface JsonSchema {
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly items?: JsonSchema;
  readonly required?: readonly string[];
  readonly enum?: readonly Value[];
  readonly const?: Value;
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly additionalProperties?: unknown;
}

/** What Standard JSON Schema adds to a schema: zod has it from 4.2 on. */
interface DescribesItself {
  readonly "~standard"?: {
    readonly jsonSchema?: { input(options: typeof STANDARD): JsonSchema };
  };
}

/** What JSON Schema has no form for, zod leaves open; but a bigint is Convex's int64. */
const STANDARD = {
  target: "draft-2020-12",
  libraryOptions: {
    unrepresentable: "any",
    override: ({ zodSchema, jsonSchema }: ZodOverride) => {
      if (zodSchema._zod.def.type === "bigint")
        Object.assign(jsonSchema, { type: "integer", format: "int64" });
    },
  },
} as const;

/** What zod calls for each schema. */
interface ZodOverride {
  readonly zodSchema: { readonly _zod: { readonly def: { readonly type: string } } };
  readonly jsonSchema: object;
}

/** Any JSON. */
export const unknown: Shape = { kind: "other", example: {} };

/** The form of a workflow's input; any JSON if the schema does not tell its form. */
export function shapeOf(schema: unknown): Shape {
  try {
    const { "~standard": standard } = schema as DescribesItself;
    if (standard === undefined) return ofValidator(schema as GenericValidator);
    return ofJsonSchema(standard.jsonSchema?.input(STANDARD) ?? {});
  } catch {
    // Some libraries refuse what cannot be written as JSON Schema.
    return unknown;
  }
}

/** An input of a form with empty values, to be filled in. */
export function exampleOf(shape: Shape): Value {
  switch (shape.kind) {
    case "string":
      return "";
    case "number":
      return 0;
    case "int64":
      return 0n;
    case "boolean":
      return false;
    case "choice":
      return shape.values[0] ?? null;
    case "object": {
      const wanted = shape.fields.filter(({ isOptional }) => !isOptional);
      return Object.fromEntries(wanted.map((each) => [each.name, exampleOf(each.shape)]));
    }
    case "lines":
      return [];
    case "other":
      return shape.example;
  }
}

function ofJsonSchema(schema: JsonSchema): Shape {
  if (schema.const !== undefined) return { kind: "choice", values: [schema.const] };
  if (schema.enum !== undefined) return { kind: "choice", values: schema.enum };
  const members = schema.anyOf ?? schema.oneOf;
  if (members !== undefined) return unionOf(members.map(ofJsonSchema));
  const { type } = schema;
  if (typeof type === "object")
    return unionOf(type.map((each) => ofJsonSchema({ ...schema, type: each })));
  switch (type) {
    case "string":
    case "boolean":
    case "number":
      return { kind: type };
    case "integer":
      return { kind: schema.format === "int64" ? "int64" : "number" };
    case "null":
      return { kind: "choice", values: [null] };
    case "array":
      return listOf(schema.items === undefined ? unknown : ofJsonSchema(schema.items));
  }
  const { properties, required = [] } = schema;
  if (properties === undefined) return unknown;
  const shape = objectOf(
    Object.entries(properties).map(([name, each]) => ({
      name,
      shape: ofJsonSchema(each),
      isOptional: !required.includes(name),
      ...(each.description === undefined ? {} : { about: each.description }),
    })),
  );
  // A form would leave out fields that the schema takes but does not name.
  const { additionalProperties: isOpen = false } = schema;
  return isOpen === false ? shape : { kind: "other", example: exampleOf(shape) };
}

function ofValidator(validator: GenericValidator): Shape {
  switch (validator.kind) {
    case "string":
    case "id":
      return { kind: "string" };
    case "float64":
      return { kind: "number" };
    case "int64":
    case "boolean":
      return { kind: validator.kind };
    case "null":
      return { kind: "choice", values: [null] };
    case "literal":
      return { kind: "choice", values: [validator.value as Value] };
    case "array":
      return listOf(ofValidator(validator.element));
    case "bytes":
      return { kind: "other", example: new ArrayBuffer() };
    case "union":
      return unionOf(validator.members.map(ofValidator));
    case "object":
      return objectOf(
        Object.entries(validator.fields as Record<string, GenericValidator>).map(
          ([name, each]) => ({
            name,
            shape: ofValidator(each),
            isOptional: each.isOptional === "optional",
            ...aboutOf(each),
          }),
        ),
      );
    default:
      return unknown;
  }
}

/** Says of which table an id is, or the ids of a list are. */
function aboutOf(validator: GenericValidator): Pick<Field, "about"> {
  if (validator.kind === "id") return { about: `id of ${validator.tableName}` };
  if (validator.kind !== "array" || validator.element.kind !== "id") return {};
  return { about: `ids of ${validator.element.tableName}` };
}

/** Lists of other things are edited as JSON. */
const listOf = ({ kind }: Shape): Shape =>
  kind === "string" || kind === "number" || kind === "int64"
    ? { kind: "lines", of: kind }
    : { kind: "other", example: [] };

/** Literals are a choice. Of other unions a form cannot ask. */
function unionOf(members: readonly Shape[]): Shape {
  const values = members.flatMap((each) => (each.kind === "choice" ? [each.values] : []));
  if (values.length === members.length) return { kind: "choice", values: values.flat() };
  return { kind: "other", example: exampleOf(members[0] ?? unknown) };
}

/** Convex refuses other names, in whatever holds them. */
const FIELD_NAME = /^(?![$_])[ -~]+$/;

const objectOf = (fields: readonly Field[]): Shape =>
  fields.every(({ name }) => FIELD_NAME.test(name)) ? { kind: "object", fields } : unknown;
