import { ROOM_TO_COMPLETE, hasRoom, type Work } from "@stepwise/workpool/core";
import { v, type ObjectType } from "convex/values";
import { internal } from "../_generated/api.js";
import type { Doc, Id } from "../_generated/dataModel.js";
import { internalQuery, type MutationCtx, type QueryCtx } from "../_generated/server.js";
import { isCanceledLater } from "../core/runs.js";
import { childrenIn } from "../core/steps.js";
import { beginRun, startWork } from "../engine/begin.js";
import { wake } from "../engine/entry.js";
import { insertLater } from "./childPages.js";
import { childDone, childOfClosedEnded } from "./compensation.js";
import { endCounting, failIfTooManyBad, failParent, letsPass } from "./failing.js";

/** Among how many siblings that run a child that ends picks one at random: those that end together seldom meet. */
const CANDIDATES = 64;

/** How often it does so, from a stale snapshot, before it reads the index itself. */
const PICKS = 3;

/** So many children are started by one transaction, which may be executing for a second; the others by those that follow. */
export const MAX_STARTED_AT_ONCE = 200;

/** How many children that run are counted at most. Where there are more, no seat is known to be free: each of them gives its own on. */
const MAX_COUNTED = 4_000;

/** Starts children that wait, in their order, until as many run as may; goes on where there is none left. */
export async function fillSeats(ctx: MutationCtx, id: Id<"steps">): Promise<void> {
  const parent = await ctx.db.get("steps", id);
  if (parent === null || parent.state !== "waiting" || parent.joined || parent.held) return;
  if (await failIfTooManyBad(ctx, parent)) return;
  const free = await freeSeats(ctx, parent);
  const startable = await childrenIn(ctx, id, "pending").take(Math.min(free, MAX_STARTED_AT_ONCE));
  let hasFailed = false;
  for (const child of startable) {
    // Each is read with its input, which it takes along into the pool's line.
    if (!(await hasRoom(ctx, ROOM_TO_COMPLETE))) return await fillLater(ctx, id);
    // One that cannot begin may have ended its siblings.
    if (hasFailed) await takeSeat(ctx, parent, child._id, startWork);
    else hasFailed = (await begin(ctx, parent, child, startWork)) === false;
  }
  if (startable.length < free && startable.length === MAX_STARTED_AT_ONCE) await fillLater(ctx, id);
  if (startable.length > 0 || parent.inserting === true) return;
  if (!(await isAnyGoing(ctx, id))) await join(ctx, parent);
}

/** Whether each child has a seat of its own: then none waits for another to end. */
function hasSeatForEach({ seats = 1, total = 0 }: Doc<"steps">): boolean {
  return seats >= total;
}

/** How many more of a parent's children may run. While there are no more of them than seats, those that run need not be counted. */
async function freeSeats(ctx: MutationCtx, parent: Doc<"steps">): Promise<number> {
  if (hasSeatForEach(parent)) return Infinity;
  const { _id: id, seats = 1 } = parent;
  const last = await ctx.db
    .query("runs")
    .withIndex("by_parent", (q) => q.eq("parentStep", id))
    .order("desc")
    .first();
  if (last === null || last.index < seats) return Infinity;
  const most = Math.min(seats, MAX_COUNTED);
  let taken = (await childrenIn(ctx, id, "running").take(most)).length;
  if (taken < most) taken += (await childrenIn(ctx, id, "compensating").take(most - taken)).length;
  return taken < most ? seats - taken : 0;
}

/** The rest of the seats is filled in a transaction of its own: as if there were a page to insert first. */
export async function fillLater(ctx: MutationCtx, id: Id<"steps">): Promise<void> {
  const parent = await ctx.db.get("steps", id);
  // What was started here may have failed it.
  if (parent === null || parent.state !== "waiting" || parent.joined || parent.inserting) return;
  await ctx.db.patch("steps", id, { inserting: true });
  await insertLater(ctx, id);
}

/**
 * A child has ended: its seat goes to a sibling that waits; if it was the last, the parent goes on; if it ended badly, and the parent does not
 * let that pass, the parent fails.
 *
 * A child writes no document that another child writes. That it is not the last one it proves by a point read of one sibling that still
 * runs, found without a dependency in a stale snapshot; only the last ones read the index itself. So a thousand children neither fight
 * over a counter nor wait for somebody who counts.
 * @param of `hadSeat`: it had begun; one that was canceled before has no seat to give. `undoable`: it is complete, and may have done
 *   something that can be undone. Where it began under code that had a compensation, what it has done is looked for in any case.
 * @returns `work`: the first of the sibling that has its seat; where the child holds a slot of the pool, that is handed over too. `undone`: the
 *   run above, if that was compensating and nothing is left to undo.
 */
export async function childEnded(
  ctx: MutationCtx,
  child: Doc<"runs">,
  { hadSeat, undoable }: { hadSeat: boolean; undoable: boolean },
): Promise<{ work?: Work | undefined; undone?: Doc<"runs"> | null }> {
  const parent =
    child.parentStep === undefined ? null : await ctx.db.get("steps", child.parentStep);
  if (parent === null) return {};
  const isUndoable = undoable || parent.undoableBelow === true;
  if (isUndoable && child.state === "completed") await childDone(ctx, child);
  if (parent.state !== "waiting" || parent.joined === true)
    return { undone: await childOfClosedEnded(ctx, parent, child) };
  if (child.state !== "completed" && !(await letsPass(ctx, parent)))
    await failParent(ctx, parent, child);
  // Whoever goes on with the run fills its seats; whoever starts the others, each in a seat of its own, looks afterwards whether all have ended.
  else if (parent.held !== true && !(parent.inserting === true && hasSeatForEach(parent)))
    return { work: await makeRoom(ctx, parent, child, hadSeat) };
  return {};
}

/** Gives a child's seat on, or has the parent go on. @returns the sibling's work. */
async function makeRoom(
  ctx: MutationCtx,
  parent: Doc<"steps">,
  child: Doc<"runs">,
  hadSeat: boolean,
): Promise<Work | undefined> {
  const works: Work[] = [];
  const handOver = async (_ctx: MutationCtx, work: Work) => works.push(work) > 0;
  if (hadSeat && !hasSeatForEach(parent) && (await passSeat(ctx, parent, child, handOver)))
    return works[0];
  const pending = await childrenIn(ctx, parent._id, "pending").first();
  if (pending !== null && (!hadSeat || (await takeSeat(ctx, parent, pending._id, handOver))))
    return works[0];
  if (await isSiblingRunning(ctx, parent, child)) return undefined;
  if (parent.inserting === true || (await isAnyGoing(ctx, parent._id))) return undefined;
  if (parent.tolerate === undefined || !(await failIfTooManyBad(ctx, parent)))
    await join(ctx, parent);
  return undefined;
}

/** Has the first work of a child begin. @returns whether it could. */
type Start = (ctx: MutationCtx, work: Work) => Promise<boolean>;

/**
 * Gives a child's seat to a sibling that waits: to the next that is its own to give it to, so that those which end together never meet; where
 * there is none left, to any. @returns whether it found one.
 */
async function passSeat(
  ctx: MutationCtx,
  parent: Doc<"steps">,
  child: Doc<"runs">,
  start: Start,
): Promise<boolean> {
  const { _id, seats = 1, total = 0 } = parent;
  for (let index = child.index + seats, n = 0; index < total && n < PICKS; index += seats, n++) {
    const next = await ctx.db
      .query("runs")
      .withIndex("by_parent", (q) => q.eq("parentStep", _id).eq("index", index))
      .first();
    if (next === null) break;
    if ((await begin(ctx, parent, next, start)) !== null) return true;
  }
  for (let n = 0; n < PICKS; n++) {
    const [id] = await pickOf(ctx, { parent: _id, state: "pending", among: total, total });
    if (id === undefined) return false;
    if (await takeSeat(ctx, parent, id, start)) return true;
  }
  return false;
}

/** Proves by a point read that a sibling runs, of those that have started last: they run longest. */
async function isSiblingRunning(
  ctx: MutationCtx,
  { _id: parent, total = 0 }: Doc<"steps">,
  child: Doc<"runs">,
): Promise<boolean> {
  for (let pick = 0; pick < PICKS; pick++) {
    const found = await pickOf(ctx, { parent, state: "running", among: CANDIDATES, total });
    const id = found.find((one) => one !== child._id);
    if (id === undefined) return false;
    if ((await ctx.db.get("runs", id))?.state === "running") return true;
  }
  return false;
}

const pickArgs = {
  parent: v.id("steps"),
  state: v.union(v.literal("pending"), v.literal("running")),
  among: v.number(),
  total: v.number(),
};

async function pickOf(ctx: MutationCtx, args: ObjectType<typeof pickArgs>): Promise<Id<"runs">[]> {
  const random = Math.random();
  return await ctx.runQuery(
    internal.features.concurrency.pick,
    { ...args, random },
    { useStaleSnapshot: true },
  );
}

/**
 * Up to two of a parent's children: of those that wait from some place behind the first one on, of those that run from some
 * place before the last one.
 */
export const pick = internalQuery({
  args: { ...pickArgs, random: v.number() },
  returns: v.array(v.id("runs")),
  handler: async (ctx, { parent, state, among, total, random }) => {
    const order = state === "pending" ? "asc" : "desc";
    const from = (place?: number) =>
      ctx.db
        .query("runs")
        .withIndex("by_parent_state", (q) => {
          const all = q.eq("parentStep", parent).eq("state", state);
          if (place === undefined) return all;
          return state === "pending" ? all.gte("index", place) : all.lte("index", place);
        })
        .order(order);
    const outermost = await from().first();
    if (outermost === null) return [];
    const { _id, index } = outermost;
    const places = Math.min(among, state === "pending" ? total - index : index + 1);
    const behind = Math.floor(random * places);
    const place = state === "pending" ? index + behind : index - behind;
    const picked = behind === 0 ? null : await from(place).first();
    if (picked !== null && picked._id !== _id) return [picked._id, _id];
    return (await from().take(2)).map(({ _id }) => _id);
  },
});

/** Whether a child has begun and not ended. */
async function isAnyGoing(ctx: QueryCtx, parent: Id<"steps">): Promise<boolean> {
  for (const state of ["running", "compensating"] as const)
    if ((await childrenIn(ctx, parent, state).first()) !== null) return true;
  return false;
}

/** Starts a child that waits for its turn. @returns whether it still did. */
async function takeSeat(
  ctx: MutationCtx,
  parent: Doc<"steps">,
  id: Id<"runs">,
  start: Start,
): Promise<boolean> {
  const run = await ctx.db.get("runs", id);
  return run !== null && (await begin(ctx, parent, run, start)) !== null;
}

/** Starts a child. @returns whether it could begin; null where it does not wait for its turn any more. */
async function begin(
  ctx: MutationCtx,
  parent: Doc<"steps">,
  run: Doc<"runs">,
  start: Start,
): Promise<boolean | null> {
  if (run.state !== "pending" || run.first === undefined) return null;
  await ctx.db.patch("runs", run._id, {
    state: "running",
    first: undefined,
    startedAt: Date.now(),
  });
  const childOf = isCanceledLater(parent) ? parent._id : undefined;
  return await beginRun(ctx, run, run.first, { start, childOf });
}

async function join(ctx: MutationCtx, parent: Doc<"steps">): Promise<void> {
  await endCounting(ctx, parent);
  const { single } = parent;
  const event = { kind: "joined" as const, ...(single === undefined ? {} : { single }) };
  await wake(ctx, parent, { event }, { joined: true });
}
