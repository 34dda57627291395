import { hasRoom, ROOM_TO_COMPLETE } from "@stepwise/workpool/core";
import { internal } from "../_generated/api.js";
import { continuation, continueLater } from "../core/continuations.js";
import type { MutationCtx, RunId, Step, StepId } from "../core/documents.js";
import { isParent } from "../core/kinds.js";
import { BEGINNING, firstAfter, momentOf, type Moment } from "../core/moments.js";
import type { LoopStep } from "../engine/transition.js";
import { removeParent } from "./retention.js";

/**
 * How many of the newest iterations keep their records, beside the first; twice as many meanwhile.
 */
const RECORDED_ITERATIONS = 100;

/** Iterations of a loop to be removed: from `from` up to, but without, `to`. */
type Old = {
  run: RunId;
  loop: StepId;
  iterations: number[];
  from: number;
  to: number;
  undoable: number[];
  at: Position;
};

/** Up to where records were read: the `permanent` ones first. */
type Position = { permanent: boolean; iterations: number[]; after: Moment<"steps"> };

/** Removes old iterations that cannot be undone: every 100, so that each costs the same. */
export async function removeOldIterations(
  ctx: MutationCtx,
  { _id: loop, run, iterations = [], iteration, before, isOver }: LoopStep,
): Promise<void> {
  const from = Math.max(2, hundredOf(before) - RECORDED_ITERATIONS);
  const to = (isOver ? iteration + 1 : hundredOf(iteration)) - RECORDED_ITERATIONS;
  if (from >= to) return;
  const at: Position = { permanent: true, iterations: [...iterations, from], after: BEGINNING };
  const old: Old = { run, loop, iterations, from, to, undoable: [], at };
  await continueLater(ctx, internal.features.iterations.removeMoreIterations, old);
}

/** The last iteration up to this one at which old ones were removed. */
function hundredOf(iteration: number): number {
  return iteration - (iteration % RECORDED_ITERATIONS);
}

export const removeMoreIterations = continuation<Old>(async (ctx, old) => {
  const loop = await ctx.db.get("steps", old.loop);
  // A restart may have gone back to an earlier iteration.
  const to = Math.min(old.to, (loop?.iteration ?? 0) + 1 - RECORDED_ITERATIONS);
  return loop === null || to <= old.from ? null : await removeSome(ctx, { ...old, to }, loop);
});

/** @returns what is still to be removed, or null. Each record is read once, so this ends. */
async function removeSome(ctx: MutationCtx, old: Old, loop: Step): Promise<Old | null> {
  const undoable = new Set(old.undoable);
  const from = (at: Position): Old => ({ ...old, undoable: [...undoable], at });
  const atBeginning = (permanent: boolean, iteration: number): Position => {
    return { permanent, iterations: [...old.iterations, iteration], after: BEGINNING };
  };
  let { at } = old;
  while (at.permanent) {
    const step = await nextRecord(ctx, old, at);
    if (step === null) at = atBeginning(false, old.from);
    else if (isInside(loop, step)) {
      // The rest of that iteration need not be read.
      undoable.add(iterationOf(old, step));
      at = atBeginning(true, iterationOf(old, step) + 1);
    } else at = positionOf(step, at);
    if (!(await hasRoom(ctx, ROOM_TO_COMPLETE))) return from(at);
  }
  for (const query of recordsAfter(ctx, old, at))
    for await (const step of query) {
      if (at.after.seen.includes(step._id)) continue;
      at = positionOf(step, at);
      const stays = !isInside(loop, step) || undoable.has(iterationOf(old, step));
      if (!stays && step.endedAt !== undefined)
        if (isParent(step)) await removeParent(ctx, step);
        else await ctx.db.delete("steps", step._id);
      if (!(await hasRoom(ctx, ROOM_TO_COMPLETE))) return from(at);
    }
  return null;
}

/** Records of other loops may be in iterations of the same numbers. */
function isInside(loop: Step, { stage }: Step): boolean {
  return stage.startsWith(`${loop.stage}.`);
}

function iterationOf({ iterations }: Old, of: { iterations?: number[] }): number {
  return of.iterations?.[iterations.length] ?? 0;
}

function positionOf(step: Step, { after }: Position): Position {
  const { permanent = false, iterations = [] } = step;
  return { permanent, iterations, after: momentOf(step, after) };
}

async function nextRecord(ctx: MutationCtx, old: Old, at: Position): Promise<Step | null> {
  if (iterationOf(old, at) >= old.to) return null;
  const [same, further] = recordsAfter(ctx, old, at);
  return (await firstAfter(at.after, same)) ?? (await further.first());
}

/** The records after a position: of its iteration, then of the iterations after it. */
function recordsAfter(ctx: MutationCtx, { run, iterations, to }: Old, at: Position) {
  const permanent = at.permanent ? true : undefined;
  const records = () => ctx.db.query("steps");
  return [
    records().withIndex("by_run_iterations", (q) =>
      q
        .eq("run", run)
        .eq("permanent", permanent)
        .eq("iterations", at.iterations)
        .gte("_creationTime", at.after.time),
    ),
    records().withIndex("by_run_iterations", (q) =>
      q
        .eq("run", run)
        .eq("permanent", permanent)
        .gt("iterations", at.iterations)
        .lt("iterations", [...iterations, to]),
    ),
  ] as const;
}
