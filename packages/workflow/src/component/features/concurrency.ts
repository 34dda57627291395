import { lastWaitingOf, type Work } from "@stepwise/workpool/core";
import { type ObjectType, v } from "convex/values";
import { internal } from "../_generated/api.js";
import { internalQuery, type MutationCtx, type QueryCtx } from "../_generated/server.js";
import type { Run, RunId, Step, StepId } from "../core/documents.js";
import {
  childrenFrom,
  childrenIn,
  GOING,
  hasChildIn,
  hasManyChildren,
  isWaitingForChildren,
  lastChild,
  MOST_RUNS_READ,
  RUNS_AT_ONCE,
} from "../core/childRuns.js";
import { stepWithId } from "../core/steps.js";
import { beginRun } from "../engine/begin.js";
import { scheduleEntry } from "../engine/entry.js";
import { Starts } from "../engine/starting.js";
import { insertLater } from "./childPages.js";
import { addChildUndo, childOfClosedEnded, keepUndo } from "./compensation.js";
import { endRecount, failIfTooMany, failParent, isTolerated } from "./failing.js";
import { endRace, failRace, goOnAfterLosers, hasWon } from "./racing.js";

/** Starts waiting children in order, as many as may run. After the last, the parent goes on. */
export async function startWaiting(ctx: MutationCtx, id: StepId): Promise<void> {
  const parent = await ctx.db.get("steps", id);
  if (!isWaitingForChildren(parent) || parent.paused) return;
  if (await failIfTooMany(ctx, parent)) return;
  const free = await freePlaces(ctx, parent);
  const startable = await childrenIn(ctx, id, "pending").take(Math.min(free, RUNS_AT_ONCE));
  const starts = new Starts(ctx);
  for (const child of startable) {
    // Each is read with its input, which it takes along into the pool's queue.
    if (!(await starts.hasRoom())) {
      await starts.end();
      return await startWaitingLater(ctx, id);
    }
    // One that cannot begin may have ended its siblings.
    if (starts.hasFailed) await startIfWaiting(ctx, parent, child._id, starts.add);
    else await begin(ctx, parent, child, starts.add);
  }
  await starts.end();
  if (startable.length < free && startable.length === RUNS_AT_ONCE)
    await startWaitingLater(ctx, id);
  if (startable.length > 0 || parent.inserting === true) return;
  if (!(await hasChildIn(ctx, id, GOING))) await goOnAfterChildren(ctx, parent);
}

function allMayRun({ concurrency = 1, total = 0 }: Step): boolean {
  return concurrency >= total;
}

async function freePlaces(ctx: QueryCtx, parent: Step): Promise<number> {
  if (allMayRun(parent)) return Infinity;
  const { _id: id, concurrency = 1 } = parent;
  const last = await lastChild(ctx, id);
  if (last === null || last.index < concurrency) return Infinity;
  // If there are more, each starts its own successor.
  const most = Math.min(concurrency, MOST_RUNS_READ);
  let taken = (await childrenIn(ctx, id, "running").take(most)).length;
  if (taken < most) taken += (await childrenIn(ctx, id, "compensating").take(most - taken)).length;
  return taken < most ? concurrency - taken : 0;
}

/**
 * Says whether all places are taken: by a stale snapshot, and by the point read of a child that
 * waits still. So whoever has ended since has started another, and whoever ends conflicts with
 * nothing that was read here.
 */
export async function allPlacesAreTaken(ctx: MutationCtx, parent: StepId): Promise<boolean> {
  const { waitsForPlace } = internal.features.concurrency;
  const waiting = await ctx.runQuery(waitsForPlace, { parent }, { useStaleSnapshot: true });
  return (
    waiting !== null &&
    // guard: places-taken
    (await ctx.db.get("runs", waiting))?.state === "pending"
  );
}

/** The child that will wait longest for a place; null if none does, or a place is free. */
export const waitsForPlace = internalQuery({
  args: { parent: v.id("steps") },
  returns: v.union(v.null(), v.id("runs")),
  handler: async (ctx, { parent: id }) => {
    const parent = await ctx.db.get("steps", id);
    if (parent === null || (await freePlaces(ctx, parent)) > 0) return null;
    return (await childrenIn(ctx, id, "pending").order("desc").first())?._id ?? null;
  },
});

export async function startWaitingLater(ctx: MutationCtx, id: StepId): Promise<void> {
  const parent = await ctx.db.get("steps", id);
  // What was started here may have failed it.
  if (!isWaitingForChildren(parent) || parent.inserting) return;
  await ctx.db.patch("steps", id, { inserting: true });
  await insertLater(ctx, id);
}

/**
 * A child has ended: a waiting sibling starts, or the parent goes on, or fails. No child
 * writes a document that another child writes: a point read of a running sibling proves that it is
 * not the last.
 * @param of `hadBegun`: otherwise it makes no room. `undoable`: it may have something to undo.
 * @returns `work`: the sibling's first, for this slot. `undone`: the run above, if all is undone.
 */
export async function childEnded(
  ctx: MutationCtx,
  child: Run,
  { hadBegun, undoable }: { hadBegun: boolean; undoable: boolean },
): Promise<{ work?: Work | undefined; undone?: Run | null }> {
  const parent =
    child.parentStep === undefined ? null : await ctx.db.get("steps", child.parentStep);
  if (parent === null) return {};
  const isUndoable = undoable || parent.undoableBelow === true;
  if (isUndoable && child.state === "completed") await addChildUndo(ctx, child);
  else if (isUndoable && parent.keepsDone === true) await keepUndo(ctx, child);
  // guard: settled
  if (!isWaitingForChildren(parent)) {
    await goOnAfterLosers(ctx, parent);
    return { undone: await childOfClosedEnded(ctx, parent, child) };
  }
  if (hasWon(parent, child)) await endRace(ctx, parent, child);
  else if (child.state !== "completed" && !(await isTolerated(ctx, parent)))
    await failParent(ctx, parent, child);
  // Otherwise whoever resumes the run, or inserts the other children, goes on.
  else if (parent.paused !== true && !(parent.inserting === true && allMayRun(parent)))
    return { work: await makeRoom(ctx, parent, child, hadBegun) };
  return {};
}

/** Starts a sibling in the place of a child, or lets the parent go on. @returns its work. */
async function makeRoom(ctx: MutationCtx, parent: Step, child: Run, hadBegun: boolean) {
  const works: Work[] = [];
  const handOver = async (_ctx: MutationCtx, work: Work) => works.push(work) > 0;
  if (hadBegun && !allMayRun(parent) && (await startNextSibling(ctx, parent, child, handOver)))
    return works[0];
  const pending = await childrenIn(ctx, parent._id, "pending").first();
  if (pending !== null && (!hadBegun || (await startIfWaiting(ctx, parent, pending._id, handOver))))
    return works[0];
  // Among few the next read sees as much, and it reads less.
  if (hasManyChildren(parent) && (await isSiblingRunning(ctx, parent, child))) return undefined;
  if (
    // guard: inserting
    parent.inserting === true ||
    // guard: last-child
    (await hasChildIn(ctx, parent._id, GOING))
  )
    return undefined;
  if (parent.tolerate === undefined || !(await failIfTooMany(ctx, parent)))
    await goOnAfterChildren(ctx, parent);
  return undefined;
}

type Start = (ctx: MutationCtx, work: Work) => Promise<boolean>;

/** Starts the sibling `concurrency` places on, which no other child starts, or any that waits. */
// guard: same-sibling
async function startNextSibling(ctx: MutationCtx, parent: Step, child: Run, start: Start) {
  const { _id, concurrency = 1, total = 0 } = parent;
  const index = child.index + concurrency;
  const next = index < total ? await childrenFrom(ctx, _id, index).first() : null;
  if (next !== null && (await begin(ctx, parent, next, start)) !== null) return true;
  const from = index < total ? index : 0;
  const places = { from, among: total - from };
  const id = await pickOf(ctx, { parent: _id, state: "pending", ...places });
  return id !== null && (await startIfWaiting(ctx, parent, id, start));
}

/**
 * Proves by a point read that a sibling runs: the last in the queue, or one of as many as may run,
 * of those that started last. So children that end together seldom conflict.
 */
// guard: running-sibling
async function isSiblingRunning(ctx: MutationCtx, step: Step, { _id: but }: Run) {
  const { _id: parent, concurrency = 1, total = 0 } = step;
  // If all may run, they are anywhere up to the end.
  const within = allMayRun(step) ? { from: total - 1, among: total } : { among: concurrency };
  for (const inQueue of [true, false]) {
    const id = await pickOf(ctx, { parent, state: "running", ...within, but, inQueue });
    if (id === null) return false;
    if ((await ctx.db.get("runs", id))?.state === "running") return true;
  }
  return false;
}

const pickArgs = {
  parent: v.id("steps"),
  state: v.union(v.literal("pending"), v.literal("running")),
  /** How many places there are, from this one on or back. Default: from the last that runs. */
  among: v.number(),
  from: v.optional(v.number()),
  /** Not this one. */
  but: v.optional(v.id("runs")),
  /** The last that waits for a slot, if there is one: it will not end soon. */
  inQueue: v.optional(v.boolean()),
};

async function pickOf(ctx: MutationCtx, args: ObjectType<typeof pickArgs>): Promise<RunId | null> {
  const random = Math.random();
  return await ctx.runQuery(
    internal.features.concurrency.pick,
    { ...args, random },
    { useStaleSnapshot: true },
  );
}

/** A child that waits at a random place or behind it, or one that runs there or before it. */
export const pick = internalQuery({
  args: { ...pickArgs, random: v.number() },
  returns: v.union(v.null(), v.id("runs")),
  handler: async (ctx, { parent, state, among, from, but, inQueue, random }) => {
    const waiting = inQueue === true ? await lastWaitingOf(ctx, parent) : null;
    const step = waiting === null ? null : await stepWithId(ctx, waiting);
    if (step !== null && step.run !== but) return step.run;
    const isPending = state === "pending";
    const nearest = async (place?: number): Promise<Run | null> => {
      const children = ctx.db.query("runs").withIndex("by_parent_state", (q) => {
        const all = q.eq("parentStep", parent).eq("state", state);
        if (place === undefined) return all;
        return isPending ? all.gte("index", place) : all.lte("index", place);
      });
      for await (const child of children.order(isPending ? "asc" : "desc"))
        if (child._id !== but) return child;
      return null;
    };
    const start = from ?? (await nearest())?.index ?? 0;
    const away = Math.floor(random * (isPending ? among : Math.min(among, start + 1)));
    const found = await nearest(isPending ? start + away : start - away);
    return (found ?? (await nearest()))?._id ?? null;
  },
});

// guard: same-sibling
async function startIfWaiting(ctx: MutationCtx, parent: Step, id: RunId, start: Start) {
  const run = await ctx.db.get("runs", id);
  return run !== null && (await begin(ctx, parent, run, start)) !== null;
}

/** Starts a child. @returns whether it could begin; null if it no longer waits. */
async function begin(ctx: MutationCtx, parent: Step, run: Run, start: Start) {
  // guard: still-waiting
  if (run.state !== "pending" || run.first === undefined) return null;
  const begun = { state: "running" as const, first: undefined, startedAt: Date.now() };
  await ctx.db.patch("runs", run._id, begun);
  const parentOfMany = hasManyChildren(parent) ? parent._id : undefined;
  return await beginRun(ctx, run, run.first, { start, parentOfMany });
}

async function goOnAfterChildren(ctx: MutationCtx, parent: Step): Promise<void> {
  if (parent.race !== undefined) return await failRace(ctx, parent);
  await endRecount(ctx, parent);
  await scheduleEntry(ctx, parent, { event: { kind: "settled" } }, { settled: true });
}
