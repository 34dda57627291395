import { type Infer, v } from "convex/values";
import { FEW_CHILDREN } from "../../rules.js";
import type { RunState, Token } from "../validators.js";
import type { QueryCtx, Run, Step, StepId } from "./documents.js";
import { PAGE_BYTES } from "./room.js";
import { stepWithId } from "./steps.js";

export function childrenIn(ctx: QueryCtx, parent: StepId, state: RunState, from = 0) {
  return ctx.db
    .query("runs")
    .withIndex("by_parent_state", (q) =>
      q.eq("parentStep", parent).eq("state", state).gte("index", from),
    );
}

export function childrenFrom(ctx: QueryCtx, parent: StepId, from = 0) {
  return ctx.db
    .query("runs")
    .withIndex("by_parent", (q) => q.eq("parentStep", parent).gte("index", from));
}

export async function lastChild(ctx: QueryCtx, parent: StepId): Promise<Run | null> {
  return await childrenFrom(ctx, parent).order("desc").first();
}

/** What messages and views call a child among its siblings. */
export const keyShown = ({ called, childKey }: Run): string | undefined => called ?? childKey;

export const GOING = ["running", "compensating"] as const;
export const UNENDED = ["compensating", "running", "pending"] as const;

/** Says whether a child is in one of the states. It reads the last one, which is canceled last. */
export async function hasChildIn(
  ctx: QueryCtx,
  parent: StepId,
  states: readonly (typeof UNENDED)[number][],
): Promise<boolean> {
  for (const state of states)
    if ((await childrenIn(ctx, parent, state).order("desc").first()) !== null) return true;
  return false;
}

export function hasManyChildren({ total = 0 }: Pick<Step, "total">): boolean {
  return total > FEW_CHILDREN;
}

export function isWaitingForChildren(parent: Step | null): parent is Step {
  return parent?.state === "waiting" && parent.settled !== true;
}

/**
 * Says whether a child must not begin: its parent waits no more, and cancels its children in pages.
 */
export async function isCalledOff(
  ctx: QueryCtx,
  { parentOfMany }: Pick<Token, "parentOfMany">,
): Promise<boolean> {
  if (parentOfMany === undefined) return false;
  return !isWaitingForChildren(await stepWithId(ctx, parentOfMany));
}

export const vChildren = v.object({
  total: v.number(),
  done: v.number(),
  /** Failed or timed out. */
  failed: v.number(),
  canceled: v.number(),
  running: v.number(),
  /** There are so many that not all were read: the numbers are about right. */
  isEstimate: v.optional(v.boolean()),
});

/** What a child writes apart from its input: its run, with its index entries. */
export const BYTES_BESIDE_INPUT = 2 * 1024;

/** One transaction starts, cancels or pauses so many, on all levels: it may execute for a second. */
export const RUNS_AT_ONCE = 200;

/** How many of them are read at most: a quarter of what a transaction may read. */
export const MOST_RUNS_READ = PAGE_BYTES / BYTES_BESIDE_INPUT;

/** How many documents of each state are read at most. */
const MOST = 500;
const BAD = ["failed", "timedOut"] as const;

/**
 * How far the children are, without reading those that are done or wait: as they start in order,
 * nearly all after the first that waits wait too. If very many run, the done ones are read.
 */
export async function childProgress(
  ctx: QueryCtx,
  { _id: parent, total = 0 }: Pick<Step, "_id" | "total">,
): Promise<Infer<typeof vChildren>> {
  const places = async (states: readonly RunState[], from = 0) => {
    const runs = [];
    for (const state of states)
      runs.push(...(await childrenIn(ctx, parent, state, from).take(MOST)));
    return runs.map(({ index }) => index);
  };
  const firstPending = await childrenIn(ctx, parent, "pending").first();
  const last = await lastChild(ctx, parent);
  // Those that are not inserted yet wait too.
  const inserted = last === null ? 0 : last.index + 1;
  const from = firstPending?.index ?? inserted;
  const allGoing = await places(GOING);
  const allBad = await places(BAD);
  const allCanceled = await places(["canceled"]);
  const [going, failed, canceled] = [allGoing.length, allBad.length, allCanceled.length];
  const beyond =
    [...allGoing, ...allBad, ...allCanceled].filter((index) => index >= from).length +
    (await places(["completed"], from)).length;
  const begun = from + beyond;
  const isEstimate = failed >= MOST || canceled >= MOST || beyond >= MOST;
  const told = { total, failed, canceled };
  if (going < MOST) {
    const done = Math.max(0, begun - going - failed - canceled);
    return { ...told, done, running: going, isEstimate: isEstimate || undefined };
  }
  const completed = (await places(["completed"])).length;
  // All before the first that runs are done or have failed.
  const first = completed < MOST ? null : await childrenIn(ctx, parent, "running").first();
  const done = Math.max(completed, (first?.index ?? 0) - failed - canceled);
  const running = Math.max(going, begun - failed - canceled - done);
  return { ...told, done, running, isEstimate: isEstimate || completed >= MOST || undefined };
}
