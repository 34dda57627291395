export {
  DEFAULT_RETRY_BEHAVIOR,
  isNonRetryableError,
  type KeysOf,
  type Limit,
  type LimitKeys,
  type Limits,
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
export * from "./settling.js";
export * from "./validators.js";
export { Workpool, type WorkpoolOptions, type WorkpoolRetryOptions } from "./workpool.js";
