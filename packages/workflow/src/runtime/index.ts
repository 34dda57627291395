export type { InferInput } from "../definition/schema.js";
export { compiled, type Compiled } from "./compiled.js";
export type { Completion, Resume, StepAction, StepMutation, StepQuery } from "./functions.js";
export type { WorkflowReference } from "./reference.js";
export { removedWorkflow } from "./removed-workflow.js";
export type { Arrival, Run } from "./run.js";
