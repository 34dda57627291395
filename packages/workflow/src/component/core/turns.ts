import { MOST_COUNTED } from "./room.js";
import { v } from "convex/values";
import { internal } from "../_generated/api.js";
import { continueLater } from "./continuations.js";
import type { Doc, MutationCtx, QueryCtx, Run, RunId, Step } from "./documents.js";

/* Of the runs with one key of a workflow's `one`, one has the turn. The others wait for it. */

export type Turn = Doc<"turns">;
type Of = Pick<Turn, "workflow" | "key">;

export async function turnOf(ctx: QueryCtx, run: RunId): Promise<Turn | null> {
  return await ctx.db
    .query("turns")
    .withIndex("by_run", (q) => q.eq("run", run))
    .first();
}

/** The runs of a key that have the turn, wait for it, or are paused while they would: in order. */
export function turnsIn(ctx: QueryCtx, { workflow, key }: Of, state: Turn["state"]) {
  return ctx.db
    .query("turns")
    .withIndex("by_key", (q) => q.eq("workflow", workflow).eq("key", key).eq("state", state));
}

/** Returns who has the turn of a key; null if nobody does. */
export const holderOf = async (ctx: QueryCtx, of: Of): Promise<Turn | null> =>
  await turnsIn(ctx, of, "has it").first();

/**
 * A run that is about to begin takes the turn of its key, if it has one and that is free.
 * @returns false if another has it, apart from a run above, in whose turn it then is.
 */
export async function takeTurn(ctx: MutationCtx, run: Run): Promise<boolean> {
  if (run.one === undefined) return true;
  const { workflow, one } = run;
  const holder = await holderOf(ctx, { workflow, key: one.key });
  if (holder !== null) return holder.run === run._id || (await isAbove(ctx, holder.run, run));
  const at = ctx.db.vars.commitTs;
  await ctx.db.insert("turns", { workflow, key: one.key, run: run._id, state: "has it", at });
  return true;
}

async function isAbove(ctx: QueryCtx, id: RunId, { parentRun }: Run): Promise<boolean> {
  for (let above = parentRun; above !== undefined;) {
    // guard: turn-of-ancestor
    if (above === id) return true;
    above = (await ctx.db.get("runs", above))?.parentRun;
  }
  return false;
}

/** A run waits with its first step record, unless its `one` says that it is skipped. */
export async function joinLine(
  ctx: MutationCtx,
  { _id: run, workflow, one }: Run,
  { _id: step, paused }: Pick<Step, "_id" | "paused">,
): Promise<void> {
  if (one === undefined) return;
  const waits = { kind: "turn", state: "waiting", job: undefined, check: undefined } as const;
  await ctx.db.patch("steps", step, { ...waits, entersAt: undefined, event: undefined });
  const state = paused === true ? ("paused" as const) : ("waits" as const);
  const { key, otherwise } = one;
  const { replacing } = internal.features;
  // In transactions of their own: many children may be skipped, and starts come at the same time.
  if (otherwise === "skip") return void (await continueLater(ctx, replacing.skip, step));
  const replaces = otherwise === "wait" ? undefined : true;
  const at = ctx.db.vars.commitTs;
  const turn = await ctx.db.insert("turns", { workflow, key, run, state, at, step, replaces });
  if (replaces) await continueLater(ctx, replacing.replace, turn);
}

export const vWaiting = v.object({
  key: v.string(),
  /** Who has the turn. */
  runId: v.optional(v.string()),
  /** From 1; 101 if more than 100 come before it. Paused runs do not count. */
  place: v.number(),
});

/** Whom a run waits for, and how many come before it; undefined if it does not wait. */
export async function waitingOf(ctx: QueryCtx, run: Run) {
  if (run.one === undefined || run.endedAt !== undefined) return undefined;
  const own = await turnOf(ctx, run._id);
  if (own === null || own.state === "has it") return undefined;
  const holder = await holderOf(ctx, own);
  // Those of one batch have come at the same time: they are in the order of their creation.
  const upToOwn = await turnsUpTo(ctx, own);
  const at = upToOwn.findIndex(({ _id }) => _id === own._id);
  const place = at === -1 ? upToOwn.length + 1 : at + 1;
  return { key: own.key, runId: holder?.run, place };
}

async function turnsUpTo(ctx: QueryCtx, { workflow, key, at }: Turn): Promise<Turn[]> {
  return await ctx.db
    .query("turns")
    .withIndex("by_key", (q) =>
      q
        .eq("workflow", workflow)
        .eq("key", key)
        .eq("state", "waits")
        .lte("at", at as bigint),
    )
    .take(MOST_COUNTED);
}
