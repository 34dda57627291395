import { type DataModelFromSchemaDefinition, defineSchema, defineTable } from "convex/server";
import { v } from "convex/values";

const schema = defineSchema({
  emails: defineTable({ address: v.string(), attempts: v.number() }).index("by_address", [
    "address",
  ]),
  outcomes: defineTable({ label: v.string(), kind: v.string(), value: v.any() }),
});
export default schema;
export type DataModel = DataModelFromSchemaDefinition<typeof schema>;
