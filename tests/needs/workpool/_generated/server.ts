import {
  type ActionBuilder,
  type DataModelFromSchemaDefinition,
  type GenericMutationCtx,
  internalActionGeneric,
  internalMutationGeneric,
  type MutationBuilder,
} from "convex/server";
import type schema from "../schema.js";

type DataModel = DataModelFromSchemaDefinition<typeof schema>;

export type MutationCtx = GenericMutationCtx<DataModel>;
export const internalMutation: MutationBuilder<DataModel, "internal"> = internalMutationGeneric;
export const internalAction: ActionBuilder<DataModel, "internal"> = internalActionGeneric;
