import { type Infer, v } from "convex/values";

/** How much is logged: a level, and all that come after it here. */
export const vLogLevel = v.union(
  v.literal("DEBUG"),
  v.literal("TRACE"),
  v.literal("INFO"),
  v.literal("REPORT"),
  v.literal("WARN"),
  v.literal("ERROR"),
);
export type LogLevel = Infer<typeof vLogLevel>;

/** How much is logged where nothing else is said. */
export const DEFAULT_LOG_LEVEL: LogLevel = "REPORT";
/** What has this level is logged whatever is set. */
export const LOUDEST = "ERROR" satisfies LogLevel;

const ORDER: readonly LogLevel[] = ["DEBUG", "TRACE", "INFO", "REPORT", "WARN", LOUDEST];

/** Whether what has the level `at` is logged where `level` is set. */
export function isLogged(level: LogLevel, at: LogLevel): boolean {
  return ORDER.indexOf(at) >= ORDER.indexOf(level);
}

/** @throws where it is none of the levels. */
export function checkLogLevel(logLevel: LogLevel): void {
  if (ORDER.includes(logLevel)) return;
  throw new Error(`logLevel is ${JSON.stringify(logLevel)}: it must be one of ${ORDER.join(", ")}`);
}
