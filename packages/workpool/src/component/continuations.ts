import { mutationsOf, scheduleContinuation } from "../core/index.js";
import type { Doc, Id } from "./_generated/dataModel.js";
import type { MutationCtx, QueryCtx } from "./_generated/server.js";
import { warn } from "./events.js";

const MOST_CHECKED = 100;
const CHECK_AGAIN_MS = 60_000;

export const { continuation, voidMutation } = mutationsOf<MutationCtx>();

/** Schedules lost continuations again. @returns when to check again; null if there is none. */
export async function reviveContinuations(
  ctx: MutationCtx,
  idle: boolean,
  { any, lost }: Continued,
): Promise<number | null> {
  for (const id of lost) {
    const continuation = await ctx.db.get("continuations", id);
    const why = continuation === null ? null : await lossOf(ctx, continuation);
    if (continuation === null || why === null) continue;
    await warn(ctx, `What should have gone on did not, as ${why}: it goes on now`);
    const failures = (continuation.failures ?? 0) + (why === FAILED ? 1 : 0);
    await scheduleContinuation(ctx, continuation, { failures });
  }
  // That there is none is concluded from the table itself.
  const goesOn = any || (idle && (await ctx.db.query("continuations").first()) !== null);
  return goesOn ? Date.now() + CHECK_AGAIN_MS : null;
}

/** Whether there are any, and which are lost. */
type Continued = { readonly any: boolean; readonly lost: Id<"continuations">[] };

/** Read it stale, as each page writes its document. */
export async function findLostContinuations(ctx: QueryCtx): Promise<Continued> {
  const some = await ctx.db.query("continuations").take(MOST_CHECKED);
  const lost: Id<"continuations">[] = [];
  for (const each of some) if ((await lossOf(ctx, each)) !== null) lost.push(each._id);
  return { any: some.length > 0, lost };
}

const FAILED = "its scheduled function failed";

async function lossOf(ctx: QueryCtx, { job }: Doc<"continuations">): Promise<string | null> {
  const scheduled = job === undefined ? null : await ctx.db.system.get("_scheduled_functions", job);
  if (scheduled === null) return "its scheduled function is gone";
  if (scheduled.state.kind === "failed") return FAILED;
  if (scheduled.state.kind === "canceled") return "its scheduled function was canceled";
  return null;
}
