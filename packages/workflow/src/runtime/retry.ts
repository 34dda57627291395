import { DEFAULT_RETRY_BEHAVIOR, retryDelayMs, type RetryBehavior } from "@stepwise/workpool/core";
import type { AnyDefinition } from "../definition/definition.js";
import type { ErrorKind } from "../definition/step-error.js";
import { policyOf } from "./reads.js";

/** The kinds of failure that another attempt may mend. The others are the code's own fault, or final by the user's word. */
const RETRIED: readonly ErrorKind[] = ["thrown", "timedOut", "lost"];

/** When a failed attempt of an action is followed by another, in ms since the epoch; null if it was the last. */
export function retryAt(
  definition: AnyDefinition,
  stage: string,
  attempt: number,
  kind: ErrorKind,
): number | null {
  const retry = policyOf(definition, stage).retry ?? definition.options.retry ?? false;
  if (retry === false || !RETRIED.includes(kind)) return null;
  const behavior: RetryBehavior = retry === true ? DEFAULT_RETRY_BEHAVIOR : retry;
  return attempt < behavior.maxAttempts ? Date.now() + retryDelayMs(behavior, attempt) : null;
}
