import {
  checkRetryBehavior,
  DEFAULT_RETRY_BEHAVIOR,
  type RetryBehavior,
  retryDelayMs,
} from "@stepwise/workpool/core";
import { createFunctionHandle } from "convex/server";
import type { ActionFunction } from "../component/validators.js";
import type { ErrorKind, StepError } from "../definition/context.js";
import type { Retry } from "../definition/node.js";
import {
  atMostYear,
  type Duration,
  durationMs,
  literalText,
  type LocalTime,
  MAX_ATTEMPTS,
  MAX_ITERATIONS,
} from "../rules.js";
import type { Bound } from "./functions.js";
import { nextAt } from "./local-time.js";
import { placeOf } from "./place.js";

/* Computed options, which the compiler could not check. `what` is how messages call the option. */

/**
 * Returns how messages call an option of a stage: `The timeout of "charge" in workflow "order"`.
 */
export function optionOf({ definition, workflow }: Bound, stage: string, option: string): string {
  return `The ${option} of "${placeOf(definition, stage).called}" in workflow "${workflow}"`;
}

/** An action stage for the component. @throws if one of its times or its `retry` is invalid. */
export async function actionFunction(
  own: Bound,
  stage: string,
  permits: string[] | undefined,
): Promise<ActionFunction> {
  const { policy } = placeOf(own.definition, stage);
  const { timeout, waitAtMost, retry = own.definition.options.retry } = policy;
  checkRetry(optionOf(own, stage, "retry"), retry);
  const fn = await createFunctionHandle(own.functions.action(stage));
  const ms = (given: Duration | undefined, option: string) =>
    given === undefined ? undefined : durationMs(given, optionOf(own, stage, option));
  const waitAtMostMs = ms(waitAtMost, "waitAtMost");
  return { fn, permits, timeoutMs: ms(timeout, "timeout"), waitAtMostMs };
}

const RETRIED: readonly ErrorKind[] = ["thrown", "timedOut", "lost"];

/** When an action is tried again, in ms since the epoch, and the limit that is held until then. */
export interface Again {
  readonly dueAt: number;
  readonly holds?: string;
}

/** What an attempt has asked for itself, and how many before it do not count. */
interface Asked {
  readonly retryAt?: number | undefined;
  /** A limit that it takes part in. */
  readonly holds?: string | undefined;
  readonly uncounted?: number | undefined;
}

/**
 * Returns when the next attempt of an action begins; null if never. One that holds a limit does not
 * count.
 * @throws what the `when` of its `retry` throws, or if that gives no boolean.
 */
export function nextAttempt(
  { definition, retry: usual = false }: Bound,
  stage: string,
  error: StepError,
  { retryAt, holds, uncounted = 0 }: Asked,
): Again | null {
  if (retryAt !== undefined && holds !== undefined) return { dueAt: retryAt, holds };
  const retry = placeOf(definition, stage).policy.retry ?? definition.options.retry ?? usual;
  // What has waited too long would only wait again.
  const isRetried = RETRIED.includes(error.kind) && error.reason !== "waiting";
  const behavior = isRetried ? retryBehavior(retry) : undefined;
  const counted = error.attempt - uncounted;
  if (behavior === undefined || counted >= behavior.maxAttempts) return null;
  if (typeof retry === "object" && retry.when !== undefined) {
    const is: unknown = retry.when(error);
    if (typeof is !== "boolean")
      throw new Error(`it gave ${literalText(is)}, and must give true or false`);
    if (!is) return null;
  }
  return { dueAt: retryAt ?? Date.now() + retryDelayMs(behavior, counted) };
}

function retryBehavior(retry: Retry): RetryBehavior | undefined {
  if (typeof retry === "boolean") return retry ? DEFAULT_RETRY_BEHAVIOR : undefined;
  try {
    checkRetry("retry", retry);
    return withDefaults(retry);
  } catch {
    return undefined;
  }
}

function withDefaults(retry: Exclude<Retry, boolean>): RetryBehavior {
  const { initialBackoffMs: first, base: factor } = DEFAULT_RETRY_BEHAVIOR;
  const { maxAttempts, initialBackoffMs = first, base = factor, maxBackoffMs } = retry;
  return { maxAttempts, initialBackoffMs, base, maxBackoffMs };
}

function checkRetry(what: string, retry: Retry | undefined): void {
  if (retry === undefined || typeof retry === "boolean") return;
  if (typeof retry !== "object" || retry === null)
    throw invalid(what, retry, "it must be true, false or an object");
  try {
    checkRetryBehavior(withDefaults(retry));
  } catch (error) {
    throw invalid(what, retry, (error as Error).message, error);
  }
  if (retry.maxAttempts > MAX_ATTEMPTS)
    throw invalid(what, retry, `retry.maxAttempts must be at most ${MAX_ATTEMPTS}`);
  if (retry.when !== undefined && typeof retry.when !== "function")
    throw invalid(what, retry, "retry.when must be a function");
}

const invalid = (what: string, given: unknown, must: string, cause?: unknown): Error =>
  new Error(`${what} is ${literalText(given)}: ${must}`, { cause });

export function checkMaxIterations(what: string, maxIterations: unknown): void {
  if (isWhole(maxIterations) && maxIterations <= MAX_ITERATIONS) return;
  throw invalid(what, maxIterations, `it must be a whole number from 1 to ${MAX_ITERATIONS}`);
}

export function checkConcurrency(
  what: string,
  concurrency: unknown,
): asserts concurrency is number | undefined {
  if (concurrency !== undefined) checkWhole(what, concurrency);
}

/** @throws unless it says how many may run at once, which a function always has to. */
export function checkWhole(what: string, given: unknown): asserts given is number {
  if (given === Infinity || isWhole(given)) return;
  throw invalid(what, given, "it must be a whole number from 1");
}

export function checkTolerate(what: string, tolerate: unknown): void {
  if (tolerate === undefined || tolerate === "all") return;
  const { failures, percentage } = Object(tolerate) as { failures?: number; percentage?: number };
  const isCount = failures !== undefined && failures >= 0 && percentage === undefined;
  const isShare =
    percentage !== undefined && percentage >= 0 && percentage <= 100 && failures === undefined;
  if (isCount || isShare) return;
  const must = `it must be { failures: n } with n from 0, { percentage: p } with p from 0 to 100, or "all"`;
  throw invalid(what, tolerate, must);
}

const isLocalTime = (time: unknown): time is LocalTime =>
  typeof time === "object" && time !== null && "at" in time && "zone" in time;

export function checkRace(what: string, first: unknown): void {
  if (first !== undefined && first !== "any") throw invalid(what, first, `it must be "any"`);
}

/** Says whether it is a whole number from 1. */
function isWhole(value: unknown): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= 1;
}

/**
 * Returns how long a wait is, in ms: a duration, a date, a time of day, or a function of one. It
 * may be negative.
 */
export async function msUntil(
  own: Bound,
  stage: string,
  option: "duration" | "timeout",
  given: unknown,
  scope: () => Promise<unknown>,
): Promise<number> {
  const what = optionOf(own, stage, option);
  const time: unknown = typeof given === "function" ? await given(await scope()) : given;
  if (option === "duration" && typeof time === "number" && time < 0) return 0;
  if (option === "duration" && isLocalTime(time)) {
    const now = Date.now();
    return nextAt(time, now, what) - now;
  }
  if (!(time instanceof Date)) return durationMs(time as Duration, what);
  if (Number.isNaN(time.getTime())) throw new Error(`${what} is an invalid date`);
  return atMostYear(time.getTime() - Date.now(), what, time.toISOString());
}
