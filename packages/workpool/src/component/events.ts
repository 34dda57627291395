import { loggerOf, logs, MOST_LOGGED_AT_ONCE } from "../core/index.js";
import type { Doc } from "./_generated/dataModel.js";
import type { MutationCtx, QueryCtx } from "./_generated/server.js";

export const logEvent = loggerOf("workpool");

export async function warn(ctx: QueryCtx, message: string): Promise<void> {
  if (await logs(ctx, "WARN")) console.warn(message);
}

/** Logs works that were enqueued together: the first one by one, then how many more there are. */
export async function logEnqueued(
  ctx: MutationCtx,
  works: readonly Doc<"works">[],
  startsAt: number | null,
): Promise<void> {
  if (!(await logs(ctx, "INFO"))) return;
  const enqueuedAt = Date.now();
  const runAt = startsAt ?? enqueuedAt;
  for (const work of works.slice(0, MOST_LOGGED_AT_ONCE))
    await logEvent(ctx, "INFO", "enqueued", { ...namesOf(work), enqueuedAt, runAt });
  const more = works.length - MOST_LOGGED_AT_ONCE;
  if (more > 0) await logEvent(ctx, "INFO", "enqueued", { more, enqueuedAt });
}

/** A work got a slot. `startLag` is how long it could have run and did not, in ms. */
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

export async function logWaiting(ctx: MutationCtx, work: Doc<"works">): Promise<void> {
  await logEvent(ctx, "TRACE", "waiting", { ...namesOf(work), since: Date.now() });
}

export async function logCompleted(
  ctx: MutationCtx,
  work: Doc<"works">,
  status: "success" | "failed" | "canceled" | "retrying",
  attempts: number,
): Promise<void> {
  const completedAt = Date.now();
  await logEvent(ctx, "INFO", "completed", { ...namesOf(work), status, attempts, completedAt });
}

/**
 * Logs that a result has no number in the place that says what was used: it counts as estimated.
 */
export async function logUncounted(
  ctx: MutationCtx,
  work: Doc<"works">,
  limit: string,
  spend: string,
): Promise<void> {
  await logEvent(ctx, "ERROR", "uncounted", { ...namesOf(work), limit, spend });
}

function namesOf({ _id, name, kind }: Doc<"works">) {
  return { workId: _id, name, kind };
}
