export {
  type Budget,
  DEFAULT_RETRY_BEHAVIOR,
  isNonRetryableError,
  type KeysOf,
  type Limit,
  type LimitControls,
  type LimitKeys,
  type Limits,
  type ListedLimit,
  type LogLevel,
  type MutationRunner,
  NonRetryableError,
  type OverrideOptions,
  type PauseOptions,
  type QueryRunner,
  RetryAfter,
  retryAfter,
  type RetryAfterOptions,
  type RetryBehavior,
  type RunResult,
  type SeenLimit,
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
export * from "./settling.js";
export * from "./validators.js";
export { Workpool, type WorkpoolOptions, type WorkpoolRetryOptions } from "./workpool.js";
