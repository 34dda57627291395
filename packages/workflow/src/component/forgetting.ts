import type { Id } from "./_generated/dataModel.js";
import type { MutationCtx } from "./_generated/server.js";
import { removeChildren } from "./removing.js";
import type { Fused } from "./validators.js";

/** So many of a loop's newest passes keep their records; and the first one does. */
const KEPT_PASSES = 100;
/** How many records of one pass are looked at; a loop inside a loop may have left more, which stay. */
const MOST = 500;

/**
 * Forgets the pass that has become too old when a loop begins a pass, but for what can be undone. It reads no other pass, so the last pass of
 * a long loop reads as much as the first.
 */
export async function forgetPasses(
  ctx: MutationCtx,
  run: Id<"runs">,
  { stage, pass = [], iteration = 0 }: Pick<Fused, "stage" | "pass" | "iteration">,
): Promise<void> {
  const old = iteration - KEPT_PASSES;
  if (old <= 1) return;
  const steps = await ctx.db
    .query("steps")
    .withIndex("by_run_pass", (q) =>
      q
        .eq("run", run)
        .eq("kept", undefined)
        .gte("pass", [...pass, old])
        .lt("pass", [...pass, old + 1]),
    )
    .take(MOST);
  for (const step of steps) {
    if (!step.stage.startsWith(`${stage}.`) || step.endedAt === undefined) continue;
    if (step.kind === "children" && !(await removeChildren(ctx, step._id))) continue;
    await ctx.db.delete("steps", step._id);
  }
}
