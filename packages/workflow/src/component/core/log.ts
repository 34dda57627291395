import {
  loggerOf,
  type LogLevel,
  logs,
  MOST_LOGGED_AT_ONCE,
  wellFormed,
} from "@stepwise/workpool/core";
import { pick } from "convex-helpers";
import type { StepError } from "../../definition/context.js";
import type { BadEnd } from "../validators.js";
import type { MutationCtx, Run, RunId } from "./documents.js";
import { workflowOf } from "./runs.js";

/* Inputs, results and the data of errors are not logged; of a `sensitive` node only its place. */

const logEvent = loggerOf("workflow");

/** A log entry holds 4 KiB, and a bulk ten messages. */
export const MAX_MESSAGE_LENGTH = 1_000;
const LEVELS = {
  retrying: "WARN",
  /** An action will not report. */
  lost: "WARN",
  compensationFailed: "ERROR",
  /** What should have recorded a result, or gone on with a run, has failed for good. */
  completionFailed: "ERROR",
  onEndFailed: "ERROR",
} as const satisfies Record<string, LogLevel>;

/** Runs of the top level begin. A logged run says so: its end need not read the level. */
export async function logStarted(
  ctx: MutationCtx,
  workflow: string,
  runs: readonly RunId[],
  generation?: number,
): Promise<void> {
  if (runs.length === 0 || !(await logs(ctx, "INFO"))) return;
  for (const run of runs) await ctx.db.patch("runs", run, { logged: true });
  for (const runId of runs.slice(0, MOST_LOGGED_AT_ONCE))
    await logEvent(ctx, "INFO", "started", { runId, workflow, generation });
  const more = runs.length - MOST_LOGGED_AT_ONCE;
  if (more > 0) await logEvent(ctx, "INFO", "started", { workflow, more });
}

/** A run has ended. Children are only logged if they fail or time out. */
export async function logEnded(
  ctx: MutationCtx,
  ended: Run,
  end: { state: "completed" } | { state: BadEnd; error: StepError; sensitive?: boolean },
): Promise<void> {
  const { state } = end;
  const { _id: runId, root, generation, startedAt, logged } = ended;
  const isBad = state === "failed" || state === "timedOut";
  if (!isBad && logged !== true) return;
  const durationMs = Date.now() - startedAt;
  const run = { runId, root, workflow: workflowOf(ended), generation, state, durationMs };
  const why = isBad && "error" in end ? describe(end.error, end.sensitive) : {};
  await logEvent(ctx, isBad ? "WARN" : "INFO", "ended", { ...run, ...why });
}

/** Events that a run has kept to its end, without their payloads. */
export async function logKept(
  ctx: MutationCtx,
  run: Run,
  kept: readonly { name: string; count: number }[],
): Promise<void> {
  if (kept.length === 0) return;
  const events = Object.fromEntries(kept.map(({ name, count }) => [name, count]));
  const { _id: runId, root } = run;
  const workflow = workflowOf(run);
  await logEvent(ctx, "WARN", "eventsNotTaken", { runId, root, workflow, events });
}

export async function logStep(
  ctx: MutationCtx,
  event: keyof typeof LEVELS,
  runId: RunId,
  error: StepError,
  sensitive: boolean | undefined,
  more: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  const fields = { runId, workflow: error.workflow, ...describe(error, sensitive), ...more };
  await logEvent(ctx, LEVELS[event], event, fields);
}

/** `stuck`: a run could not be told that it cannot go on, and is tried again. */
export async function logThrown(
  ctx: MutationCtx,
  event: "stuck" | "onCompleteFailed",
  run: Run,
  message: string,
  { node, sensitive = false }: { node?: string; sensitive?: boolean | undefined },
): Promise<void> {
  const said = sensitive ? undefined : cut(message);
  const of = { runId: run._id, workflow: workflowOf(run) };
  await logEvent(ctx, "ERROR", event, { ...of, node, message: said });
}

function describe(error: StepError, sensitive = false): Record<string, unknown> {
  const { kind, node, attempt, key } = error;
  let innermost = error.cause;
  while (innermost?.cause !== undefined) innermost = innermost.cause;
  return {
    ...(node === "" ? {} : { node, attempt }),
    kind,
    key,
    message: sensitive ? undefined : messageFor(error),
    cause: innermost && pick(innermost, ["kind", "workflow", "node"]),
  };
}

/** An error's own part of its message: the child logged its part, unless it is `sensitive`. */
function messageFor({ kind, message, cause }: StepError): string | undefined {
  if (kind !== "childFailed" || cause === undefined) return cut(message);
  const rest = `: ${cause.message}`;
  return message.endsWith(rest) ? cut(message.slice(0, -rest.length)) : undefined;
}

/** Convex's refusals show the value, which is an input or a result: that is cut off. */
function cut(message: string): string {
  const [text = ""] = message.split(/\n+(?:Object|Value): /);
  return wellFormed(text.slice(0, MAX_MESSAGE_LENGTH));
}
