export { type PoolHost, type PoolMutationCtx, type SlotId, type Work } from "./context.js";
export { checkMaxParallelism, DEFAULT_MAX_PARALLELISM, readGate } from "./gate.js";
export { INLINE_ARGS_BYTES, isWaiting, leaveLineCanceled, lineHead } from "./line.js";
export { isNonRetryableError, messageOf, NonRetryableError } from "./non-retryable.js";
export { drainLine, setMaxParallelism } from "./parallelism.js";
export { completeWork, enqueueWork, enqueueWorks } from "./pool.js";
export { type RunResult, vResult, vResultKind, vRunResult } from "./result.js";
export {
  checkRetryBehavior,
  DEFAULT_RETRY_BEHAVIOR,
  retryDelayMs,
  vRetryBehavior,
  type RetryBehavior,
} from "./retry.js";
export { hasRoom, leaveRoom, ROOM_TO_COMPLETE, ROOM_TO_RECORD } from "./room.js";
export { poolTables } from "./schema.js";
export { slotOf } from "./slots.js";
