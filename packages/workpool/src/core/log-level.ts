import type { Infer } from "convex/values";
import { oneOf } from "./result.js";

/** Logged at any level. */
export const LOUDEST = "ERROR";
const LEVELS = ["DEBUG", "TRACE", "INFO", "REPORT", "WARN", LOUDEST] as const;

/** How much is logged: a level, and all that come after it in the list. */
export const vLogLevel = oneOf(...LEVELS);
export type LogLevel = Infer<typeof vLogLevel>;
export const DEFAULT_LOG_LEVEL: LogLevel = "REPORT";

/** Whether what has the level `at` is logged if `level` is set. */
export function isLogged(level: LogLevel, at: LogLevel): boolean {
  return LEVELS.indexOf(at) >= LEVELS.indexOf(level);
}

/** @throws if it is none of the levels. */
export function checkLogLevel(logLevel: LogLevel): void {
  if (LEVELS.includes(logLevel)) return;
  throw new Error(
    `logLevel is ${JSON.stringify(logLevel)}: it must be one of ${LEVELS.join(", ")}`,
  );
}
