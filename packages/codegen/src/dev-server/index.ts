export { openBackEnd, type AppTest, type BackEnd } from "./back-end.js";
export { type FirstRun, openLocalApp } from "./app.js";
export { readGiven, type SeedTable, type StoredFile } from "./input.js";
export { runWorkflow, type RunOutcome, type RunWorkflowOptions } from "./run-workflow.js";
export type { PlannedEvent, ProgressEvent, RunEvent } from "./run-workflow.js";
export { eventNames, hasEnded, stageOf } from "./watch.js";
export type { RunTree, StepError, TreeRun, TreeStep } from "./watch.js";
