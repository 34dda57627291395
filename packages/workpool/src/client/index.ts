export {
  DEFAULT_RETRY_BEHAVIOR,
  isNonRetryableError,
  type LogLevel,
  type MutationRunner,
  NonRetryableError,
  type QueryRunner,
  type RetryBehavior,
  type RunResult,
  vLogLevel,
  vResult,
  vRetryBehavior,
  vRunResult,
} from "../core/index.js";
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
  enqueueSettling,
  reportSettled,
  settle,
  type Settlement,
  settlingArgs,
  type SettlingArgs,
  type SettlingOptions,
} from "./settling.js";
export {
  type OnCompleteArgs,
  resultValidator,
  vOnComplete,
  vOnCompleteArgs,
  vOnCompleteValidator,
  vResultValidator,
  vWorkId,
  vWorkIdValidator,
  type WorkId,
  workIdValidator,
  type WorkStatus,
} from "./validators.js";
export { Workpool, type WorkpoolOptions, type WorkpoolRetryOptions } from "./workpool.js";
