import type { GenericValidator, Value } from "convex/values";

/** As far as it is used of JSON Schema. */
interface JsonSchema {
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly enum?: readonly Value[];
  readonly const?: Value;
  readonly default?: Value;
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
}

/** What Standard JSON Schema adds to a schema: zod has it from 4.2 on. */
interface DescribesItself {
  readonly "~standard"?: {
    readonly jsonSchema?: { input(options: { target: "draft-2020-12" }): JsonSchema };
  };
}

/**
 * An input of a schema's form with empty values, for somebody to fill in; `{}` where the schema does
 * not tell its form.
 */
export function exampleInput(schema: unknown): Value {
  const { "~standard": standard } = schema as DescribesItself;
  try {
    if (standard === undefined) return ofValidator(schema as GenericValidator);
    return ofJsonSchema(standard.jsonSchema?.input({ target: "draft-2020-12" }) ?? {}) ?? {};
  } catch {
    // A schema with a transformation, say, cannot be told as JSON Schema.
    return {};
  }
}

function ofJsonSchema(schema: JsonSchema): Value {
  const [first] = schema.enum ?? schema.anyOf ?? schema.oneOf ?? [];
  const known = schema.const ?? schema.default;
  if (known !== undefined) return known;
  if (schema.enum !== undefined) return first as Value;
  if (first !== undefined) return ofJsonSchema(first as JsonSchema);
  const type = typeof schema.type === "string" ? schema.type : schema.type?.[0];
  switch (type) {
    case "string":
      return "";
    case "number":
    case "integer":
      return 0;
    case "boolean":
      return false;
    case "array":
      return [];
    case "null":
      return null;
    default:
      return ofFields(schema.properties ?? {}, (name) => schema.required?.includes(name) === true);
  }
}

function ofFields(
  fields: Readonly<Record<string, JsonSchema>>,
  isWanted: (name: string) => boolean,
) {
  const wanted = Object.entries(fields).filter(([name]) => isWanted(name));
  return Object.fromEntries(wanted.map(([name, each]) => [name, ofJsonSchema(each)]));
}

function ofValidator(validator: GenericValidator): Value {
  switch (validator.kind) {
    case "string":
    case "id":
      return "";
    case "float64":
      return 0;
    case "int64":
      return 0n;
    case "boolean":
      return false;
    case "array":
      return [];
    case "literal":
      return validator.value as Value;
    case "union":
      return validator.members[0] === undefined ? null : ofValidator(validator.members[0]);
    case "object":
      return Object.fromEntries(
        Object.entries(validator.fields as Record<string, GenericValidator>)
          .filter(([, field]) => field.isOptional === "required")
          .map(([name, field]) => [name, ofValidator(field)]),
      );
    default:
      return {};
  }
}
