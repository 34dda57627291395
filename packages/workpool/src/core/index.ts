export { carryArgs, carryWorks, slotsToTake, takeArgs, takeWorks, vCarried } from "./carrier.js";
export { applyConfig, type Config, setConfig, setMaxParallelism, vConfig } from "./config.js";
export { type MutationRunner, partsOf, type QueryRunner } from "./calls.js";
export {
  type PoolHost,
  type PoolMutationCtx,
  type PoolWatch,
  type SlotId,
  type Work,
} from "./context.js";
export { checkMaxParallelism, defaultMaxParallelism, logLevelOf, readGate } from "./gate.js";
export { cancelPending, isOwnJob } from "./jobs.js";
export { logEventOf, logs, MOST_LOGGED_AT_ONCE } from "./log.js";
export { checkLogLevel, DEFAULT_LOG_LEVEL, type LogLevel, vLogLevel } from "./log-level.js";
export { isCrowded, isWaiting, leaveQueueCanceled, queueHead } from "./queue.js";
export { isNonRetryableError, messageOf, NonRetryableError } from "./result.js";
export { drainArgs } from "./drain.js";
export { drainQueue } from "./drain-queue.js";
export { completeWork, type Ended, enqueueWork, enqueueWorks } from "./pool.js";
export { oneOf, type RunResult, vResult, vResultKind, vRunResult } from "./result.js";
export {
  checkRetryBehavior,
  DEFAULT_RETRY_BEHAVIOR,
  retryDelayMs,
  vRetryBehavior,
  type RetryBehavior,
} from "./result.js";
export { restAfter } from "./rest.js";
export {
  HALF_OF_A_TRANSACTION,
  hasRoom,
  leaveRoom,
  ROOM_TO_COMPLETE,
  ROOM_TO_RECORD,
} from "./room.js";
export {
  cancelContinuation,
  continueLater,
  mutationsOf,
  scheduleContinuation,
} from "./continuations.js";
export { poolTables } from "./schema.js";
export { isSetAside, setAside, takeBack } from "./set-aside.js";
export {
  endOffer,
  freeSlotArgs,
  freeSlotsFrom,
  isIdle,
  slotOf,
  vFreeSlots,
  watchReport,
} from "./slots.js";
export { inspectSlots, recoverSlot, sweepSlots } from "./sweep.js";
export { keepSweeping, sweepNow } from "./watch.js";
export { inspectArgs, recoverArgs, sweepArgs, vInspected } from "./watch-validators.js";
export { type Counts, type SlotCounts, vCounts } from "./counts.js";
