import { lookNow } from "@stepwise/workpool/core";
import { paginator } from "convex-helpers/server/pagination";
import type { PaginationResult } from "convex/server";
import { v } from "convex/values";
import { internal } from "../_generated/api.js";
import { internalMutation, type MutationCtx } from "../_generated/server.js";
import { goOn, goOnWith, hasRoomInPage } from "../core/continuations.js";
import { pool } from "../core/pool.js";
import { rewatchDeadline } from "../engine/deadlines.js";
import { wake } from "../engine/entry.js";
import schema from "../schema.js";
import { continuationArgs, type Plans } from "../validators.js";
import { isStranded, recoverStranded, seeTo } from "./lost.js";
import { repairRetention } from "./retention.js";
import { lookAfterContinuations } from "./watch.js";

/** How many records a page looks at, at most. */
const PAGE = 100;

/**
 * Where a repair has come to: first the steps that are to be woken, then the deadlines, then the actions that the pool has lost sight of,
 * then, where plans are given, what waits for an event.
 * `most`: how many there was room for at the cursor.
 */
type Place = {
  table: "steps" | "deadlines" | "actions" | "events";
  cursor: string | null;
  most?: number;
  plans?: Plans;
};

/**
 * Has everything go on whose scheduled function was lost: canceled by hand, cleaned away, or left behind by a restore from a backup, which
 * brings none back. What is still scheduled is left alone. A page in this transaction, each further one in its own.
 * @param plans those that are deployed. A run of another that waits for an event, without a limit, comes to its node once more: the node may be
 * gone, and then nobody can send it that event.
 */
export async function repairAll(ctx: MutationCtx, plans?: Plans): Promise<void> {
  // Actions that run, and those that wait in line, are the pool's.
  await lookNow(ctx, pool);
  await lookAfterContinuations(ctx, false);
  await repairRetention(ctx);
  const rest = await repairPage(ctx, { table: "steps", cursor: null, ...(plans && { plans }) });
  if (rest !== null) await goOn(ctx, internal.features.repair.repairMore, rest);
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
  { table, cursor, most = PAGE, ...rest }: Place,
): Promise<Place | null> {
  const { isDone, continueCursor, seen } =
    table === "steps"
      ? await repairSteps(ctx, cursor, most)
      : table === "deadlines"
        ? await repairDeadlines(ctx, cursor, most)
        : table === "actions"
          ? await repairActions(ctx, cursor, most)
          : await repairEvents(ctx, cursor, most, rest.plans ?? []);
  // No cursor leads behind what was seen to, and to see to it again takes nearly as much: so the page begins anew, and ends there.
  if (seen !== undefined) return { table, cursor, ...rest, ...(seen > 0 ? { most: seen } : {}) };
  if (!isDone) return { table, cursor: continueCursor, ...rest };
  if (table === "steps") return { table: "deadlines", cursor: null, ...rest };
  if (table === "deadlines") return { table: "actions", cursor: null, ...rest };
  return table === "actions" && rest.plans !== undefined
    ? { table: "events", cursor: null, ...rest }
    : null;
}

interface Repaired {
  isDone: boolean;
  continueCursor: string | null;
  /** How many of the page were seen to, where there was no room for all: what is scheduled is read with its arguments. */
  seen?: number;
}

/** Sees to the records of a page, as far as there is room. */
async function seenTo<Row>(
  ctx: MutationCtx,
  { page, isDone, continueCursor }: PaginationResult<Row>,
  repair: (row: Row) => Promise<void>,
): Promise<Repaired> {
  for (const [seen, row] of page.entries()) {
    if (!(await hasRoomInPage(ctx))) return { isDone, continueCursor, seen };
    await repair(row);
  }
  return { isDone, continueCursor };
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
  return await seenTo(ctx, found, async (step) => {
    if (step.held !== true) await seeTo(ctx, step);
  });
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
  return await seenTo(ctx, found, (deadline) => rewatchDeadline(ctx, deadline));
}

async function repairActions(
  ctx: MutationCtx,
  cursor: string | null,
  numItems: number,
): Promise<Repaired> {
  const found = await paginator(ctx.db, schema)
    .query("steps")
    .withIndex("by_kind_state", (q) => q.eq("kind", "action").eq("state", "running"))
    .paginate({ cursor, numItems, maximumBytesRead: MAX_PAGE_BYTES });
  return await seenTo(ctx, found, async (step) => {
    if (await isStranded(ctx, step)) await recoverStranded(ctx, step);
  });
}

/** Those that go on with another plan than the one they started under come to their node once more, as it is now. */
async function repairEvents(
  ctx: MutationCtx,
  cursor: string | null,
  numItems: number,
  plans: Plans,
): Promise<Repaired> {
  const found = await paginator(ctx.db, schema)
    .query("steps")
    .withIndex("by_kind_state", (q) => q.eq("kind", "event").eq("state", "waiting"))
    .paginate({ cursor, numItems, maximumBytesRead: MAX_PAGE_BYTES });
  const deployed = new Map(plans.map(({ workflow, plan }) => [workflow, plan]));
  return await seenTo(ctx, found, async (step) => {
    if (step.dueAt !== undefined || step.held === true) return;
    const run = await ctx.db.get("runs", step.run);
    if (run === null || deployed.get(run.workflow) === run.plan) return;
    await wake(ctx, step, {}, { kind: "entry", state: "pending", names: undefined });
  });
}

/** A page may read as much, in bytes of the records; what is scheduled for them comes on top. */
const MAX_PAGE_BYTES = 4 << 20;
