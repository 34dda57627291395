import { ROOM_TO_COMPLETE, hasRoom } from "@stepwise/workpool/core";
import { v } from "convex/values";
import { internal } from "../_generated/api.js";
import type { Doc, Id } from "../_generated/dataModel.js";
import { internalMutation, type MutationCtx } from "../_generated/server.js";
import { goOn, goOnWith } from "../core/continuations.js";
import { continuationArgs } from "../validators.js";
import { removeChildren } from "./retention.js";

/** So many of a loop's newest passes keep their records; and the first one does. While it lasts, up to twice as many do. */
const KEPT_PASSES = 100;

/* A continuation keeps them as values, and an interface is none: so these are types. */
/** The passes of a loop that are to be forgotten: from `from` up to, but without, `to`. */
type Passes = {
  run: Id<"runs">;
  /** Its record. Where that is gone, the passes are. */
  loop: Id<"steps">;
  /** Of the loops around it. */
  pass: number[];
  from: number;
  to: number;
  /** Those of the passes in which something can be undone, as far as was looked. */
  kept: number[];
  at: Position;
};

/** Up to where records were looked at, in their order: first those that are `kept`, then the others. */
type Position = { kept: boolean; pass: number[]; createdAt: number };

/** A loop that has come further, or to its end. */
export interface LoopStep extends Pick<Doc<"steps">, "_id" | "run" | "pass"> {
  /** The pass that it is at. */
  readonly iteration: number;
  /** At which it was when this was last called. */
  readonly before: number;
  readonly isOver: boolean;
}

/**
 * Has the passes forgotten that have become too old, but for those in which something can be undone: what undoes it reads what else the
 * pass has made. To forget a pass is to read it, so that is done in transactions of their own, for a hundred passes at a time and once more
 * when the loop is over: a pass itself reads and writes as much as every other.
 */
export async function forgetPasses(
  ctx: MutationCtx,
  { _id: loop, run, pass = [], iteration, before, isOver }: LoopStep,
): Promise<void> {
  const from = Math.max(2, hundredOf(before) - KEPT_PASSES);
  const to = (isOver ? iteration + 1 : hundredOf(iteration)) - KEPT_PASSES;
  if (from >= to) return;
  const at: Position = { kept: true, pass: [...pass, from], createdAt: 0 };
  const passes: Passes = { run, loop, pass, from, to, kept: [], at };
  await goOn(ctx, internal.features.iterations.removeMoreIterations, passes);
}

/** The last pass up to this one at which passes were forgotten. */
function hundredOf(iteration: number): number {
  return iteration - (iteration % KEPT_PASSES);
}

/** Forgets as many of the passes as fit into one transaction. */
export const removeMoreIterations = internalMutation({
  args: continuationArgs,
  returns: v.null(),
  handler: async (ctx, { continuation }): Promise<null> =>
    await goOnWith<Passes>(ctx, continuation, async (passes) => {
      const loop = await ctx.db.get("steps", passes.loop);
      return loop === null ? null : await forgetSome(ctx, passes, loop);
    }),
});

/** @returns what is left to forget, or null. Each record is looked at once, whether or not it can be forgotten: so this comes to its end. */
async function forgetSome(
  ctx: MutationCtx,
  passes: Passes,
  loop: Doc<"steps">,
): Promise<Passes | null> {
  const kept = new Set(passes.kept);
  const left = (at: Position): Passes => ({ ...passes, kept: [...kept], at });
  let { at } = passes;
  while (at.kept) {
    const step = await firstAfter(ctx, passes, at);
    if (step === null) at = { kept: false, pass: [...passes.pass, passes.from], createdAt: 0 };
    else if (isInside(loop, step)) {
      // The rest of that pass need not be looked at.
      kept.add(passOf(passes, step));
      at = { kept: true, pass: [...passes.pass, passOf(passes, step) + 1], createdAt: 0 };
    } else at = positionOf(step);
    if (!(await hasRoom(ctx, ROOM_TO_COMPLETE))) return left(at);
  }
  for (const query of recordsAfter(ctx, passes, at))
    for await (const step of query) {
      if (isInside(loop, step) && !kept.has(passOf(passes, step))) await forget(ctx, step);
      if (!(await hasRoom(ctx, ROOM_TO_COMPLETE))) return left(positionOf(step));
    }
  return null;
}

/** Records of other loops may be in passes of the same numbers. */
function isInside(loop: Doc<"steps">, { stage }: Doc<"steps">): boolean {
  return stage.startsWith(`${loop.stage}.`);
}

/** Which pass of the loop a record belongs to. */
function passOf({ pass }: Passes, of: { pass?: number[] }): number {
  return of.pass?.[pass.length] ?? 0;
}

function positionOf({ kept = false, pass = [], _creationTime }: Doc<"steps">): Position {
  return { kept, pass, createdAt: _creationTime };
}

async function firstAfter(
  ctx: MutationCtx,
  passes: Passes,
  at: Position,
): Promise<Doc<"steps"> | null> {
  if (passOf(passes, at) >= passes.to) return null;
  const [same, further] = recordsAfter(ctx, passes, at);
  return (await same.first()) ?? (await further.first());
}

/** What follows a position: the records of the very pass, then those of the passes after it and inside it. */
function recordsAfter(ctx: MutationCtx, { run, pass, to }: Passes, at: Position) {
  const kept = at.kept ? true : undefined;
  const records = () => ctx.db.query("steps");
  return [
    records().withIndex("by_run_pass", (q) =>
      q.eq("run", run).eq("kept", kept).eq("pass", at.pass).gt("_creationTime", at.createdAt),
    ),
    records().withIndex("by_run_pass", (q) =>
      q
        .eq("run", run)
        .eq("kept", kept)
        .gt("pass", at.pass)
        .lt("pass", [...pass, to]),
    ),
  ] as const;
}

async function forget(ctx: MutationCtx, step: Doc<"steps">): Promise<void> {
  if (step.endedAt === undefined) return;
  if (step.kind === "children" && !(await removeChildren(ctx, step._id))) return;
  await ctx.db.delete("steps", step._id);
}
