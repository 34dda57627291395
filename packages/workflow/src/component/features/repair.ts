import { PAGE_BYTES } from "../core/room.js";
import { PAGE, sweepNow } from "@stepwise/workpool/core";
import { paginator } from "convex-helpers/server/pagination";
import { internal } from "../_generated/api.js";
import { continuation, continueLater, hasRoomInPage } from "../core/continuations.js";
import type { MutationCtx, Step } from "../core/documents.js";
import { pool } from "../core/poolHost.js";
import { rearmDeadline } from "../engine/deadlineTimer.js";
import { scheduleEntry } from "../engine/entry.js";
import schema from "../schema.js";
import type { Plans } from "../validators.js";
import { repairCollector } from "./collecting.js";
import { isStranded } from "../engine/starting.js";
import { rearmLate, recoverStranded } from "./lost.js";
import { repairRetention } from "./retention.js";
import { repairTurn } from "./passTurn.js";

/** What is repaired, in this order. Events only if plans are given. */
const ORDER = ["steps", "deadlines", "turns", "collectors", "actions", "events"] as const;

/** Where a repair is. `most`: how many rows there was room for. */
type Place = { what: (typeof ORDER)[number]; cursor: string | null; most?: number; plans?: Plans };

/**
 * Schedules again what was lost: canceled, removed by hand, or not restored from a backup.
 * @param plans the deployed ones: a run of another plan that waits for an event without a timeout
 *   comes to its node again.
 */
export async function repairAll(ctx: MutationCtx, plans?: Plans): Promise<void> {
  // Actions that run or wait in the queue, and continuations, are the pool's.
  await sweepNow(ctx, pool);
  await repairRetention(ctx);
  const rest = await repairPage(ctx, { what: "steps", cursor: null, ...(plans && { plans }) });
  if (rest !== null) await continueLater(ctx, internal.features.repair.repairMore, rest);
}

export const repairMore = continuation<Place>(repairPage);

/** @returns the next page; null after the last. */
async function repairPage(ctx: MutationCtx, { what, cursor, most = PAGE, ...rest }: Place) {
  const found = await rowsOf(ctx, what, {
    cursor,
    numItems: most,
    maximumBytesRead: PAGE_BYTES,
  });
  for (const [done, row] of found.page.entries()) {
    // No cursor points behind the rows that are done, so the page begins anew, and ends there.
    if (!(await hasRoomInPage(ctx)))
      return { what, cursor, ...rest, ...(done > 0 ? { most: done } : {}) };
    if ("workflow" in row && !("state" in row)) await repairCollector(ctx, row);
    else if ("workflow" in row) await repairTurn(ctx, row, rest.plans);
    else if ("at" in row) await rearmDeadline(ctx, row);
    else await repairStep(ctx, what, row, rest.plans ?? []);
  }
  if (!found.isDone) return { what, cursor: found.continueCursor, ...rest };
  const next = ORDER[ORDER.indexOf(what) + 1];
  if (next === undefined || (next === "events" && rest.plans === undefined)) return null;
  return { what: next, cursor: null, ...rest };
}

async function rowsOf(
  ctx: MutationCtx,
  what: Place["what"],
  page: { cursor: string | null; numItems: number; maximumBytesRead: number },
) {
  const rows = paginator(ctx.db, schema);
  if (what === "deadlines")
    return await rows.query("deadlines").withIndex("by_creation_time").paginate(page);
  if (what === "turns")
    return await rows.query("turns").withIndex("by_creation_time").paginate(page);
  if (what === "collectors")
    return await rows.query("collectors").withIndex("by_creation_time").paginate(page);
  const steps = rows.query("steps");
  if (what === "steps")
    return await steps.withIndex("by_entry", (q) => q.gt("entersAt", undefined)).paginate(page);
  const [kind, state] =
    what === "actions" ? (["action", "running"] as const) : (["event", "waiting"] as const);
  return await steps
    .withIndex("by_kind_state", (q) => q.eq("kind", kind).eq("state", state))
    .paginate(page);
}

async function repairStep(ctx: MutationCtx, what: Place["what"], step: Step, plans: Plans) {
  if (step.paused === true) return;
  if (what === "steps") return await rearmLate(ctx, step);
  if (what === "actions") {
    if (await isStranded(ctx, step)) await recoverStranded(ctx, step);
    return;
  }
  if (step.dueAt !== undefined) return;
  const run = await ctx.db.get("runs", step.run);
  const deployed = plans.find(({ workflow }) => workflow === run?.workflow);
  if (run === null || deployed?.plan === run.plan) return;
  await scheduleEntry(ctx, step, {}, { kind: "entry", state: "pending", names: undefined });
}
