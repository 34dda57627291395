export { NonRetryableError } from "@stepwise/workpool/core";
export {
  vRunId,
  WorkflowManager,
  type RunId,
  type StartOptions,
  type WorkflowManagerOptions,
} from "./client/manager.js";
export type { WorkflowReference } from "./runtime/reference.js";
export type { ActiveNode, OutputOf, Status } from "./client/status.js";
// With a star, so that the generated `declare module` can add to `Register`.
export * from "./definition/index.js";
