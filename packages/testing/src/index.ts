export { type Clock, realTime, skippedTime } from "./clock.js";
export type { Call, Entry, FunctionType } from "./call.js";
export { Counter, type CountedTestOptions, type CounterOptions } from "./counter.js";
export { type Activity, drive, type Drive, type DriveOptions, settle } from "./drive.js";
export { spanLongTimers, type TimerHost } from "./long-timers.js";
export { type Limit, LimitError, LIMITS, type Violation } from "./limits.js";
export type { Modules } from "./modules.js";
export type { CallFilter, FunctionRow, Totals } from "./summary.js";
export { installTimers, type InstalledTimers, type Timers, vitestTimers } from "./timers.js";
export type { Usage } from "./usage.js";
export type { Happening } from "./deployment/backend.js";
export { CLASSES, D1024, type DeploymentClass, S16, S256 } from "./deployment/classes.js";
export type { Commit, Conflict } from "./deployment/committer.js";
export {
  Deployment,
  type DeploymentOptions,
  type Part,
  type Reference,
} from "./deployment/deployment.js";
export type { Backup } from "./deployment/backups.js";
export { CallError, type FailureKind } from "./deployment/failure.js";
export type { ActionFault, CallFault, Faults } from "./deployment/faults.js";
export { type FunctionPath, textOf } from "./deployment/job.js";
export { seeded } from "./deployment/random.js";
export type { StoredTable } from "./deployment/store.js";
