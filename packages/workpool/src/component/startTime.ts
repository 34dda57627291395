import type { MutationCtx } from "./_generated/server.js";
import { warn } from "./log.js";

const YEAR_MS = 365 * 24 * 60 * 60 * 1000;

/**
 * When a work is to start, in ms since the epoch; null: at once. Times that can only be mistakes (seconds for ms, or a sum that ran away)
 * are logged, and replaced by what the caller most likely meant.
 * @throws where it is no time.
 */
export async function startTime(
  ctx: MutationCtx,
  runAt: number | undefined,
  name: string | undefined,
): Promise<number | null> {
  if (runAt === undefined) return null;
  const label = name ?? "a work";
  if (!Number.isFinite(runAt))
    throw new Error(
      `Enqueueing ${label}: the time to start it at is ${runAt}, and must be ms since the epoch`,
    );
  const now = Date.now();
  if (runAt < now - YEAR_MS)
    await warn(
      ctx,
      `Enqueueing ${label}: its time, ${runAt}, is more than a year past; it starts now`,
    );
  if (runAt <= now) return null;
  if (runAt <= now + 4 * YEAR_MS) return runAt;
  await warn(
    ctx,
    `Enqueueing ${label}: its time, ${runAt}, is more than 4 years ahead; it starts in a year`,
  );
  return now + YEAR_MS;
}
