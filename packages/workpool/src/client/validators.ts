import { type Validator, v, type VString } from "convex/values";
import { type RunResult, vResult, vRunResult } from "../core/index.js";

/** The id of a work. A string, told apart from others by its type only. */
export type WorkId = string & { __isWorkId: true };

/** Validates the id of a work. */
// The validator knows strings; the brand is for the types alone.
export const vWorkId = v.string() as VString<WorkId>;

/** What `status` returns. An unknown id is `finished`: nothing is kept of ended works. */
export type WorkStatus =
  { state: "pending" | "running"; previousAttempts: number } | { state: "finished" };

/**
 * Validates the arguments of a callback.
 *
 * @param context the validator of the context. Default: anything, or none.
 * @param returns the validator of what the work's function returns. Default: anything.
 * @example
 * export const emailed = internalMutation({
 *   args: vOnCompleteArgs(v.object({ user: v.id("users") })),
 *   handler: async (ctx, { workId, context, result }) => { … },
 * });
 */
export function vOnCompleteArgs<
  Context extends Validator<any, "required" | "optional", any> = typeof vAnyContext,
  Returns extends Validator<any, "required", any> = typeof vAnyReturns,
>(context?: Context, returns?: Returns) {
  return v.object({
    workId: vWorkId,
    // Without an argument the type parameters are those of the defaults.
    context: (context ?? vAnyContext) as Context,
    result: vRunResult((returns ?? vAnyReturns) as Returns),
  });
}
const vAnyContext = v.optional(v.any());
const vAnyReturns = v.any();

/** The arguments of a callback. Default: its context and what its work returned may be anything. */
export interface OnCompleteArgs<Context = any, Returns = any> {
  workId: WorkId;
  context: Context;
  result: RunResult<Returns>;
}

/** @deprecated Use {@link vWorkId}. */
export const vWorkIdValidator = vWorkId;
/** @deprecated Use {@link vWorkId}. */
export const workIdValidator = vWorkId;
/** @deprecated Use {@link vResult}. */
export const vResultValidator = vResult;
/** @deprecated Use {@link vResult}. */
export const resultValidator = vResult;
/** @deprecated Use {@link vOnCompleteArgs}, called without arguments. */
export const vOnComplete = vOnCompleteArgs();
/** @deprecated Use {@link vOnCompleteArgs}. */
export const vOnCompleteValidator = vOnCompleteArgs;
