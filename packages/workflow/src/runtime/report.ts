import type { GenericActionCtx } from "convex/server";
import type { Token } from "../component/validators.js";
import type { Attempt } from "./attempt.js";
import { describeThrown } from "../errors/failure.js";
import { marksOf } from "./reads.js";
import type { Bound } from "./bound.js";

/**
 * Hands an attempt's result to the completion. If that fails, because of what was executed with it, once more with nothing executed
 * beside it; if that fails too, the run ends with that error, by a call that runs no code but the component's own.
 */
export async function report(
  ctx: GenericActionCtx<any>,
  { component, workflow, functions, definition }: Bound,
  stage: string,
  token: Token,
  slot: string,
  attempt: Attempt,
): Promise<void> {
  const at = { workflow, node: stage, attempt: token.attempt };
  const reported =
    attempt.kind === "success"
      ? attempt
      : { kind: "failed" as const, error: { ...attempt.problem, ...at } };
  const complete = async (fuse: boolean) =>
    ctx.runMutation(functions.completion(stage), { token, slot, report: reported, fuse });
  try {
    await complete(true);
  } catch {
    try {
      await complete(false);
    } catch (failure) {
      const error = { ...describeThrown(failure), ...at };
      const { sensitive = false } = marksOf(definition, stage);
      await ctx.runMutation(component.lib.settle, {
        token,
        slot,
        outcome: { kind: "failed", error },
        fused: [],
        next: { kind: "fail", error, sensitive, ofCompletion: true },
      });
    }
  }
}
