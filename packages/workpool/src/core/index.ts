export * from "./calls.js";
export * from "./config.js";
export * from "./continuations.js";
export { goOnNow } from "./due-now.js";
export * from "./error-data.js";
export * from "./given.js";
export * from "./jobs.js";
export { bookSpent, isAmount, usedIn } from "./limits/budgets.js";
export * from "./limits/client.js";
export { holdLimit } from "./limits/hold.js";
export * from "./limits/limit-error.js";
export * from "./limits/limits.js";
export { POOL, type Which } from "./limits/overrides.js";
export { refuseIfTooManyWait } from "./limits/refuse.js";
export * from "./limits/waits-for.js";
export { isPlain, isPromise, literalText } from "./literal.js";
export * from "./log.js";
export { setMaxParallelism } from "./parallelism.js";
export * from "./pool.js";
export * from "./report.js";
export * from "./result.js";
export * from "./retry-after.js";
export * from "./set-aside.js";
export { misshapeOf } from "./shape.js";
export {
  type AttemptToRun,
  type Host as PoolHost,
  type MutationCtx as PoolMutationCtx,
  type Slot,
  type SlotId,
  type Work,
} from "./context.js";
export * from "./counts.js";
export { poolFunctions } from "./functions.js";
export { type Executes, Execution } from "./execution.js";
export { leftToBegin, reportTogether } from "./executors.js";
export { type Kept, reportArgs, type Reported, vReported } from "./told.js";
export { ASKS_EVERY_MS } from "./owners.js";
export { checkMaxParallelism, defaultMaxParallelism, readGate } from "./gate.js";
export { fairFor, vFair } from "./fair.js";
export { isCrowded, isWaiting, lastWaitingOf, leaveQueueCanceled, placeOf } from "./queue.js";
export { restAfter } from "./rest.js";
export * from "./room.js";
export { poolTables } from "./schema.js";
export { recovered } from "./sweep.js";
export { askBack, isSeat, leaveSeatFor } from "./ahead.js";
export { cancelStart, endOffer, isIdle, slotOf, watchReport } from "./slots.js";
export { forgetRead, poolTx } from "./transaction.js";
export { LATE_MS, CHECK_AGAIN_MS, YEAR_MS } from "./times.js";
export { keepSweeping, LONGEST_PAUSE_MS, sweepNow } from "./watch.js";
