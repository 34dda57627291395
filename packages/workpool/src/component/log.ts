import { isLogged, type LogLevel, logLevelOf } from "../core/index.js";
import type { QueryCtx } from "./_generated/server.js";

/** Names what is logged here towards log streams, which see the logs of the whole deployment. */
const COMPONENT = "workpool";

const WRITE: Readonly<Record<LogLevel, (line: string) => void>> = {
  DEBUG: (line) => console.debug(line),
  TRACE: (line) => console.debug(line),
  INFO: (line) => console.info(line),
  REPORT: (line) => console.info(line),
  WARN: (line) => console.warn(line),
  ERROR: (line) => console.error(line),
};

/**
 * Whether something of this level is logged. The gate says so, and whatever starts or ends a work has read the gate by then: to be asked
 * last, so that it costs nothing.
 */
export async function logs(ctx: QueryCtx, level: LogLevel): Promise<boolean> {
  return isLogged(await logLevelOf(ctx), level);
}

/** Logs an event as one line of JSON, if its level is logged. @param fields what it says; undefined ones are left out. */
export async function logEvent(
  ctx: QueryCtx,
  level: LogLevel,
  event: string,
  fields: Readonly<Record<string, unknown>>,
): Promise<void> {
  if (await logs(ctx, level))
    WRITE[level](JSON.stringify({ component: COMPONENT, event, ...fields }));
}

/** Logs a sentence for people, if warnings are logged. */
export async function warn(ctx: QueryCtx, message: string): Promise<void> {
  if (await logs(ctx, "WARN")) console.warn(message);
}
