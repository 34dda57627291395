import { ROOM_TO_COMPLETE } from "@stepwise/workpool/core";
import { getConvexSize, type Value } from "convex/values";
import type { StepError } from "../../definition/context.js";
import { Failure } from "../../errors/failure.js";
import { inPages } from "../../values.js";
import type { Read } from "../validators.js";
import type { QueryCtx, Run, RunId, Step } from "./documents.js";
import { childrenFrom, keyShown, MOST_RUNS_READ } from "./childRuns.js";
import { workflowOf } from "./runs.js";
import { keyOf, lastOwnUndo, nameOf, stepRead } from "./steps.js";

/** How many bytes of outputs are gathered, of the 16 MiB that a transaction may read. */
const MAX_GATHERED_BYTES = 12 << 20;
/** What a child's run and the record of its output take, at most. */
const MAX_CHILD_BYTES = 1.05 * (1 << 20);
/** A smaller output is in the child's run too, as reading its record takes one of 4,096 ranges. */
const MAX_OUTPUT_IN_RUN_BYTES = MAX_GATHERED_BYTES / 4_096;

/** What this transaction knows of outputs, by {@link keyOf}. */
export type Known = ReadonlyMap<string, unknown>;
/** What is known under this key is the run above. It is no key of an output. */
export const ABOVE = "";

/** What a stage reads, by name. @throws `tooLarge` if the outputs of children are too many. */
export async function loadScope(ctx: QueryCtx, run: RunId, reads: readonly Read[], most?: number) {
  const { used, remaining } = (await ctx.meta.getTransactionMetrics()).bytesRead;
  const end = used + (most ?? remaining);
  const scope: Record<string, unknown> = {};
  for (const read of reads) {
    let gathered = 0;
    const fits: Fits = async (parent, { index }, output) => {
      gathered += sizeOf(output);
      const { bytesRead, documentsRead } = await ctx.meta.getTransactionMetrics();
      const { total = 0 } = parent;
      const next = index + 1 < total ? MAX_CHILD_BYTES : 0;
      const hasRoom =
        bytesRead.used + next <= end && documentsRead.remaining >= ROOM_TO_COMPLETE.documentsRead;
      if (gathered <= MAX_GATHERED_BYTES && hasRoom) return true;
      throw new Failure(
        "tooLarge",
        `The outputs of the ${total} children of "${nameOf(parent)}" are more than one transaction can read: at most ${MAX_GATHERED_BYTES} bytes, and less where their runs, or what else is read, take much. Make one value of them with reduce, or have each put its data into file storage or one of your tables, and return its id`,
      );
    };
    scope[read.name] = await valueOf(ctx, run, read, new Map(), fits);
  }
  return scope;
}

/** The same if it takes no more than `most` bytes; else null, with hardly more read. */
export async function smallScope(
  ctx: QueryCtx,
  run: RunId,
  reads: readonly Read[],
  known: Known,
  most: number,
): Promise<Record<string, unknown> | null> {
  const scope: Record<string, unknown> = {};
  for (const read of reads) {
    let gathered = 0;
    const fits: Fits = ({ total = 0 }, _child, output) => {
      gathered += total > MOST_RUNS_READ ? Infinity : sizeOf(output);
      return gathered <= most;
    };
    scope[read.name] = await valueOf(ctx, run, read, known, fits);
    if (gathered > most || getConvexSize(scope as Value) > most) return null;
  }
  return scope;
}

function sizeOf(output: unknown): number {
  return getConvexSize((output ?? null) as Value);
}

/** Says whether the outputs of children, with one more, are still few enough to go on. */
type Fits = (parent: Step, child: Run, output: unknown) => boolean | Promise<boolean>;

async function valueOf(ctx: QueryCtx, run: RunId, read: Read, known: Known, fits: Fits) {
  if (read.cause === true) return await causeOf(ctx, run);
  if (read.ended === true) return await endOf(ctx, run);
  if (read.children === true) return await childrenOutputs(ctx, run, read, fits);
  // What was completed last is undone first.
  if (read.undoing === true) return (await lastOwnUndo(ctx, run))?.loop;
  const key = keyOf(read);
  if (known.has(key)) return known.get(key);
  const { up = 0, ...above } = read;
  if (up > 0) {
    // Only a run's id is known under this key.
    const told = known.get(ABOVE) as RunId | undefined;
    const parentRun = told ?? (await ctx.db.get("runs", run))?.parentRun;
    if (parentRun === undefined) throw new Error(`The run "${run}" has no run above it`);
    return await valueOf(ctx, parentRun, { ...above, up: up - 1 }, new Map(), fits);
  }
  if (read.stage === "input") {
    const input = (await ctx.db.get("runs", run))?.input;
    if (input !== undefined) return input;
  }
  const step = await stepRead(ctx, run, read);
  return read.loop === true ? { state: step?.output, iteration: step?.iteration } : step?.output;
}

async function causeOf(ctx: QueryCtx, id: RunId): Promise<StepError | undefined> {
  const run = await ctx.db.get("runs", id);
  if (run === null) return undefined;
  // What a run has done that has ended is undone for the run above it.
  if (run.parentRun === undefined || (run.error !== undefined && run.endedAt === undefined))
    return run.error;
  return await causeOf(ctx, run.parentRun);
}

/** How a run has ended: what its `onEnd` sees of it. */
async function endOf(ctx: QueryCtx, id: RunId) {
  const run = await ctx.db.get("runs", id);
  if (run?.state !== "completed") return { state: run?.state, error: run?.error };
  return { state: run.state, output: (await outputOf(ctx, run)) ?? null };
}

/** The outputs of children, as a list or by key, or what they were reduced to; as many as fit. */
async function childrenOutputs(ctx: QueryCtx, run: RunId, read: Read, fits: Fits) {
  const parent = await stepRead(ctx, run, read);
  if (parent === null) return [];
  if (parent.reduced !== undefined) return inPages(parent.reduced.value);
  const winner = parent.won === undefined ? null : await ctx.db.get("runs", parent.won);
  // A deploy has made another kind of node of it.
  if ((winner !== null) !== (read.race === true))
    throw new Failure("removedNode", `"${nameOf(parent)}" is not what the run came to any more`);
  if (winner !== null) {
    const output = await childOutput(ctx, parent, winner, read.tolerant);
    await fits(parent, winner, output);
    return { case: winner.childKey, ...(read.tolerant === true ? (output as object) : { output }) };
  }
  const outputs: unknown[] = [];
  const byKey: Record<string, unknown> = {};
  for await (const child of childrenFrom(ctx, parent._id)) {
    const output = await childOutput(ctx, parent, child, read.tolerant);
    if (child.childKey === undefined) outputs.push(output);
    else byKey[child.childKey] = output;
    if (!(await fits(parent, child, output))) break;
  }
  return inPages(parent.keyed === true ? byKey : outputs);
}

/** A child's output as its parent sees it. @throws `childFailed` if that does not tolerate it. */
export async function childOutput(ctx: QueryCtx, parent: Step, child: Run, tolerant = false) {
  const isComplete = child.state === "completed";
  // A workflow of sleeps only has no output.
  const output = isComplete ? ((await outputOf(ctx, child)) ?? null) : undefined;
  if (tolerant) return isComplete ? { ok: true, output } : { ok: false, error: child.error };
  if (isComplete) return output;
  const { error } = child;
  throw new Failure(
    "childFailed",
    `Child ${keyShown(child) ?? child.index} of "${nameOf(parent)}" (${workflowOf(child)}) failed, which the parent does not tolerate any more: ${error?.message ?? child.state}`,
  );
}

/** The output as a field of the run that has it, if the run is a child and the output is small. */
export function outputInRun(run: Run, output: unknown): { output?: unknown } {
  if (run.parentStep === undefined || output === undefined) return {};
  return getConvexSize(output as Value) > MAX_OUTPUT_IN_RUN_BYTES ? {} : { output };
}

export async function outputOf(ctx: QueryCtx, run: Run): Promise<unknown> {
  if (run.output !== undefined) return run.output;
  if (run.outputStep === undefined) return undefined;
  return (await ctx.db.get("steps", run.outputStep))?.output;
}
