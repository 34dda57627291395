/** A name that JavaScript takes without quotes. */
export const jsName = /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u;

/** The `reference` of a stage whose function reference is no path that can be seen. */
export const computedReference = "(computed)";

/** How much the component may log: a level, and all that come after it here. */
export const logLevels = ["DEBUG", "TRACE", "INFO", "REPORT", "WARN", "ERROR"] as const;

/** Raised when a plan changes so that an older compiler cannot read it. */
export const planVersion = 3;

export {
  GENERATED_FORMAT,
  inPath,
  isTimeZone,
  LONGEST_DAY_MS,
  FEW_CHILDREN,
  MAX_ITERATIONS,
  MOST_ITEMS,
  MOST_TAGS,
  MAX_DURATION_MS,
  namesInPath,
  parseDuration as durationMs,
  parseTimeOfDay,
} from "@stepwise/workflow/rules";
