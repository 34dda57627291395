export * from "./calls.js";
export * from "./config.js";
export * from "./result.js";
export * from "./set-aside.js";
export {
  type Host as PoolHost,
  type MutationCtx as PoolMutationCtx,
  type SlotId,
  type Work,
} from "./context.js";
export {
  cancelContinuation,
  continueLater,
  mutationsOf,
  scheduleContinuation,
} from "./continuations.js";
export { type Counts, type SlotCounts, vCounts } from "./counts.js";
export { poolFunctions } from "./functions.js";
export { checkMaxParallelism, defaultMaxParallelism, readGate } from "./gate.js";
export { cancelPending, isOwnJob } from "./jobs.js";
export {
  checkLogLevel,
  DEFAULT_LOG_LEVEL,
  logEventOf,
  type LogLevel,
  logLevelOf,
  logs,
  MOST_LOGGED_AT_ONCE,
  vLogLevel,
} from "./log.js";
export { completeWork, type Ended, enqueueWork, enqueueWorks } from "./pool.js";
export { isCrowded, isWaiting, leaveQueueCanceled } from "./queue.js";
export { restAfter } from "./rest.js";
export * from "./room.js";
export { poolTables } from "./schema.js";
export { endOffer, isIdle, slotOf, watchReport } from "./slots.js";
export { keepSweeping, sweepNow } from "./watch.js";
