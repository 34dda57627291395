import type { TestConvex } from "convex-test";
import type { GenericSchema, SchemaDefinition } from "convex/server";

/** convex-test's `t` for an app whose schema is only known at run time. */
export type LocalTest = TestConvex<SchemaDefinition<GenericSchema, boolean>>;

export type LocalSchema = SchemaDefinition<GenericSchema, boolean>;
