import {
  defaultMaxParallelism,
  hasRoom,
  readGate,
  ROOM_TO_COMPLETE,
  type Work,
} from "@stepwise/workpool/core";
import { getConvexSize, v, type ObjectType, type Value } from "convex/values";
import type { StepError } from "../definition/step-error.js";
import { internal } from "./_generated/api.js";
import type { Doc, Id } from "./_generated/dataModel.js";
import {
  internalMutation,
  internalQuery,
  type MutationCtx,
  type QueryCtx,
} from "./_generated/server.js";
import { cancelChildren, isCanceledLater } from "./ending.js";
import { ASLEEP, beginRun, newRecord, startWork, wake, type RunOf } from "./entering.js";
import { bytesOf, dropPages, insertLater, insertPage } from "./inserting.js";
import { cancelPending } from "./scheduled.js";
import { nameOf } from "./scope.js";
import { areTooManyBad, endCounting, letsPass } from "./tolerance.js";
import { childDone, childOfClosedEnded } from "./undoing.js";
import type { NewChildren, RunState } from "./validators.js";

/** Among how many siblings that run a child that ends picks one at random: those that end together seldom meet. */
const CANDIDATES = 64;
/** How often it does so, from a stale snapshot, before it reads the index itself. */
const PICKS = 3;
/** Up to so many children, of so many bytes, are inserted by the transaction that arrives; of more, the first page only. */
const MAX_AT_ONCE = 1_000;
const MAX_BYTES_AT_ONCE = 3 << 20;
/** So many children are started by one transaction, which may be executing for a second; the others by those that follow. */
const MAX_STARTED_AT_ONCE = 200;
/** How many children that run are counted at most. Where there are more, no seat is known to be free: each of them gives its own on. */
const MAX_COUNTED = 4_000;

/** Inserts the children of a parent and starts as many as may run at once. `arrived` is the parent's record if it has one already. */
export async function startChildren(
  ctx: MutationCtx,
  of: RunOf & Pick<Doc<"steps">, "held">,
  arrived: Doc<"steps"> | null,
  children: NewChildren,
): Promise<void> {
  const { begins, pages, keyed, tolerate } = children;
  const total = pages.reduce((sum, page) => sum + page.length, 0);
  // More than the pool runs at once would only wait in its line, and others behind them. One that is paused now will run some.
  const concurrency =
    children.concurrency ??
    ((await readGate(ctx))?.maxParallelism || (await defaultMaxParallelism(ctx)));
  const areFew = total <= MAX_AT_ONCE && bytesOf(pages) <= MAX_BYTES_AT_ONCE;
  const pagesAtOnce = areFew ? pages.length : 1;
  const record = {
    ...ASLEEP,
    kind: "children" as const,
    state: "waiting" as const,
    total,
    keyed,
    seats: Math.min(concurrency, total),
    ...(tolerate === undefined ? {} : { tolerate }),
    ...(children.single === true ? { single: true } : {}),
    ...(children.sensitive === true ? { sensitive: true } : {}),
    ...(begins.some(({ undoable }) => undoable) ? { undoableBelow: true } : {}),
    ...(pagesAtOnce < pages.length ? { inserting: true } : {}),
  };
  const fresh = {
    ...newRecord(of, children),
    ...(of.held === true ? { held: true } : {}),
    ...record,
  };
  const step = arrived?._id ?? (await ctx.db.insert("steps", fresh));
  if (arrived !== null) await ctx.db.patch("steps", step, record);
  const now = pages.slice(0, pagesAtOnce);
  const isRefused = now.some((page) => page.some(({ error }) => error !== undefined));
  const atOnce = of.held || isRefused ? 0 : Math.min(record.seats, MAX_STARTED_AT_ONCE);
  const running: Awaited<ReturnType<typeof insertPage>> = [];
  let from = 0;
  for (const [number, page] of pages.entries()) {
    if (number < pagesAtOnce)
      running.push(...(await insertPage(ctx, step, { from, begins, children: page }, atOnce)));
    else await ctx.db.insert("childPages", { step, from, begins, children: page });
    from += page.length;
  }
  if (!areFew) await insertLater(ctx, step, bytesOf(now) + getConvexSize(pages as Value));
  const ofMany = isCanceledLater(record) ? step : undefined;
  if (running.length === 0 || !(await beginInserted(ctx, step, running, ofMany)))
    await fillSeats(ctx, step);
  else if (running.length < record.seats) await fillLater(ctx, step);
}

/** Begins children that were inserted as running. Those that cannot wait for their turn after all. @returns whether there are none. */
async function beginInserted(
  ctx: MutationCtx,
  parent: Id<"steps">,
  inserted: Awaited<ReturnType<typeof insertPage>>,
  childOf: Id<"steps"> | undefined,
): Promise<boolean> {
  let goesOn = true;
  for (const { run: id, first } of inserted) {
    const run = await ctx.db.get("runs", id);
    // One that could not begin may have ended its siblings.
    if (run?.state !== "running") continue;
    if (!goesOn || !(await hasRoom(ctx, ROOM_TO_COMPLETE))) {
      goesOn = false;
      await ctx.db.patch("runs", id, { state: "pending", first });
    } else if (!(await beginRun(ctx, run, first, { childOf })))
      goesOn = (await ctx.db.get("steps", parent))?.joined !== true;
  }
  return goesOn;
}

/** Inserts the next page of children that are to be. */
export const insertNext = internalMutation({
  args: { step: v.id("steps") },
  returns: v.null(),
  handler: async (ctx, { step }) => {
    await insertNextPage(ctx, step);
    return null;
  },
});

async function insertNextPage(ctx: MutationCtx, step: Id<"steps">): Promise<void> {
  const parent = await ctx.db.get("steps", step);
  if (parent === null || parent.state !== "waiting" || parent.joined === true) return;
  const [page, following] = await ctx.db
    .query("childPages")
    .withIndex("by_step", (q) => q.eq("step", step))
    .take(2);
  if (page !== undefined) {
    await insertPage(ctx, step, page);
    await ctx.db.delete("childPages", page._id);
  }
  if (following !== undefined) await insertLater(ctx, step, bytesOf([page?.children ?? []]));
  else await ctx.db.patch("steps", step, { ...ASLEEP, inserting: undefined });
  await fillSeats(ctx, step);
}

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
async function fillLater(ctx: MutationCtx, id: Id<"steps">): Promise<void> {
  const parent = await ctx.db.get("steps", id);
  // What was started here may have failed it.
  if (parent === null || parent.state !== "waiting" || parent.joined || parent.inserting) return;
  await ctx.db.patch("steps", id, { inserting: true });
  await insertLater(ctx, id);
}

/** Fails a parent of whose children more have ended badly than it lets pass, for the first of them. @returns whether it did. */
export async function failIfTooManyBad(ctx: MutationCtx, parent: Doc<"steps">): Promise<boolean> {
  for (const state of ["failed", "canceled", "timedOut"] as const) {
    const bad = await childrenIn(ctx, parent._id, state).first();
    if (bad === null) continue;
    if (!(await areTooManyBad(ctx, parent))) return false;
    await failParent(ctx, parent, bad);
    return true;
  }
  return false;
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
 * @returns the first work of the sibling that has its seat: where the child holds a slot of the pool, that is handed over too.
 */
export async function childEnded(
  ctx: MutationCtx,
  child: Doc<"runs">,
  { hadSeat, undoable }: { hadSeat: boolean; undoable: boolean },
): Promise<Work | undefined> {
  const parent =
    child.parentStep === undefined ? null : await ctx.db.get("steps", child.parentStep);
  if (parent === null) return undefined;
  const isUndoable = undoable || parent.undoableBelow === true;
  if (isUndoable && child.state === "completed") await childDone(ctx, child);
  if (parent.state !== "waiting" || parent.joined === true)
    await childOfClosedEnded(ctx, parent, child);
  else if (child.state !== "completed" && !(await letsPass(ctx, parent)))
    await failParent(ctx, parent, child);
  // Whoever goes on with the run fills its seats; whoever starts the others, each in a seat of its own, looks afterwards whether all have ended.
  else if (parent.held !== true && !(parent.inserting === true && hasSeatForEach(parent)))
    return await makeRoom(ctx, parent, child, hadSeat);
  return undefined;
}

/** Gives a child's seat on, or has the parent go on. @returns as {@link childEnded}. */
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
    internal.children.pick,
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

/** A parent's children in a state, in their order. */
function childrenIn(ctx: QueryCtx, parent: Id<"steps">, state: RunState) {
  return ctx.db
    .query("runs")
    .withIndex("by_parent_state", (q) => q.eq("parentStep", parent).eq("state", state));
}

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

/** The first bad end decides: the error does not change when others end. */
async function failParent(
  ctx: MutationCtx,
  parent: Doc<"steps">,
  child: Doc<"runs">,
): Promise<void> {
  const run = await ctx.db.get("runs", parent.run);
  if (run === null) throw new Error(`The run of the parent "${parent._id}" is gone`);
  const key = child.childKey ?? String(child.index);
  const which = parent.single === true ? "The child" : `Child ${key}`;
  // What of the child could not be undone is listed once, by the run at the top.
  const { compensationErrors, ...cause }: StepError = child.error ?? {
    message: `The child was ${child.state}`,
    kind: "canceled",
    workflow: child.workflow,
    node: "",
    attempt: 1,
  };
  const error: StepError = {
    message: `${which} of "${nameOf(parent)}" (${child.workflow}) failed: ${cause.message}`,
    kind: "childFailed",
    workflow: run.workflow,
    node: parent.stage,
    attempt: 1,
    ...(parent.single === true ? {} : { key }),
    cause: withCauses(cause, MAX_CAUSES),
    ...(compensationErrors === undefined ? {} : { compensationErrors }),
  };
  await failWith(ctx, parent, error);
}

/** Fails a parent: its run is told so, and its other children are canceled. */
export async function failWith(
  ctx: MutationCtx,
  parent: Doc<"steps">,
  error: StepError,
): Promise<void> {
  if (parent.job !== undefined) await cancelPending(ctx, parent.job);
  if (parent.inserting === true) await dropPages(ctx, parent._id);
  await endCounting(ctx, parent);
  const fields = { joined: true, inserting: undefined };
  await wake(ctx, parent, { event: { kind: "failed", error } }, fields);
  await cancelChildren(ctx, parent);
}

/** How many causes stand inside each other: a document may be nested 16 deep, and the innermost has data. */
const MAX_CAUSES = 6;

/** The error with its causes; of a longer chain the innermost stands in the place of those between. */
function withCauses(error: StepError, most: number): StepError {
  if (error.cause === undefined) return error;
  if (most > 1) return { ...error, cause: withCauses(error.cause, most - 1) };
  let innermost = error.cause;
  while (innermost.cause !== undefined) innermost = innermost.cause;
  return innermost;
}
