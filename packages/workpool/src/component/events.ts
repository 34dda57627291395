import { logs, MOST_LOGGED_AT_ONCE } from "../core/index.js";
import type { Doc } from "./_generated/dataModel.js";
import type { MutationCtx } from "./_generated/server.js";
import { logEvent } from "./log.js";

/** How an attempt ended. */
export type Status = "success" | "failed" | "canceled" | "retrying";

/** Works were enqueued together. Of many, the first are logged one by one, and then how many more there are. */
export async function logEnqueued(
  ctx: MutationCtx,
  works: readonly Doc<"works">[],
  runAt: number | null,
): Promise<void> {
  if (!(await logs(ctx, "INFO"))) return;
  const enqueuedAt = Date.now();
  const more = Math.max(0, works.length - MOST_LOGGED_AT_ONCE);
  for (const work of works.slice(0, MOST_LOGGED_AT_ONCE))
    await logEvent(ctx, "INFO", "enqueued", {
      ...namesOf(work),
      enqueuedAt,
      runAt: runAt ?? enqueuedAt,
    });
  if (more > 0) await logEvent(ctx, "INFO", "enqueued", { more, enqueuedAt });
}

/** A work got a slot: its function is scheduled. `startLag` is how long it could have run, and did not, in ms. */
export async function logStarted(ctx: MutationCtx, work: Doc<"works">): Promise<void> {
  const startedAt = Date.now();
  const enqueuedAt = Math.floor(work._creationTime);
  await logEvent(ctx, "INFO", "started", {
    ...namesOf(work),
    attempt: work.attempts + 1,
    enqueuedAt,
    startedAt,
    startLag: Math.max(0, startedAt - (work.readyAt ?? enqueuedAt)),
  });
}

/** Works that were enqueued together got slots. */
export async function logAllStarted(
  ctx: MutationCtx,
  works: readonly Doc<"works">[],
): Promise<void> {
  for (const work of works.slice(0, MOST_LOGGED_AT_ONCE)) await logStarted(ctx, work);
}

/** A work found no free slot, and stands in line. */
export async function logWaiting(ctx: MutationCtx, work: Doc<"works">): Promise<void> {
  await logEvent(ctx, "TRACE", "waiting", { ...namesOf(work), since: Date.now() });
}

/** An attempt of a work ended, or the work did without one. @param attempts how many have ended, this one included. */
export async function logCompleted(
  ctx: MutationCtx,
  work: Doc<"works">,
  status: Status,
  attempts: number,
): Promise<void> {
  const completedAt = Date.now();
  await logEvent(ctx, "INFO", "completed", { ...namesOf(work), status, attempts, completedAt });
}

/** A report of an attempt came that is not expected any more: it was repeated, or the attempt was given up. */
export async function logDropped(ctx: MutationCtx, workId: string, attempt: number): Promise<void> {
  await logEvent(ctx, "DEBUG", "dropped", { workId, attempt });
}

function namesOf({ _id, name, kind }: Doc<"works">) {
  return { workId: _id, name, kind };
}
