import { v } from "convex/values";
import { internal } from "../_generated/api.js";
import type { Doc, MutationCtx, QueryCtx, Run, RunId, Step } from "./documents.js";

/* Of the runs with one key of a workflow's `one`, one has the turn. The others wait for it. */

export type Turn = Doc<"turns">;

export async function turnOf(ctx: QueryCtx, run: RunId): Promise<Turn | null> {
  return await ctx.db
    .query("turns")
    .withIndex("by_run", (q) => q.eq("run", run))
    .first();
}

/** The runs of a key that have the turn, wait for it, or are paused while they would: in order. */
export function turnsIn(
  ctx: QueryCtx,
  { workflow, key }: Pick<Turn, "workflow" | "key">,
  state: Turn["state"],
) {
  return ctx.db
    .query("turns")
    .withIndex("by_key", (q) => q.eq("workflow", workflow).eq("key", key).eq("state", state));
}

/** Says whether the run of a turn is gone, or has ended with all that it does at its end. */
export async function isOver(ctx: QueryCtx, { run: id }: Turn): Promise<boolean> {
  const run = await ctx.db.get("runs", id);
  return run === null || (run.endedAt !== undefined && run.ending === undefined);
}

/** Who has the turn of a key; null if nobody does. */
export async function holderOf(ctx: MutationCtx, workflow: string, key: string | undefined) {
  if (key === undefined) return null;
  for (;;) {
    const holder = await turnsIn(ctx, { workflow, key }, "has it").first();
    if (holder === null || !(await isOver(ctx, holder))) return holder;
    // Its end was lost, for example by a restore from a backup.
    // guard: lost-turn
    await ctx.runMutation(internal.features.turns.passOn, { turn: holder._id });
  }
}

/**
 * A run that is about to begin takes the turn of its key, if it has one and that is free.
 * @returns false if another has it, apart from a run above, in whose turn it then is.
 */
export async function takeTurn(ctx: MutationCtx, run: Run): Promise<boolean> {
  if (run.one === undefined) return true;
  const { workflow, one } = run;
  const holder = await holderOf(ctx, workflow, one.key);
  if (holder !== null) return holder.run === run._id || (await isAbove(ctx, holder.run, run));
  await ctx.db.insert("turns", { workflow, key: one.key, run: run._id, state: "has it" });
  return true;
}

// guard: turn-of-ancestor
async function isAbove(ctx: QueryCtx, id: RunId, { parentRun }: Run): Promise<boolean> {
  for (let above = parentRun; above !== undefined;) {
    if (above === id) return true;
    above = (await ctx.db.get("runs", above))?.parentRun;
  }
  return false;
}

/** A run waits with its first step record, or does what its `one` says otherwise. */
export async function joinLine(
  ctx: MutationCtx,
  { _id: run, workflow, one }: Run,
  { _id: step, paused }: Pick<Step, "_id" | "paused">,
): Promise<void> {
  if (one === undefined) return;
  const waits = { kind: "turn", state: "waiting", job: undefined, check: undefined } as const;
  await ctx.db.patch("steps", step, { ...waits, entersAt: undefined, event: undefined });
  const state = paused === true ? ("paused" as const) : ("waits" as const);
  const at = ctx.db.vars.commitTs;
  const turn = await ctx.db.insert("turns", { workflow, key: one.key, run, state, step, at });
  if (one.otherwise !== "wait") await ctx.runMutation(internal.features.replacing.replace, { turn });
}

/** So many of those before a run are counted. */
const MOST_BEFORE = 100;

export const vWaiting = v.object({
  key: v.string(),
  /** Who has the turn. */
  runId: v.optional(v.string()),
  /** From 1; paused runs do not count. */
  place: v.number(),
});

/** Whom a run waits for, and how many come before it; undefined if it does not wait. */
export async function waitingOf(ctx: QueryCtx, run: Run) {
  if (run.one === undefined || run.endedAt !== undefined) return undefined;
  const own = await turnOf(ctx, run._id);
  if (own === null || own.state === "has it") return undefined;
  const holder = await turnsIn(ctx, own, "has it").first();
  const before = await ctx.db
    .query("turns")
    .withIndex("by_key", (q) =>
      q
        .eq("workflow", own.workflow)
        .eq("key", own.key)
        .eq("state", "waits")
        .lt("at", own.at as bigint),
    )
    .take(MOST_BEFORE);
  return { key: own.key, runId: holder?.run, place: before.length + 1 };
}
