import { checkValue } from "@stepwise/workpool/core";
import { createFunctionHandle } from "convex/server";
import { getConvexSize, type Value } from "convex/values";
import type { Asked, Call } from "../component/protocol.js";
import type { MutationCtx } from "../definition/context.js";
import type { AnyReference, Policy } from "../definition/node.js";
import { nestedInfo } from "./attempt.js";
import type { Bound } from "./functions.js";
import { placeOf } from "./place.js";
import { readableScope, readsOf } from "./reads.js";
import { stubOf } from "./stubs.js";

/** An executor gets those of many together. */
const MOST_ARGS_BYTES = 8_000;

/** A stage that calls a function of the app. */
export interface Referring extends Policy {
  readonly action?: AnyReference<"action"> | ((...args: never[]) => unknown);
  readonly args?: (scope: unknown, info: unknown) => unknown;
}

/**
 * Returns what the first attempt of an action calls, if it is a reference: an executor calls that
 * itself, and saves the call of the stage's own function. Undefined if that function is needed.
 */
export async function callOf(
  ctx: MutationCtx,
  own: Bound,
  { token, stage, scope }: Asked,
): Promise<Call | undefined> {
  if (scope === null || !own.actions.has(stage) || stubOf(own.definition, stage)) return undefined;
  const { called, policy, isVoid } = placeOf(own.definition, stage);
  const { action, args, timeout }: Referring = policy;
  if (action === undefined || typeof action === "function" || args === undefined) return undefined;
  const info = nestedInfo(ctx, own, token, stage);
  try {
    const given = args(readableScope(own, stage, "args", scope), info) ?? {};
    // On their way to an executor, a hole would become null, and a field `__proto__` be dropped.
    checkValue(called, "args", given);
    if (getConvexSize(given as Value) > MOST_ARGS_BYTES) return undefined;
    const fn = await createFunctionHandle(action);
    const makesNothing = isVoid || undefined;
    return { fn, args: given, workflow: own.workflow, node: stage, called, timeout, makesNothing };
  } catch {
    // Its own function fails in the same way, which counts as an attempt.
    return undefined;
  }
}

/**
 * The same for steps that have waited; null in place of undefined. A later attempt has its own
 * function, and so has what another version of the code has put in the queue.
 */
export async function callsFor(
  ctx: MutationCtx,
  own: Bound,
  steps: readonly Asked[],
): Promise<(Call | null)[]> {
  const calls: (Call | null)[] = [];
  for (const asked of steps) {
    const { token, stage, scope } = asked;
    const isOfNow = token.plan === undefined || token.plan === "" || token.plan === own.plan;
    const reads = readsOf(own, stage, token.iterations);
    const isWhole = scope !== null && reads.every(({ name }) => Object.hasOwn(scope, name));
    const isUsual = token.attempt === 1 && isOfNow && isWhole;
    calls.push((isUsual && (await callOf(ctx, own, asked))) || null);
  }
  return calls;
}
