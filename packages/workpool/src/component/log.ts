import { logEventOf, type LogLevel, logs } from "../core/index.js";
import type { QueryCtx } from "./_generated/server.js";

/** Logs an event as one line of JSON, if its level is logged. @param fields what it says; undefined ones are left out. */
export async function logEvent(
  ctx: QueryCtx,
  level: LogLevel,
  event: string,
  fields: Readonly<Record<string, unknown>>,
): Promise<void> {
  await logEventOf(ctx, "workpool", level, event, fields);
}

/** Logs a sentence for people, if warnings are logged. */
export async function warn(ctx: QueryCtx, message: string): Promise<void> {
  if (await logs(ctx, "WARN")) console.warn(message);
}
