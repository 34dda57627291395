import { hasRoom, ROOM_TO_COMPLETE } from "@stepwise/workpool/core";
import { v } from "convex/values";
import { internal } from "./_generated/api.js";
import type { Doc, Id } from "./_generated/dataModel.js";
import { internalMutation, type MutationCtx } from "./_generated/server.js";
import { goOn, goOnWith } from "./continuations.js";
import type { RunOf } from "./entering.js";
import { removeChildren } from "./removing.js";
import { continuationArgs, type Fused } from "./validators.js";

/** So many of a loop's newest passes keep their records; and the first one does. While it lasts, up to twice as many do. */
const KEPT_PASSES = 100;

/* A continuation keeps it as a value, and an interface is none: so this is a type. */
/** The passes of a loop that are to be forgotten: from `from` up to, but without, `to`. */
type Passes = {
  run: Id<"runs">;
  generation: number;
  stage: string;
  pass: number[];
  from: number;
  to: number;
};

/**
 * Has the passes forgotten that have become too old, but for those in which something can be undone: what undoes it reads what else the
 * pass has made. To forget a pass is to read it, so that is done in transactions of their own, for a hundred passes at a time and once more
 * when the loop is over: a pass itself reads and writes as much as every other.
 * @param before at which pass the loop was when this was last called.
 */
export async function forgetPasses(
  ctx: MutationCtx,
  { run, generation = 1 }: RunOf,
  {
    stage,
    pass = [],
    iteration = 0,
    isOver,
  }: Pick<Fused, "stage" | "pass" | "iteration" | "isOver">,
  before: number,
): Promise<void> {
  const from = Math.max(2, hundredOf(before) - KEPT_PASSES);
  const to = (isOver === true ? iteration + 1 : hundredOf(iteration)) - KEPT_PASSES;
  if (from >= to) return;
  const passes: Passes = { run, generation, stage, pass, from, to };
  await goOn(ctx, internal.forgetting.forgetMore, passes);
}

/** The last pass up to this one at which passes were forgotten. */
function hundredOf(iteration: number): number {
  return iteration - (iteration % KEPT_PASSES);
}

/** Forgets as many of the passes as fit into one transaction. */
export const forgetMore = internalMutation({
  args: continuationArgs,
  returns: v.null(),
  handler: async (ctx, { continuation }): Promise<null> =>
    await goOnWith<Passes>(ctx, continuation, async (passes) => {
      const run = await ctx.db.get("runs", passes.run);
      // One that was restarted meanwhile has other passes of these numbers.
      return (run?.generation ?? 1) === passes.generation ? await forgetSome(ctx, passes) : null;
    }),
});

/** @returns what is left to forget, or null. */
async function forgetSome(ctx: MutationCtx, passes: Passes): Promise<Passes | null> {
  for (let from = passes.from; from < passes.to; from++) {
    if (await canBeUndone(ctx, passes, from)) continue;
    for await (const step of recordsOf(ctx, passes, from)) {
      if (!(await hasRoom(ctx, ROOM_TO_COMPLETE))) return { ...passes, from };
      await forget(ctx, passes.stage, step);
    }
  }
  return null;
}

/** Whether something in a pass can be undone. What is kept may be of another loop, in a pass of that number. */
async function canBeUndone(ctx: MutationCtx, passes: Passes, at: number): Promise<boolean> {
  for await (const { stage } of recordsOf(ctx, passes, at, true))
    if (stage.startsWith(`${passes.stage}.`)) return true;
  return false;
}

/** The records of a pass and of the passes inside it: those that are kept, or the others. */
function recordsOf(ctx: MutationCtx, { run, pass }: Passes, at: number, kept?: true) {
  return ctx.db.query("steps").withIndex("by_run_pass", (q) =>
    q
      .eq("run", run)
      .eq("kept", kept)
      .gte("pass", [...pass, at])
      .lt("pass", [...pass, at + 1]),
  );
}

async function forget(ctx: MutationCtx, loop: string, step: Doc<"steps">): Promise<void> {
  if (!step.stage.startsWith(`${loop}.`) || step.endedAt === undefined) return;
  if (step.kind === "children" && !(await removeChildren(ctx, step._id))) return;
  await ctx.db.delete("steps", step._id);
}
