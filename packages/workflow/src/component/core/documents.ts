import type { Doc, Id } from "../_generated/dataModel.js";

/* Short names of the documents that nearly everything is about: runs and step records. */

export type Run = Doc<"runs">;
export type RunId = Id<"runs">;
export type Step = Doc<"steps">;
export type StepId = Id<"steps">;
