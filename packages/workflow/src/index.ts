export {
  type Limit,
  LimitError,
  type LimitReached,
  type LimitControls,
  type Limits,
  type ListedLimit,
  type LogLevel,
  type MutationRunner,
  NonRetryableError,
  type OverrideOptions,
  type PauseOptions,
  type QueryRunner,
  type SeenLimit,
} from "@stepwise/workpool/core";
export type { Bulk, BulkFilter, BulkId, BulkOptions, BulkStatus } from "./client/bulk.js";
export type { EventName, EventPayload } from "./client/events.js";
export type { SteeredLimit, Until } from "./client/limits.js";
export type { ListedRun, ListFilter } from "./client/listing.js";
export type { Page, PageOptions } from "./client/paging.js";
export {
  vRunId,
  WorkflowManager,
  type RunId,
  type WorkflowManagerOptions,
} from "./client/manager.js";
export type { NodeName, NodePath, StagePath } from "./client/nodes.js";
export {
  vOnCompleteArgs,
  vRunResult,
  vStepError,
  type OnComplete,
  type OnCompleteOption,
  type RunResult,
} from "./client/on-complete.js";
export type { StartBatchOptions, StartOptions } from "./client/start.js";
export type * from "./client/status.js";
export type { TimelineEntry } from "./client/timeline.js";
export type { Wait } from "./client/waits.js";
export type { RunOrKey, WhichRun } from "./client/which-run.js";
export { RetryAfter, retryAfter, type RetryAfterOptions } from "./errors/retry-after.js";
export type { WorkflowReference } from "./runtime/reference.js";
// With a star, so that the generated `declare module` can add to `Register`.
export * from "./definition/index.js";
