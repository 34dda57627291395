export {
  DEFAULT_RETRY_BEHAVIOR,
  isNonRetryableError,
  NonRetryableError,
  type RetryBehavior,
  type RunResult,
  vResult,
  vRetryBehavior,
  vRunResult,
} from "../core/index.js";
export type { MutationRunner, QueryRunner } from "./context.js";
export {
  enqueue,
  enqueueBatch,
  type EnqueueOptions,
  type EnqueueSettings,
  type OnComplete,
  type RetryOption,
  type WorkKind,
} from "./enqueue.js";
export {
  type OnCompleteArgs,
  resultValidator,
  vOnCompleteArgs,
  vOnCompleteValidator,
  vResultValidator,
  vWorkId,
  vWorkIdValidator,
  type WorkId,
  workIdValidator,
  type WorkStatus,
} from "./validators.js";
export { Workpool, type WorkpoolOptions } from "./workpool.js";
