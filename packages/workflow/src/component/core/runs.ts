import type { StepError } from "../../definition/context.js";
import { type Infer, v } from "convex/values";
import type { QueryCtx, Run, RunId, Step } from "./documents.js";

/** Which run: by its id, or by the key that it was started with. */
export const vRunOrKey = v.union(v.object({ runId: v.string() }), v.object({ key: v.string() }));

/** How others name a run. Keys are per workflow, so with a key the workflow is required. */
export const whichRun = { run: vRunOrKey, workflow: v.optional(v.string()) };

/** @returns null for an unknown run, and for one of another workflow. */
export async function findRun(
  ctx: QueryCtx,
  which: Infer<typeof vRunOrKey>,
  workflow: string | undefined,
): Promise<Run | null> {
  if ("key" in which)
    return workflow === undefined ? null : await runWithKey(ctx, workflow, which.key);
  const run = await runWithId(ctx, which.runId);
  return workflow === undefined || run?.workflow === workflow ? run : null;
}

export async function runWithId(ctx: QueryCtx, runId: string): Promise<Run | null> {
  const id = ctx.db.normalizeId("runs", runId);
  return id === null ? null : await ctx.db.get("runs", id);
}

/** The run of a step. @throws if it was removed. */
export async function runOf(ctx: QueryCtx, { _id, run: id }: Pick<Step, "_id" | "run">) {
  const run = await ctx.db.get("runs", id);
  if (run === null) throw new Error(`The run of the step record "${_id}" is gone`);
  return run;
}

/** The run of a key that has not ended (there is at most one), else the one that ended last. */
export async function runWithKey(ctx: QueryCtx, workflow: string, key: string) {
  const current = await unendedWithKey(ctx, workflow, key);
  if (current !== null) return current;
  return await ctx.db
    .query("runs")
    .withIndex("by_key", (q) => q.eq("workflow", workflow).eq("startKey", key))
    .order("desc")
    .first();
}

export async function unendedWithKey(ctx: QueryCtx, workflow: string, key: string) {
  return await ctx.db
    .query("runs")
    .withIndex("by_key", (q) =>
      q.eq("workflow", workflow).eq("startKey", key).eq("endedAt", undefined),
    )
    .first();
}

/** Says whether a run of the top level has ended, each `onEnd` too, and nothing is undone. */
export async function hasEnded(ctx: QueryCtx, { _id, endedAt }: Run): Promise<boolean> {
  if (endedAt === undefined || (await isAnyEnding(ctx, _id))) return false;
  const compensating = await ctx.db
    .query("runs")
    .withIndex("by_root_state", (q) => q.eq("root", _id).eq("state", "compensating"))
    .first();
  return compensating === null;
}

/** Says whether an `onEnd` of a tree has not ended. */
async function isAnyEnding(ctx: QueryCtx, root: RunId): Promise<boolean> {
  const some = ctx.db.query("runs").withIndex("by_ending", (q) => q.eq("ending", root));
  return (await some.first()) !== null;
}

/** Returns what messages call the workflow of a run. */
export const workflowOf = (run: Pick<Run, "workflow" | "workflowName">): string =>
  run.workflowName ?? run.workflow;

/** An error of the component's own. @param node the stage; empty for the whole run. */
export function errorOf(
  run: Pick<Run, "workflow" | "workflowName">,
  kind: StepError["kind"],
  message: string,
  node = "",
): StepError {
  return { message, kind, workflow: workflowOf(run), node, attempt: 1 };
}

export function goesOn({ state }: Run): boolean {
  return state === "running" || state === "pending";
}
