/** How much the component may log: a level, and all that come after it here. */
export const logLevels = ["DEBUG", "TRACE", "INFO", "REPORT", "WARN", "ERROR"] as const;
