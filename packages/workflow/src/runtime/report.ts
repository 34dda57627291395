import type { GenericActionCtx } from "convex/server";
import type { Token } from "../component/validators.js";
import type { Attempt } from "./attempt.js";
import type { Bound } from "./bound.js";

/**
 * Hands an attempt's result to the completion. If that fails, because of what was executed with it, once more with nothing executed
 * beside it. If that fails too, the component keeps the result, and has a scheduled mutation take it in.
 */
export async function report(
  ctx: GenericActionCtx<any>,
  { component, workflow, functions }: Bound,
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
    } catch {
      const kept =
        reported.kind === "success" ? { kind: "done" as const, output: reported.output } : reported;
      await ctx.runMutation(component.reporting.keep, { token, slot, report: kept });
    }
  }
}
