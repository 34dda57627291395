import type { Id } from "./_generated/dataModel.js";
import type { MutationCtx } from "./_generated/server.js";
import { removeChildren } from "./removing.js";
import type { Fused } from "./validators.js";

/** So many of a loop's newest passes keep their records; and the first one does. */
const KEPT_PASSES = 100;
/** How many records are looked at in one go; a loop inside a loop may have left more, which stay. */
const MOST = 1_000;

/**
 * Forgets the passes that have become too old when a loop begins a pass, but for what can be undone. It reads no other passes, so the last
 * pass of a long loop reads as much as the first.
 * @param before at which pass the loop was when this was last called.
 */
export async function forgetPasses(
  ctx: MutationCtx,
  run: Id<"runs">,
  { stage, pass = [], iteration = 0 }: Pick<Fused, "stage" | "pass" | "iteration">,
  before: number,
): Promise<void> {
  const from = Math.max(2, before - KEPT_PASSES);
  const to = iteration - KEPT_PASSES;
  if (to <= from) return;
  const steps = await ctx.db
    .query("steps")
    .withIndex("by_run_pass", (q) =>
      q
        .eq("run", run)
        .eq("kept", undefined)
        .gte("pass", [...pass, from])
        .lt("pass", [...pass, to]),
    )
    .take(MOST);
  for (const step of steps) {
    if (!step.stage.startsWith(`${stage}.`) || step.endedAt === undefined) continue;
    if (step.kind === "children" && !(await removeChildren(ctx, step._id))) continue;
    await ctx.db.delete("steps", step._id);
  }
}
