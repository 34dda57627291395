import type { Host, HostCtx } from "../context.js";
import { knownGate } from "../gate.js";
import { YEAR_MS } from "../times.js";
import { dueBy, findBucket, spentBy, writeBucket } from "./buckets.js";
import { whichOf } from "./limits.js";
import { fullAtOf } from "./rate.js";

/*
 * A limit with a `unit` counts what attempts use: a start takes what was estimated, and the end of
 * a work that succeeds books the difference. Any other end leaves it at the estimate.
 */

/** Books what a work has used in the place of what was estimated. @param used by limit. */
export async function bookSpent(
  ctx: HostCtx,
  host: Host,
  permits: readonly string[] | undefined,
  used: Readonly<Record<string, number>>,
): Promise<void> {
  const gate = await knownGate(ctx);
  const now = Date.now();
  for (const { name, cost, ...pace } of spentBy(gate, { permits })) {
    const limit = whichOf(name).name;
    const more = (used[limit] ?? cost) - cost;
    if (gate.limits?.[limit]?.unit === undefined || more === 0) continue;
    const bucket = await findBucket(ctx, name);
    const before = (fullAtOf(pace, bucket, now) - now) / pace.everyMs;
    // A releaser that is to come later could not be scheduled.
    const taken = Math.min(Math.max(0, before + more), YEAR_MS / pace.everyMs);
    const fields = { taken, at: now, fullAt: now + taken * pace.everyMs };
    // Who waits may go on earlier.
    const isEarlier = bucket?.job !== undefined && more < 0;
    const at = (bucket?.dueAt ?? now) + more * pace.everyMs;
    const due = isEarlier ? await dueBy(ctx, host, name, bucket, at) : {};
    await writeBucket(ctx, name, bucket, { ...fields, ...due });
  }
}

/** What a result says of what was used: numbers at these paths, such as `usage.totalTokens`. */
export function usedIn(
  result: unknown,
  paths: Readonly<Record<string, string>>,
): Record<string, number> {
  const used: Record<string, number> = {};
  for (const [limit, path] of Object.entries(paths)) {
    let value = result;
    for (const field of path.split("."))
      value = Object.hasOwn(Object(value) as object, field) ? Object(value)[field] : undefined;
    if (isAmount(value)) used[limit] = value;
  }
  return used;
}

/** Says whether it can have been used. */
export function isAmount(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value) && value >= 0;
}
