export type { Change } from "./changes.js";
export type { PlannedEvent } from "./events.js";
export { whyUnreadable, type StoredFile } from "./input.js";
export {
  type RunEvent,
  type RunOutcome,
  type RunWorkflowOptions,
  runWorkflow,
} from "./run-workflow.js";
export type { SeedTable } from "./seed.js";
export type { RunTree, StepError, TreeRun, TreeStep } from "./tree.js";
export { hasEnded } from "./tree.js";
