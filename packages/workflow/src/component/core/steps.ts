import { type Infer, v } from "convex/values";
import { ACTIVE_STATES, type Read, type RunState, type Stage, type Token } from "../validators.js";
import type { Doc, QueryCtx, Run, RunId, Step, StepId } from "./documents.js";

/* How step records, and the children of a parent's record, are found. */

/** Names a value among those known. */
export function keyOf({ stage, pass = [], loop }: Pick<Read, "stage" | "pass" | "loop">): string {
  return `${stage} ${pass.join(".")}${loop === true ? " loop" : ""}`;
}

/** What messages call a stage: as its node was called when the run came to it. */
export const nameOf = ({ stage, called = stage }: Pick<Step, "stage" | "called">): string => called;

/** @returns null for an unknown step, and one that was removed. */
export async function stepWithId(ctx: QueryCtx, step: string): Promise<Step | null> {
  const id = ctx.db.normalizeId("steps", step);
  return id === null ? null : await ctx.db.get("steps", id);
}

/** The record of a stage in one iteration; null if the run was never there. */
export async function stepRead(
  ctx: QueryCtx,
  run: RunId,
  { stage, pass = [] }: { readonly stage: string; readonly pass?: readonly number[] | undefined },
): Promise<Step | null> {
  const inPass = pass.length === 0 ? undefined : [...pass];
  return await ctx.db
    .query("steps")
    .withIndex("by_run_stage", (q) => q.eq("run", run).eq("stage", stage).eq("pass", inPass))
    .first();
}

/** The active records of a run: those that have not ended. They may be changed meanwhile. */
export async function* activeSteps(ctx: QueryCtx, run: RunId): AsyncGenerator<Step, void> {
  for (const state of ACTIVE_STATES)
    yield* await ctx.db
      .query("steps")
      .withIndex("by_run_state", (q) => q.eq("run", run).eq("state", state))
      .collect();
}

/** Whether a token is that of the step's present attempt, and the step has not ended. */
export function isActive(step: Step, token: Token): boolean {
  return step.attempt === token.attempt && hasNotEnded(step);
}

export function hasNotEnded(step: Pick<Step, "state">): boolean {
  return ACTIVE_STATES.some((state) => state === step.state);
}

/** The loop around a step that can be undone, as its compensation sees it. */
export async function loopAround(ctx: QueryCtx, { run, stage, pass = [], undoable }: Step) {
  if (undoable !== true || pass.length === 0) return {};
  const names = stage.split(".");
  for (let depth = names.length - 1; depth > 0; depth--) {
    const stage = names.slice(0, depth).join(".");
    const around = await stepRead(ctx, run, { stage, pass: pass.slice(0, -1) });
    if (around?.kind === "loop")
      return { loop: { state: around.output, iteration: around.iteration } };
  }
  return {};
}

/** The newest of the run's own steps that can still be undone. */
export async function lastOwnUndo(ctx: QueryCtx, run: RunId): Promise<Doc<"undos"> | null> {
  return await ctx.db
    .query("undos")
    .withIndex("by_run", (q) => q.eq("run", run).eq("at", undefined))
    .order("desc")
    .first();
}

/** A parent's children in a state, in their order, from a place on. */
export function childrenIn(ctx: QueryCtx, parent: StepId, state: RunState, from = 0) {
  return ctx.db
    .query("runs")
    .withIndex("by_parent_state", (q) =>
      q.eq("parentStep", parent).eq("state", state).gte("index", from),
    );
}

/** A parent's children in their order, from a place on. */
export function childrenFrom(ctx: QueryCtx, parent: StepId, from = 0) {
  return ctx.db
    .query("runs")
    .withIndex("by_parent", (q) => q.eq("parentStep", parent).gte("index", from));
}

/** The last child of a parent that was inserted. */
export async function lastChild(ctx: QueryCtx, parent: StepId): Promise<Run | null> {
  return await childrenFrom(ctx, parent).order("desc").first();
}

/** The states of a run that has not ended. */
export const UNENDED = ["compensating", "running", "pending"] as const;

/** Whether a child is in one of the states. It reads the last one, which is canceled last. */
export async function hasChildIn(
  ctx: QueryCtx,
  parent: StepId,
  states: readonly (typeof UNENDED)[number][],
): Promise<boolean> {
  for (const state of states)
    if ((await childrenIn(ctx, parent, state).order("desc").first()) !== null) return true;
  return false;
}

/** Up to so many children are canceled together with their parent: they hardly conflict with it. */
const FEW = 10;

/** Whether a parent's children are canceled in transactions that follow. */
export function isCanceledLater({ total = 0 }: Pick<Step, "total">): boolean {
  return total > FEW;
}

/** Whether a parent waits for its children. */
export function isWaitingForChildren(parent: Step | null): parent is Step {
  return parent?.state === "waiting" && parent.joined !== true;
}

/** Whether a child must not begin: its parent waits no more, and cancels its children in pages. */
export async function isCalledOff(ctx: QueryCtx, { childOf }: Token): Promise<boolean> {
  if (childOf === undefined) return false;
  return !isWaitingForChildren(await stepWithId(ctx, childOf));
}

export type RunOf = Pick<Step, "run" | "generation" | "plan" | "createdAt" | "childOf">;
export type StepOf = Omit<RunOf, "createdAt"> & Pick<Step, "_id" | "attempt" | "pass">;

export function tokenOf({ _id, run, attempt, pass, generation, plan, childOf }: StepOf): Token {
  return { run, step: _id, attempt, pass, generation, plan, childOf };
}

export function newRecord(
  { run, generation, plan, createdAt, childOf }: RunOf,
  { stage, called, pass = [] }: Pick<Stage, "stage" | "called" | "pass">,
) {
  const where = { run, createdAt, stage, called, pass: pass.length === 0 ? undefined : pass };
  return { ...where, generation, plan, childOf, attempt: 1, startedAt: Date.now() };
}

/** The fields of a record of which no entry is scheduled. */
export const NO_ENTRY = {
  job: undefined,
  check: undefined,
  entersAt: undefined,
  event: undefined,
  isLastTry: undefined,
  dueAt: undefined,
};

/** What a record says of its stage. Only what is set, as it is also patched. */
export function marksOf({ sensitive, undoable }: Pick<Stage, "sensitive" | "undoable">) {
  return {
    ...(sensitive === true ? { sensitive } : {}),
    ...(undoable === true ? { undoable, permanent: true } : {}),
  };
}

export const vChildren = v.object({
  total: v.number(),
  /** Completed. */
  done: v.number(),
  /** Failed, timed out, or canceled. */
  failed: v.number(),
  running: v.number(),
  /** There are so many that not all were read: the numbers are about right. */
  isEstimate: v.optional(v.boolean()),
});

/** How many documents of each state are read at most. */
const MOST = 500;
const GOING = ["running", "compensating"] as const;
const BAD = ["failed", "canceled", "timedOut"] as const;

/**
 * How far the children are, without reading those that are done or wait: as they start in order,
 * nearly all after the first that waits wait too. If very many run, the done ones are read.
 */
export async function childProgress(
  ctx: QueryCtx,
  { _id: parent, total = 0 }: Pick<Step, "_id" | "total">,
): Promise<Infer<typeof vChildren>> {
  /** The places of children in these states. */
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
  const [going, failed] = [allGoing.length, allBad.length];
  const beyond =
    [...allGoing, ...allBad].filter((index) => index >= from).length +
    (await places(["completed"], from)).length;
  const begun = from + beyond;
  const isEstimate = failed >= MOST || beyond >= MOST;
  if (going < MOST) {
    const done = Math.max(0, begun - going - failed);
    return { total, done, failed, running: going, isEstimate: isEstimate || undefined };
  }
  const completed = (await places(["completed"])).length;
  // All before the first that runs are done or have failed.
  const first = completed < MOST ? null : await childrenIn(ctx, parent, "running").first();
  const done = Math.max(completed, (first?.index ?? 0) - failed);
  const running = Math.max(going, begun - failed - done);
  return { total, done, failed, running, isEstimate: isEstimate || completed >= MOST || undefined };
}
