import type { Doc, Id } from "../_generated/dataModel.js";
import type { MutationCtx, QueryCtx } from "../_generated/server.js";
import { ACTIVE_STATES, type Read, type RunState, type Token } from "../validators.js";

/** Names a value among those known. */
export function keyOf({ stage, pass = [], loop }: Pick<Read, "stage" | "pass" | "loop">): string {
  return `${stage} ${pass.join(".")}${loop === true ? " loop" : ""}`;
}

/** What was completed last of the run's own steps that can be undone, and are not yet. */
export async function lastOwnUndo(ctx: QueryCtx, run: Id<"runs">): Promise<Doc<"undos"> | null> {
  return await ctx.db
    .query("undos")
    .withIndex("by_run", (q) => q.eq("run", run).eq("at", undefined))
    .order("desc")
    .first();
}

/** What messages call a stage: as its node was called when the run came to it. */
export const nameOf = ({ stage, called = stage }: Pick<Doc<"steps">, "stage" | "called">): string =>
  called;

/** The record of a stage of a run, and of one pass of the loops around it; null where the run was never there. */
export async function stepRead(
  ctx: QueryCtx,
  run: Id<"runs">,
  { stage, pass = [] }: { readonly stage: string; readonly pass?: readonly number[] | undefined },
): Promise<Doc<"steps"> | null> {
  const inPass = pass.length === 0 ? undefined : [...pass];
  return await ctx.db
    .query("steps")
    .withIndex("by_run_stage", (q) => q.eq("run", run).eq("stage", stage).eq("pass", inPass))
    .first();
}

/** The loop around a step that can be undone, as its compensation is to see it. */
export async function loopAround(
  ctx: QueryCtx,
  { run, stage, pass = [], undoable }: Doc<"steps">,
): Promise<{ loop?: unknown }> {
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

/** The records in which something of a run is still to come. They may be changed while they are seen to. */
export async function* activeSteps(
  ctx: QueryCtx,
  run: Id<"runs">,
): AsyncGenerator<Doc<"steps">, void> {
  for (const state of ACTIVE_STATES)
    yield* await ctx.db
      .query("steps")
      .withIndex("by_run_state", (q) => q.eq("run", run).eq("state", state))
      .collect();
}

/** A parent's children in a state, in their order. */
export function childrenIn(ctx: QueryCtx, parent: Id<"steps">, state: RunState) {
  return ctx.db
    .query("runs")
    .withIndex("by_parent_state", (q) => q.eq("parentStep", parent).eq("state", state));
}

/** The states of a run that has not ended. */
export const UNENDED = ["compensating", "running", "pending"] as const;

/**
 * Whether a parent has a child in one of the states. The last one is looked for: it is canceled and undone after the others, so those that
 * end at the same time seldom read what one of them writes.
 */
export async function hasChildIn(
  ctx: QueryCtx,
  parent: Id<"steps">,
  states: readonly (typeof UNENDED)[number][],
): Promise<boolean> {
  for (const state of states) {
    const children = ctx.db
      .query("runs")
      .withIndex("by_parent_state", (q) => q.eq("parentStep", parent).eq("state", state));
    if ((await children.order("desc").first()) !== null) return true;
  }
  return false;
}

/** The step of a token; null where it is gone. */
export async function stepNamed(ctx: MutationCtx, token: Token): Promise<Doc<"steps"> | null> {
  const id = ctx.db.normalizeId("steps", token.step);
  return id === null ? null : await ctx.db.get("steps", id);
}

/** Whether the token is that of the step's present attempt, and something of the step is still to come. */
export function isActive(step: Doc<"steps">, token: Token): boolean {
  return step.attempt === token.attempt && ACTIVE_STATES.some((state) => state === step.state);
}
