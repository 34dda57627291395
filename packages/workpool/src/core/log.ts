import type { HostQueryCtx } from "./context.js";
import { logLevelOf } from "./gate.js";
import { isLogged, type LogLevel, LOUDEST } from "./log-level.js";

/** A function's log holds 256 lines: of many events at once, no more than this are logged. */
export const MOST_LOGGED_AT_ONCE = 100;

const WRITE: Readonly<Record<LogLevel, (line: string) => void>> = {
  DEBUG: (line) => console.debug(line),
  TRACE: (line) => console.debug(line),
  INFO: (line) => console.info(line),
  REPORT: (line) => console.info(line),
  WARN: (line) => console.warn(line),
  ERROR: (line) => console.error(line),
};

/**
 * Whether this level is logged. The gate says so, which whatever starts or ends a work has read:
 * ask last, so that it costs nothing.
 */
export async function logs(ctx: HostQueryCtx, level: LogLevel): Promise<boolean> {
  return level === LOUDEST || isLogged(await logLevelOf(ctx), level);
}

/**
 * Logs an event as one line of JSON, if its level is logged.
 * @param component the name by which log streams know it. @param fields undefined ones are dropped.
 */
export async function logEventOf(
  ctx: HostQueryCtx,
  component: string,
  level: LogLevel,
  event: string,
  fields: Readonly<Record<string, unknown>>,
): Promise<void> {
  if (await logs(ctx, level)) WRITE[level](JSON.stringify({ component, event, ...fields }));
}
