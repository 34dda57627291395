import { getConvexSize, type Value } from "convex/values";
import { Failure } from "../errors/failure.js";
import type { Doc, Id } from "./_generated/dataModel.js";
import type { QueryCtx } from "./_generated/server.js";
import type { Read } from "./validators.js";

/**
 * How much of a parent's children one transaction gathers, in bytes of their runs and outputs. It may read 16 MiB, and `ROOM_TO_COMPLETE`
 * of it is for what comes after.
 */
const MAX_GATHERED_BYTES = 11 * 1024 * 1024;

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

/**
 * The outputs of a parent's children, in the order or under the keys in which they were given.
 * @throws a {@link Failure} `tooLarge` where they are more than one transaction can gather.
 */
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
  let bytes = 0;
  for await (const child of children) {
    const output = await outputOf(ctx, child);
    bytes +=
      getConvexSize(child as Value) + (output === undefined ? 0 : getConvexSize(output as Value));
    if (bytes > MAX_GATHERED_BYTES)
      throw new Failure(
        "tooLarge",
        `The outputs of the ${parent.total} children of "${stage}" take more than ${MAX_GATHERED_BYTES} bytes together. Have each put its data into file storage or a table of yours, and return its id`,
      );
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
