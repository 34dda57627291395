import type { Doc, Id } from "../_generated/dataModel.js";

export type { Doc, Id } from "../_generated/dataModel.js";
export type { MutationCtx, QueryCtx } from "../_generated/server.js";
export type Run = Doc<"runs">;
export type RunId = Id<"runs">;
export type Step = Doc<"steps">;
export type StepId = Id<"steps">;
