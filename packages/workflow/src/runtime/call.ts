import { createFunctionHandle } from "convex/server";
import { getConvexSize, type Value } from "convex/values";
import type { Call, Queued } from "../component/validators.js";
import type { AnyReference, Policy } from "../definition/node.js";
import { nestedInfo } from "./attempt.js";
import { isVoid } from "./place.js";
import { readableScope } from "./reads.js";
import type { Run } from "./run.js";
import { stubOf } from "./stubs.js";
import { tagging } from "./tags.js";

/** An executor gets those of many together. */
const MOST_ARGS_BYTES = 8_000;

/** A stage that calls a function of the app. */
interface Referring extends Policy {
  readonly action?: AnyReference<"action"> | ((...args: never[]) => unknown);
  readonly args?: (scope: unknown, info: unknown) => unknown;
}

/**
 * What the action that comes next calls, if it is a reference: an executor calls that itself, and
 * saves the call of the stage's own function. Undefined if that function is needed.
 */
export async function callOf(run: Run, { scope }: Queued): Promise<Call | undefined> {
  const { own, token, nextAction: stage } = run;
  if (stage === undefined || scope === null || stubOf(own.definition, stage)) return undefined;
  const place = run.place(stage);
  const { called, policy } = place;
  const { action, args, timeout }: Referring = policy;
  if (action === undefined || typeof action === "function" || args === undefined) return undefined;
  const { iterations } = run.at(stage);
  const of = { ...token, iterations: iterations && [...iterations] };
  const info = nestedInfo(of, stage, tagging(run.ctx, own.component, token.run));
  try {
    const given = args(readableScope(own, stage, "args", scope), info) ?? {};
    if (getConvexSize(given as Value) > MOST_ARGS_BYTES) return undefined;
    const fn = await createFunctionHandle(action);
    const makesNothing = isVoid(place) || undefined;
    return { fn, args: given, workflow: own.workflow, node: stage, called, timeout, makesNothing };
  } catch {
    // Its own function fails in the same way, which counts as an attempt.
    return undefined;
  }
}
