import type { TestConvex } from "convex-test";
import type { GenericSchema, SchemaDefinition } from "convex/server";

/** convex-test's `t` for an app whose schema is only known at run time. */
export type AppTest = TestConvex<SchemaDefinition<GenericSchema, boolean>>;

export type AppSchema = SchemaDefinition<GenericSchema, boolean>;
