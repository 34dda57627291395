import { lookNow } from "@stepwise/workpool/core";
import { paginator } from "convex-helpers/server/pagination";
import { v } from "convex/values";
import { internal } from "./_generated/api.js";
import { continuationArgs } from "./validators.js";
import type { Doc } from "./_generated/dataModel.js";
import { internalMutation, type MutationCtx } from "./_generated/server.js";
import { goOn, goOnWith, hasRoomInPage, lookAfterContinuations } from "./continuations.js";
import { watchDeadline } from "./deadlines.js";
import { pool } from "./line.js";
import { repairRetention } from "./retention.js";
import schema from "./schema.js";
import { seeTo } from "./waking.js";

/** How many records a page looks at, at most. */
const PAGE = 100;

/** Where a repair has come to: first the steps that are to be woken, then the deadlines. `most`: how many there was room for at the cursor. */
type Place = { table: "steps" | "deadlines"; cursor: string | null; most?: number };

/**
 * Has everything go on whose scheduled function was lost: canceled by hand, cleaned away, or left behind by a restore from a backup, which
 * brings none back. What is still scheduled is left alone. A page in this transaction, each further one in its own.
 */
export async function repairAll(ctx: MutationCtx): Promise<void> {
  // Actions that run, and those that wait in line, are the pool's.
  await lookNow(ctx, pool);
  await lookAfterContinuations(ctx);
  await repairRetention(ctx);
  const rest = await repairPage(ctx, { table: "steps", cursor: null });
  if (rest !== null) await goOn(ctx, internal.repairing.repairMore, rest);
}

/** The next page of {@link repairAll}. */
export const repairMore = internalMutation({
  args: continuationArgs,
  returns: v.null(),
  handler: async (ctx, { continuation }): Promise<null> =>
    await goOnWith<Place>(ctx, continuation, (place) => repairPage(ctx, place)),
});

/** @returns where the next page begins; null after the last. */
async function repairPage(
  ctx: MutationCtx,
  { table, cursor, most = PAGE }: Place,
): Promise<Place | null> {
  const { isDone, continueCursor, seen } =
    table === "steps"
      ? await repairSteps(ctx, cursor, most)
      : await repairDeadlines(ctx, cursor, most);
  // No cursor leads behind what was seen to, and to see to it again takes nearly as much: so the page begins anew, and ends there.
  if (seen !== undefined) return { table, cursor, ...(seen > 0 ? { most: seen } : {}) };
  if (!isDone) return { table, cursor: continueCursor };
  return table === "steps" ? { table: "deadlines", cursor: null } : null;
}

interface Repaired {
  isDone: boolean;
  continueCursor: string | null;
  /** How many of the page were seen to, where there was no room for all: what is scheduled is read with its arguments. */
  seen?: number;
}

async function repairSteps(
  ctx: MutationCtx,
  cursor: string | null,
  numItems: number,
): Promise<Repaired> {
  const found = await paginator(ctx.db, schema)
    .query("steps")
    .withIndex("by_wake", (q) => q.gt("wakeAt", undefined))
    .paginate({ cursor, numItems, maximumBytesRead: MAX_PAGE_BYTES });
  for (const [seen, step] of found.page.entries()) {
    if (!(await hasRoomInPage(ctx))) return { ...found, seen };
    if (step.held !== true) await seeTo(ctx, step);
  }
  return found;
}

async function repairDeadlines(
  ctx: MutationCtx,
  cursor: string | null,
  numItems: number,
): Promise<Repaired> {
  const found = await paginator(ctx.db, schema)
    .query("deadlines")
    .withIndex("by_creation_time")
    .paginate({ cursor, numItems });
  for (const [seen, deadline] of found.page.entries()) {
    if (!(await hasRoomInPage(ctx))) return { ...found, seen };
    if (await isLost(ctx, deadline)) await watchDeadline(ctx, deadline);
  }
  return found;
}

async function isLost(ctx: MutationCtx, { job }: Doc<"deadlines">): Promise<boolean> {
  const scheduled = job === undefined ? null : await ctx.db.system.get("_scheduled_functions", job);
  return scheduled?.state.kind !== "pending" && scheduled?.state.kind !== "inProgress";
}

/** A page may read as much, in bytes of the records; what is scheduled for them comes on top. */
const MAX_PAGE_BYTES = 4 << 20;
