import {
  checkRetryBehavior,
  DEFAULT_RETRY_BEHAVIOR,
  type RetryBehavior,
} from "@stepwise/workpool/core";
import { literalText } from "../rules.js";
import type { Retry } from "../definition/node.js";

/*
 * Options of nodes that are computed, so that the compiler could not look at them: they are held to the same ranges when they are used.
 * Each function takes what the option is called in messages, as `optionOf` says it.
 */

/** How messages call the options of a node: `The timeout of "charge" in workflow "order"`. */
export function optionOf(workflow: string, path: string): (option: string) => string {
  return (option) => `The ${option} of "${path}" in workflow "${workflow}"`;
}

const MAX_ATTEMPTS = 1_000;
const MAX_ITERATIONS = 100_000;

/** @throws where no attempt, or no wait between two, could be made of it. */
export function checkRetry(what: string, retry: Retry | undefined): void {
  if (retry === undefined || typeof retry === "boolean") return;
  const given: unknown = retry;
  if (typeof given !== "object" || given === null)
    throw new Error(`${what} is ${literalText(given)}: it must be true, false or an object`);
  try {
    checkRetryBehavior(retry);
  } catch (error) {
    const { message } = error as Error;
    throw new Error(`${what} is ${literalText(retry)}: ${message}`, { cause: error });
  }
  if (retry.maxAttempts > MAX_ATTEMPTS)
    throw new Error(
      `${what} is ${literalText(retry)}: retry.maxAttempts must be at most ${MAX_ATTEMPTS}`,
    );
}

/** What a `retry` asks for; undefined where it asks for nothing, or for what cannot be. */
export function retryBehavior(retry: Retry): RetryBehavior | undefined {
  if (typeof retry === "boolean") return retry ? DEFAULT_RETRY_BEHAVIOR : undefined;
  try {
    checkRetry("retry", retry);
    return retry;
  } catch {
    return undefined;
  }
}

/** @throws where a loop would have no pass, or more than one may have. */
export function checkMaxIterations(what: string, maxIterations: unknown): void {
  if (isWhole(maxIterations, 1) && maxIterations <= MAX_ITERATIONS) return;
  throw new Error(
    `${what} is ${literalText(maxIterations)}: it must be a whole number from 1 to ${MAX_ITERATIONS}`,
  );
}

/** @throws where no child could ever start. */
export function checkConcurrency(what: string, concurrency: unknown): void {
  if (concurrency === undefined || concurrency === Infinity || isWhole(concurrency, 1)) return;
  throw new Error(`${what} is ${literalText(concurrency)}: it must be a whole number from 1`);
}

/** @throws where it is neither "all", nor a number of failures from 0, nor a percentage from 0 to 100. */
export function checkTolerate(what: string, tolerate: unknown): void {
  if (tolerate === undefined || tolerate === "all") return;
  const { failures, percentage } = Object(tolerate) as { failures?: number; percentage?: number };
  const isCount = failures !== undefined && failures >= 0 && percentage === undefined;
  const isShare =
    percentage !== undefined && percentage >= 0 && percentage <= 100 && failures === undefined;
  if (isCount || isShare) return;
  throw new Error(
    `${what} is ${literalText(tolerate)}: it must be { failures: n } with n from 0, { percentage: p } with p from 0 to 100, or "all"`,
  );
}

function isWhole(value: unknown, from: number): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= from;
}
