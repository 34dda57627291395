import { keepLooking, leaveRoom, messageOf, ROOM_TO_COMPLETE } from "@stepwise/workpool/core";
import { v } from "convex/values";
import { internal } from "./_generated/api.js";
import type { Doc } from "./_generated/dataModel.js";
import {
  internalMutation,
  internalQuery,
  type MutationCtx,
  type QueryCtx,
} from "./_generated/server.js";
import { insertLater } from "./inserting.js";
import { failStep, wake } from "./entering.js";
import { pool } from "./line.js";
import { logStuck } from "./log.js";
import { seeInTurn } from "./looking.js";
import { isOwnJob, isToCome, LATE_MS, stateOfJob } from "./scheduled.js";
import { nameOf } from "./scope.js";
import { ACTIVE_STATES, type Event } from "./validators.js";

/** A look sees to what is due as soon as this, in ms; what sleeps longer does not keep the watchdog on. */
const SOON_MS = 60_000;

/**
 * What the pool's watchdog also looks after: steps that should have been woken. A scheduled mutation that throws is gone for good, and one
 * may be canceled or cleaned away by hand.
 * @returns when to look again, in ms since the epoch; null where nothing is due soon.
 */
export async function lookAfterWaking(ctx: MutationCtx, idle: boolean): Promise<number | null> {
  const now = Date.now();
  const found = await seeInTurn(ctx, "steps", (step) => seeTo(ctx, step));
  if (found === "more") return now;
  // What is still to come, though it is late, may fail when it does.
  if (found === "all") return now + LATE_MS + 1;
  const seen = await ctx.runQuery(internal.waking.nextWaking, {}, { useStaleSnapshot: true });
  // That there is none is concluded from the index itself.
  const next = seen ?? (idle ? await nextWakingOf(ctx) : null);
  return next === null ? null : next + LATE_MS + 1;
}

/** When the next step is to be woken, if that is soon; for reading from a stale snapshot. */
export const nextWaking = internalQuery({
  args: {},
  returns: v.union(v.number(), v.null()),
  handler: async (ctx) => await nextWakingOf(ctx),
});

async function nextWakingOf(ctx: QueryCtx): Promise<number | null> {
  const next = await ctx.db
    .query("steps")
    .withIndex("by_wake", (q) => q.gt("wakeAt", undefined).lt("wakeAt", Date.now() + SOON_MS))
    .first();
  return next?.wakeAt ?? null;
}

/** Wakes a step again whose scheduled function will not come. One that failed does so once more, with less to do; then its run is told. */
export async function seeTo(ctx: MutationCtx, step: Doc<"steps">): Promise<void> {
  if (step.held === true || !ACTIVE_STATES.some((state) => state === step.state)) {
    await ctx.db.patch("steps", step._id, { wakeAt: undefined });
    return;
  }
  const state = await stateOfJob(ctx, step.job);
  if (isToCome(state)) return;
  if (state?.kind !== "failed" || step.isLastTry !== true)
    return await rearm(ctx, step, state?.kind === "failed");
  const run = await ctx.db.get("runs", step.run);
  const message = `The run could not go on at "${nameOf(step)}": ${state.error}`;
  if (run === null) return;
  try {
    const transactionLimits = await leaveRoom(ctx, ROOM_TO_COMPLETE);
    await ctx.runMutation(internal.waking.fail, { step: step._id, message }, { transactionLimits });
  } catch (error) {
    await logStuck(ctx, run, step, messageOf(error));
  }
}

/** Something was due: where its scheduled function has failed, or is gone, it goes on all the same. */
export const checkLate = internalMutation({
  args: { step: v.id("steps") },
  returns: v.null(),
  handler: async (ctx, { step: id }) => {
    const step = await ctx.db.get("steps", id);
    if (step === null || !(await isOwnJob(ctx, step.reserve))) return null;
    if (isToCome(await stateOfJob(ctx, step.job))) await keepLooking(ctx, pool);
    else await seeTo(ctx, step);
    return null;
  },
});

/** The run of a step cannot go on there. A nested transaction: what that comes to concerns no other run that is looked after. */
export const fail = internalMutation({
  args: { step: v.id("steps"), message: v.string() },
  returns: v.null(),
  handler: async (ctx, { step: id, message }) => {
    const step = await ctx.db.get("steps", id);
    const run = step === null ? null : await ctx.db.get("runs", step.run);
    if (step !== null && run !== null) await failStep(ctx, step, run, { kind: "thrown", message });
    return null;
  },
});

/** Schedules anew what goes on with a step that waits: at once where it is due. An action that is in the pool is the pool's. */
export async function rearm(
  ctx: MutationCtx,
  step: Doc<"steps">,
  isLastTry = false,
): Promise<void> {
  if (step.inserting === true) return await insertLater(ctx, step._id);
  const event = eventOf(step);
  if (event === undefined) return;
  const at = Math.max(Date.now(), step.wakeAt ?? step.dueAt ?? 0);
  await wake(ctx, step, { event, at, isLastTry });
}

/** What is said to a step when it is woken; undefined where nothing is. */
function eventOf({ kind, state, event, dueAt }: Doc<"steps">): Event | undefined {
  if (event !== undefined) return event;
  if (kind === "entry" || state === "pending") return { kind: "arrive" };
  if (kind === "action") return state === "waiting" ? { kind: "arrive" } : undefined;
  if (kind === "children") return undefined;
  if (dueAt === undefined || (kind !== "sleep" && kind !== "event")) return undefined;
  return { kind: "due", of: kind };
}
