import { isWaiting, LATE_MS, slotOf } from "@stepwise/workpool/core";
import { type Infer, v } from "convex/values";
import { childrenIn, isCalledOff } from "../core/childRuns.js";
import type { QueryCtx, Run, Step } from "../core/documents.js";
import {
  isAction,
  isCollecting,
  isEntry,
  isHolding,
  isInPool,
  isParent,
  isTurn,
  takesEvents,
} from "../core/kinds.js";
import { pathBelow, placeIn } from "../core/paths.js";
import { hasRoomToRead, MOST_COUNTED } from "../core/room.js";
import { isLost } from "../core/scheduled.js";
import { activeSteps, stepWithId } from "../core/steps.js";
import { isStranded } from "../engine/starting.js";
import { DOING, type Doing, vDoing } from "../validators.js";

/* What runs that go on do. It is stored nowhere: their open step records tell it. */

/** Where a run is, what it does there, since when, and until when it waits. */
export const vAt = v.object({
  /** From the run down: `reviews/2/approve` in child 2 of `reviews`. */
  path: v.string(),
  doing: vDoing,
  since: v.number(),
  dueAt: v.optional(v.number()),
});
export type At = Infer<typeof vAt>;

/** @param state of an action in the queue it is `pending`, which its record does not say */
export function doingOf({ kind, state }: Pick<Step, "kind" | "state">): Doing | undefined {
  const step = { kind };
  if (isHolding(step) || isParent(step) || isEntry(step)) return undefined;
  if (isTurn(step)) return "waitingForTurn";
  if (isCollecting(step)) return "collecting";
  if (isAction(step) && state === "pending") return "queued";
  if (state !== "waiting") return "running";
  if (isAction(step)) return "retrying";
  return takesEvents(step) ? "waitingForEvent" : "sleeping";
}

async function doingNow(ctx: QueryCtx, step: Step): Promise<Doing> {
  if (await isStalled(ctx, step)) return "stalled";
  const isQueued = isInPool(step) && (await isWaiting(ctx, step._id));
  return doingOf(isQueued ? { kind: step.kind, state: "pending" } : step) ?? "running";
}

/** Says whether a step is stuck: the watchdog finds what is due soon, and a repair everything. */
export async function isStalled(ctx: QueryCtx, step: Step): Promise<boolean> {
  // What is called off has done nothing where it was due, and is about to be canceled.
  return (await isStuck(ctx, step)) && !(await isCalledOff(ctx, step));
}

async function isStuck(ctx: QueryCtx, step: Step): Promise<boolean> {
  if (step.paused === true) return false;
  if (await isStranded(ctx, step)) return true;
  if (isInPool(step) && step.entersAt === undefined) {
    const slot = await slotOf(ctx, step._id);
    return slot?.job !== undefined && (await isLost(ctx, slot));
  }
  return step.entersAt !== undefined && (await isLost(ctx, step));
}

export function atStep(path: string, doing: Doing, { startedAt: since, dueAt }: Step): At {
  return { path, doing, since, dueAt };
}

/** How many runs below each listed one are looked at. A page stays cheap; one is enough to see. */
const BELOW = 6;

/**
 * Where a run is. Undefined unless it goes on, collects starts or waits for its turn, and if there
 * is no room to read that.
 */
export async function placeOfRun(ctx: QueryCtx, run: Run): Promise<At | undefined> {
  const waits = run.state === "pending" && (run.one ?? run.collects) !== undefined;
  if (run.state !== "running" && run.state !== "compensating" && !waits) return undefined;
  let left = BELOW;
  let found: At | undefined;
  const look = async (at: Run, above: string): Promise<void> => {
    if (!(await hasRoomToRead(ctx))) return;
    const step = await innermost(ctx, at._id);
    if (step === undefined || (waits && !isTurn(step) && !isCollecting(step))) return;
    const path = above + placeIn(step, at);
    const children = isParent(step) ? await childrenIn(ctx, step._id, "running").take(BELOW) : [];
    for (const child of children) if (left-- > 0) await look(child, pathBelow(path, step, child));
    if (children.length > 0) return;
    const place = atStep(path, await doingNow(ctx, step), step);
    if (found === undefined || DOING.indexOf(place.doing) < DOING.indexOf(found.doing))
      found = place;
  };
  await look(run, "");
  return found;
}

/** The open record of a run that holds no other. */
async function innermost(ctx: QueryCtx, run: Run["_id"]): Promise<Step | undefined> {
  for await (const step of activeSteps(ctx, run)) if (!isHolding(step)) return step;
  return undefined;
}

/**
 * Steps that are stalled: those whose entry is late, those whose slot has lost its function, and
 * actions that are in neither a slot nor the queue.
 */
export async function stalledSteps(ctx: QueryCtx): Promise<Step[]> {
  const late = Date.now() - LATE_MS;
  const entries = await ctx.db
    .query("steps")
    .withIndex("by_entry", (q) => q.gte("entersAt", 0).lt("entersAt", late))
    .take(MOST_COUNTED);
  const slots = await ctx.db
    .query("slots")
    .withIndex("by_work", (q) => q.gt("work", ""))
    .take(MOST_COUNTED);
  const actions = await ctx.db
    .query("steps")
    .withIndex("by_kind_state", (q) => q.eq("kind", "action").eq("state", "running"))
    .take(MOST_COUNTED);
  const found = new Map<string, Step>([...entries, ...actions].map((step) => [step._id, step]));
  for (const { work = "" } of slots) {
    const step = found.has(work) ? null : await stepWithId(ctx, work);
    if (step !== null) found.set(step._id, step);
  }
  const stalled: Step[] = [];
  for (const step of found.values())
    if (step.startedAt < late && (await isStalled(ctx, step))) stalled.push(step);
  return stalled;
}
