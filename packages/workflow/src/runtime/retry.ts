import { retryDelayMs } from "@stepwise/workpool/core";
import type { AnyDefinition } from "../definition/definition.js";
import type { Retry } from "../definition/node.js";
import type { ErrorKind } from "../definition/step-error.js";
import { retryBehavior } from "./options.js";
import { policyOf } from "./reads.js";

/** The kinds of failure that another attempt may mend. The others are the code's own fault, or final by the user's word. */
const RETRIED: readonly ErrorKind[] = ["thrown", "timedOut", "lost"];

/** When a failed attempt of an action is followed by another, in ms since the epoch; null if it was the last. */
export function retryAt(
  definition: AnyDefinition,
  defaults: { readonly retry?: Retry },
  stage: string,
  attempt: number,
  kind: ErrorKind,
): number | null {
  const retry =
    policyOf(definition, stage).retry ?? definition.options.retry ?? defaults.retry ?? false;
  if (!RETRIED.includes(kind)) return null;
  // What cannot be was refused before the first attempt; a deploy may have brought it since, and the attempt's own error tells more.
  const behavior = retryBehavior(retry);
  if (behavior === undefined) return null;
  return attempt < behavior.maxAttempts ? Date.now() + retryDelayMs(behavior, attempt) : null;
}
