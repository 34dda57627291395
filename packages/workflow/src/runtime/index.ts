export type { WorkflowInput } from "../definition/definition.js";
export type { InferInput } from "../definition/values.js";
export { compiled, removedWorkflow, type Compiled } from "./compiled.js";
export type { Completion, Entry, StepAction, StepMutation, StepQuery } from "./functions.js";
export type { AllSent, Payloads, Sent, WorkflowReference } from "./reference.js";
export type { Arrival, Run } from "./run.js";
