import type { FunctionArgs, FunctionReference, FunctionVisibility } from "convex/server";
import { v, type Validator } from "convex/values";
import { vBadEnd, vError } from "../component/validators.js";
import type { StepError } from "../definition/context.js";

/** How a run ended. */
export type RunResult<Output = unknown> =
  | { state: "completed"; output: Output }
  | { state: "failed" | "canceled" | "timedOut"; error: StepError };

/** Validates a {@link StepError}. */
export const vStepError = vError;

/** Validates a {@link RunResult}. @param output the validator of the workflow's output. */
export function vRunResult<Output extends Validator<any, "required", any>>(output: Output) {
  return v.union(
    v.object({ state: v.literal("completed"), output }),
    v.object({ state: vBadEnd, error: vError }),
  );
}

/**
 * Validates the arguments of a mutation for `onComplete`.
 * @param context the validator of the context. Default: anything.
 * @param output the validator of the workflow's output. Default: anything.
 *
 * @example
 * export const imported = internalMutation({
 *   args: vOnCompleteArgs(v.object({ user: v.id("users") })),
 *   handler: async (ctx, { runId, context, result }) => {
 *     if (result.state === "failed") await notify(ctx, context.user, result.error.message);
 *   },
 * });
 */
export function vOnCompleteArgs<
  Context extends Validator<any, "required", any> = typeof vAnything,
  Output extends Validator<any, "required", any> = typeof vAnything,
>(context?: Context, output?: Output) {
  return v.object({
    runId: v.string(),
    // Without an argument the type parameters are those of the defaults.
    context: (context ?? vAnything) as Context,
    result: vRunResult((output ?? vAnything) as Output),
  });
}
const vAnything = v.any();

/** A mutation for `onComplete`; its arguments are those of {@link vOnCompleteArgs}. */
export type OnComplete = FunctionReference<
  "mutation",
  FunctionVisibility,
  // Only the mutation knows the types of the run's context and output.
  { runId: string; context?: any; result: RunResult<any> }
>;

/** The mutation, and the `context` that it is called with: up to 1 MB. Default: null. */
export type OnCompleteOption<Callback extends OnComplete> = { fn: Callback } & ContextOption<
  FunctionArgs<Callback>["context"]
>;

type ContextOption<Context> = undefined extends Context
  ? { context?: Context }
  : { context: Context };
