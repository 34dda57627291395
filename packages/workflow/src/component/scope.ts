import type { Doc, Id } from "./_generated/dataModel.js";
import type { QueryCtx } from "./_generated/server.js";
import type { Read } from "./validators.js";

/** Outputs that the present transaction has at hand, by stage. */
export type Known = ReadonlyMap<string, unknown>;

/** What a stage reads, by name. A stage without a result (it did not run in this run) is absent. */
export async function loadScope(
  ctx: QueryCtx,
  run: Id<"runs">,
  reads: readonly Read[],
  known: Known = new Map(),
): Promise<Record<string, unknown>> {
  const scope: Record<string, unknown> = {};
  for (const read of reads) {
    if (read.children === true) scope[read.name] = await childrenOutputs(ctx, run, read.stage);
    else if (known.has(read.stage)) scope[read.name] = known.get(read.stage);
    else scope[read.name] = (await stepOfStage(ctx, run, read.stage))?.output;
  }
  return scope;
}

/** The record of a stage of a run; null where the run was never there. */
export async function stepOfStage(
  ctx: QueryCtx,
  run: Id<"runs">,
  stage: string,
): Promise<Doc<"steps"> | null> {
  return await ctx.db
    .query("steps")
    .withIndex("by_run_stage", (q) => q.eq("run", run).eq("stage", stage))
    .first();
}

/** The outputs of a parent's children, in the order or under the keys in which they were given. */
async function childrenOutputs(
  ctx: QueryCtx,
  run: Id<"runs">,
  stage: string,
): Promise<unknown[] | Record<string, unknown>> {
  const parent = await stepOfStage(ctx, run, stage);
  if (parent === null) return [];
  const outputs: unknown[] = [];
  const byKey: Record<string, unknown> = {};
  const children = ctx.db
    .query("runs")
    .withIndex("by_parent", (q) => q.eq("parentStep", parent._id));
  for await (const child of children) {
    const output = await outputOf(ctx, child);
    if (child.childKey === undefined) outputs.push(output);
    else byKey[child.childKey] = output;
  }
  return parent.keyed === true ? byKey : outputs;
}

/** The output of a run that is complete; undefined of any other. */
export async function outputOf(ctx: QueryCtx, run: Doc<"runs">): Promise<unknown> {
  if (run.outputStep === undefined) return undefined;
  return (await ctx.db.get("steps", run.outputStep))?.output;
}
