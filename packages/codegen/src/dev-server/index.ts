export { openBackEnd, type AppTest, type BackEnd } from "./back-end.js";
export { type FirstRun, openLocalApp } from "./app.js";
export type { PlannedEvent } from "./events.js";
export { whyUnreadable, type SeedTable, type StoredFile } from "./input.js";
export {
  type ProgressEvent,
  type RunEvent,
  type RunOutcome,
  type RunWorkflowOptions,
  runWorkflow,
} from "./run-workflow.js";
export { hasEnded, type RunTree, type StepError, type TreeRun, type TreeStep } from "./watch.js";
