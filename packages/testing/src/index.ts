export type { Call, Entry, FunctionType } from "./call.js";
export { Counter, type CountedTestOptions, type CounterOptions } from "./counter.js";
export { type Activity, drive, type Drive, type DriveOptions, settle } from "./drive.js";
export { spanLongTimers, type TimerHost } from "./long-timers.js";
export { type Limit, LimitError, LIMITS, type Violation } from "./limits.js";
export type { Modules } from "./modules.js";
export type { CallFilter, FunctionRow, Totals } from "./summary.js";
export { installTimers, type InstalledTimers, type Timers, vitestTimers } from "./timers.js";
export type { Usage } from "./usage.js";
