import type { ActionBuilder, MutationBuilder, QueryBuilder } from "convex/server";
import type { DataModel } from "./dataModel.js";

export declare const internalAction: ActionBuilder<DataModel, "internal">;
export declare const internalMutation: MutationBuilder<DataModel, "internal">;
export declare const internalQuery: QueryBuilder<DataModel, "internal">;
