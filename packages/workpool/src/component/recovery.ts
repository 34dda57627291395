import { setAside } from "../core/index.js";
import type { Doc, Id } from "./_generated/dataModel.js";
import type { MutationCtx } from "./_generated/server.js";
import { endAttempt } from "./complete.js";
import { warn } from "./log.js";
import { enqueueDue } from "./worker.js";

/** A delayed start that is so late has not come, or the scheduler is far behind: which of the two, its job tells. */
const LATE_MS = 60_000;
/** How many late starts one look deals with. */
const PAGE = 20;

/** A running work was lost: an attempt of it has failed. */
export async function loseAttempt(
  ctx: MutationCtx,
  work: Doc<"works">,
  slot: Id<"slots">,
  why: string,
): Promise<void> {
  const attempt = work.attempts + 1;
  await warn(ctx, `Attempt ${attempt} of "${work.name ?? work.fn}" (${work._id}) was lost: ${why}`);
  const error = `The attempt was lost: ${why}`;
  await endAttempt(ctx, work, slot, { kind: "failed", error, retryable: true });
}

/**
 * Puts delayed works, and such as wait for their next attempt, in the place where their start should have put them long ago: it was
 * canceled by hand, cleaned away, or failed. One that cannot be started is set aside.
 */
export async function startLate(ctx: MutationCtx): Promise<void> {
  const late = await ctx.db
    .query("works")
    .withIndex("by_due", (q) => q.gt("due.at", undefined).lt("due.at", Date.now() - LATE_MS))
    .take(PAGE);
  for (const work of late) {
    if (work.due === undefined) continue;
    const job = await ctx.db.system.get("_scheduled_functions", work.due.job);
    if (job !== null && ["pending", "inProgress"].includes(job.state.kind)) continue;
    await warn(
      ctx,
      `The start of "${work.name ?? work.fn}" (${work._id}) did not come: it starts now`,
    );
    try {
      await enqueueDue(ctx, work);
    } catch (error) {
      await ctx.db.patch("works", work._id, { due: undefined });
      await setAside(ctx, work._id, error);
    }
  }
}
