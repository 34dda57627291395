import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { GenericValidator, Infer } from "convex/values";

/** What `input` takes: any Standard Schema (zod, valibot, arktype …), or a Convex validator. */
export type AnySchema = StandardSchemaV1 | GenericValidator;

/** What `workflow.start` takes for it. */
export type InferInput<Schema> = Schema extends StandardSchemaV1
  ? StandardSchemaV1.InferInput<Schema>
  : Schema extends GenericValidator
    ? Infer<Schema>
    : never;

/** What handlers see of it: parsed, with defaults and transformations. */
export type InferOutput<Schema> = Schema extends StandardSchemaV1
  ? StandardSchemaV1.InferOutput<Schema>
  : Schema extends GenericValidator
    ? Infer<Schema>
    : never;
