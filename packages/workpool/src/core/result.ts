import { v, type Validator } from "convex/values";

/** Validates one of some words. */
export const oneOf = <Word extends string>(...words: readonly Word[]) =>
  v.union(...words.map((word) => v.literal(word)));

/** How a work ended. */
export type RunResult<Returns = any> =
  | { kind: "success"; returnValue: Returns }
  | { kind: "failed"; error: string }
  | { kind: "canceled" };

/**
 * Validates the result of a work.
 * @param returns the validator of what the work's function returns.
 */
export function vRunResult<Returns extends Validator<any, "required", any>>(returns: Returns) {
  return v.union(
    v.object({ kind: v.literal("success"), returnValue: returns }),
    v.object({ kind: v.literal("failed"), error: v.string() }),
    v.object({ kind: v.literal("canceled") }),
  );
}

/** Validates the result of a work that may return anything. */
export const vResult = vRunResult(v.any());

export const vResultKind = oneOf("success", "failed", "canceled");
