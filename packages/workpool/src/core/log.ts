import type { Infer } from "convex/values";
import type { HostQueryCtx } from "./context.js";
import { readGate } from "./gate.js";
import { poolTx } from "./transaction.js";
import { literalText } from "./literal.js";
import { oneOf } from "./result.js";

const LEVELS = ["DEBUG", "TRACE", "INFO", "REPORT", "WARN", "ERROR"] as const;

/** How much is logged: a level, and all that come after it in the list. */
export const vLogLevel = oneOf(...LEVELS);
export type LogLevel = Infer<typeof vLogLevel>;
const DEFAULT_LOG_LEVEL: LogLevel = "REPORT";

/** How much is logged where nothing is stored. Only tests change it. */
let usual: LogLevel = DEFAULT_LOG_LEVEL;

/** Sets how much is logged in tests, from before the first function of the app is called. */
export function logUsually(level: LogLevel = DEFAULT_LOG_LEVEL): void {
  usual = level;
}

/** @throws if it is none of the levels. */
export function checkLogLevel(logLevel: LogLevel): void {
  if (LEVELS.includes(logLevel)) return;
  throw new Error(`logLevel is ${literalText(logLevel)}: it must be one of ${LEVELS.join(", ")}`);
}

/** Returns how much is logged. Reads the gate only if this transaction has not done so. */
export async function logLevelOf(ctx: HostQueryCtx): Promise<LogLevel> {
  const seen = poolTx(ctx).gate;
  const gate = seen === undefined ? await readGate(ctx) : seen;
  return gate?.logLevel ?? usual;
}

/** A function's log holds 256 lines: of many events at once, no more than this are logged. */
export const MOST_LOGGED_AT_ONCE = 100;

const METHODS = {
  ...({ DEBUG: "debug", TRACE: "debug", INFO: "info" } as const),
  ...({ REPORT: "info", WARN: "warn", ERROR: "error" } as const),
};

/** Says whether this level is logged. It may read the gate: ask last. */
export async function logs(ctx: HostQueryCtx, level: LogLevel): Promise<boolean> {
  return level === "ERROR" || LEVELS.indexOf(level) >= LEVELS.indexOf(await logLevelOf(ctx));
}

/** What logs a component's events as lines of JSON. Undefined fields are left out. */
export const loggerOf =
  (component: string) =>
  async (ctx: HostQueryCtx, level: LogLevel, event: string, fields: object): Promise<void> => {
    if (await logs(ctx, level))
      console[METHODS[level]](JSON.stringify({ component, event, ...fields }));
  };
