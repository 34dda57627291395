import { MOST_LOGGED_AT_ONCE, logEventOf, logs, type LogLevel } from "@stepwise/workpool/core";
import type { StepError } from "../../definition/step-error.js";
import type { Doc, Id } from "../_generated/dataModel.js";
import type { MutationCtx } from "../_generated/server.js";
import type { BadEnd } from "../validators.js";

/*
 * What the component logs: how runs begin and end, and what goes wrong on the way. How they go on is in their timelines. Neither inputs nor
 * results are logged, nor the data of errors; and of the errors of `sensitive` nodes only their kind and place. The gate says how much is
 * logged. At the usual level it is asked where something goes wrong, and nowhere else.
 */

/** A line of the log holds 4 KiB. */
const MAX_MESSAGE_LENGTH = 1_000;

/**
 * Runs of the top level begin. A run whose beginning is logged says so, and so its end need not ask the gate. To be called when that was
 * read: last.
 */
export async function logStarted(
  ctx: MutationCtx,
  workflow: string,
  runs: readonly Id<"runs">[],
  generation?: number,
): Promise<void> {
  if (runs.length === 0 || !(await logs(ctx, "INFO"))) return;
  for (const run of runs) await ctx.db.patch("runs", run, { logged: true });
  for (const runId of runs.slice(0, MOST_LOGGED_AT_ONCE))
    await logEvent(ctx, "INFO", "started", { runId, workflow, generation });
  const more = runs.length - MOST_LOGGED_AT_ONCE;
  if (more > 0) await logEvent(ctx, "INFO", "started", { workflow, more });
}

/**
 * A run has ended. Children only log that they have failed, or that their time was over: the others are as many as there are children, and
 * end many at a time where they are canceled.
 */
export async function logEnded(
  ctx: MutationCtx,
  { _id: runId, root, workflow, generation, startedAt, logged }: Doc<"runs">,
  end: { state: "completed" } | { state: BadEnd; error: StepError; sensitive?: boolean },
): Promise<void> {
  const { state } = end;
  const isBad = state === "failed" || state === "timedOut";
  if (!isBad && logged !== true) return;
  const durationMs = Date.now() - startedAt;
  const run = { runId, root, workflow, generation, state, durationMs };
  const why = isBad && "error" in end ? describe(end.error, end.sensitive) : {};
  await logEvent(ctx, isBad ? "WARN" : "INFO", "ended", { ...run, ...why });
}

/** An attempt of a step has failed, and there will be another. */
export async function logRetrying(
  ctx: MutationCtx,
  { run, sensitive }: Pick<Doc<"steps">, "run" | "sensitive">,
  error: StepError,
  retryAt: number,
): Promise<void> {
  await logStep(ctx, "WARN", "retrying", run, error, sensitive, {
    retryAt: Math.floor(retryAt),
  });
}

/** An action will not report itself. What becomes of its step, the run decides. */
export async function logLost(
  ctx: MutationCtx,
  { run, sensitive }: Pick<Doc<"steps">, "run" | "sensitive">,
  error: StepError,
): Promise<void> {
  await logStep(ctx, "WARN", "lost", run, error, sensitive);
}

/** A compensation has failed for good: what it was to undo is as it was. */
export async function logCompensationFailed(
  ctx: MutationCtx,
  run: Id<"runs">,
  error: StepError,
  sensitive: boolean,
): Promise<void> {
  await logStep(ctx, "ERROR", "compensationFailed", run, error, sensitive);
}

/** What should have taken in a result, or gone on with a run, has failed for good: the run fails. */
export async function logCompletionFailed(
  ctx: MutationCtx,
  run: Id<"runs">,
  error: StepError,
  sensitive: boolean,
): Promise<void> {
  await logStep(ctx, "ERROR", "completionFailed", run, error, sensitive);
}

/** A run could not even be told that it cannot go on: the next look of the watchdog tries it again. */
export async function logStuck(
  ctx: MutationCtx,
  { _id: runId, workflow }: Doc<"runs">,
  {
    stage,
    called: node = stage,
    sensitive = false,
  }: Pick<Doc<"steps">, "stage" | "called" | "sensitive">,
  message: string,
): Promise<void> {
  const said = sensitive ? {} : { message: cut(message) };
  await logEvent(ctx, "ERROR", "stuck", { runId, workflow, node, ...said });
}

/** The app's `onComplete` has thrown. @param sensitive what it was given is not to be logged, and it may have said that. */
export async function logOnCompleteFailed(
  ctx: MutationCtx,
  { _id: runId, workflow }: Doc<"runs">,
  message: string,
  sensitive: boolean,
): Promise<void> {
  const said = sensitive ? {} : { message: cut(message) };
  await logEvent(ctx, "ERROR", "onCompleteFailed", { runId, workflow, ...said });
}

async function logStep(
  ctx: MutationCtx,
  level: LogLevel,
  event: string,
  runId: Id<"runs">,
  error: StepError,
  sensitive: boolean | undefined,
  more: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  const { workflow } = error;
  await logEvent(ctx, level, event, { runId, workflow, ...describe(error, sensitive), ...more });
}

async function logEvent(
  ctx: MutationCtx,
  level: LogLevel,
  event: string,
  fields: Readonly<Record<string, unknown>>,
): Promise<void> {
  await logEventOf(ctx, "workflow", level, event, fields);
}

/** What is logged of an error. */
function describe(error: StepError, sensitive = false): Record<string, unknown> {
  const { kind, node, attempt, key } = error;
  let innermost = error.cause;
  while (innermost?.cause !== undefined) innermost = innermost.cause;
  return {
    ...(node === "" ? {} : { node, attempt }),
    kind,
    ...(key === undefined ? {} : { key }),
    ...(sensitive ? {} : { message: messageFor(error) }),
    ...(innermost === undefined ? {} : { cause: placeOf(innermost) }),
  };
}

function placeOf({ kind, workflow, node }: StepError) {
  return { kind, workflow, node };
}

/**
 * Its own part of an error's message. What the error of a child says, that child has logged; or it must not, as its node is `sensitive`, which
 * from here cannot be seen.
 */
function messageFor({ kind, message, cause }: StepError): string | undefined {
  if (kind !== "childFailed" || cause === undefined) return cut(message);
  const rest = `: ${cause.message}`;
  return message.endsWith(rest) ? cut(message.slice(0, -rest.length)) : undefined;
}

/** A message as it is logged: without the value that Convex shows where one does not fit its validator, as that is an input or a result. */
function cut(message: string): string {
  const [text = ""] = message.split(/\n+(?:Object|Value): /);
  return text.slice(0, MAX_MESSAGE_LENGTH);
}
