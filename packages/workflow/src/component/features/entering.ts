import { HALF_OF_A_TRANSACTION, hasRoom, leaveRoom, MIB } from "@stepwise/workpool/core";
import type { FunctionHandle } from "convex/server";
import type { MutationCtx, Step, StepId } from "../core/documents.js";
import { hasNotEnded, tokenOf } from "../core/steps.js";
import type { ToEnter } from "../engine/begin.js";
import { arrivalAt, scheduleEntry } from "../engine/entry.js";
import type { Left, Settled, Starting } from "../protocol.js";

/** To schedule those that are not entered: a parent of few children starts them so. */
const ROOM_TO_GO_ON = {
  bytesRead: MIB,
  bytesWritten: MIB,
  databaseQueries: 64,
  documentsRead: 64,
  documentsWritten: 64,
  functionsScheduled: 40,
  scheduledFunctionArgsBytes: MIB,
};

/** A parent's record, and the children that may be entered by the transaction that starts them. */
export interface Started {
  readonly parent: StepId;
  readonly children: readonly ToEnter[];
}

/**
 * Enters children as their own scheduled functions would, once all else of the transaction is
 * written. One that fails is rolled back alone, and scheduled, as are those behind it and those
 * without room. @returns where the transaction goes on, if the parent need not wait any more.
 */
export async function enterChildren(
  ctx: MutationCtx,
  { parent, children }: Started,
  { job, ...left }: Left & Pick<Starting, "job">,
): Promise<Settled["goesOn"]> {
  if (children.length === 0) return undefined;
  const since = performance.now();
  const msLeft = () => left.ms - (performance.now() - since);
  const hasHalf = async () => msLeft() > 0 && (await hasRoom(ctx, HALF_OF_A_TRANSACTION));
  const stages = Math.max(1, Math.floor(left.stages / children.length));
  let entered = 0;
  let goesOn = true;
  for (const child of children) {
    const step = await ctx.db.get("steps", child.step);
    // One before it may have ended its siblings, or have paused them with itself.
    if (
      step === null ||
      // guard: ended-by-sibling
      !hasNotEnded(step)
    )
      continue;
    // guard: paused-by-sibling
    if (step.paused === true) {
      await ctx.db.patch("steps", step._id, { job: undefined });
      continue;
    }
    const starting = { parent, job, stages, ms: msLeft() };
    goesOn &&= entered < left.stages && (await hasHalf());
    goesOn &&= await enter(ctx, step, child, starting);
    if (goesOn) entered += 1;
    else await scheduleEntry(ctx, step, child);
  }
  const after = await ctx.db.get("steps", parent);
  // Whoever ended it has only recorded why it is entered.
  if (after?.event === undefined || after.job !== job || after.paused === true) return undefined;
  const { stage, event } = after;
  if (await hasHalf()) return { token: tokenOf(after), stage, event, entered };
  await scheduleEntry(ctx, after, { event });
  return undefined;
}

/** @returns false if it has failed. */
async function enter(ctx: MutationCtx, step: Step, { entry, scope }: ToEnter, starting: Starting) {
  const at = { token: tokenOf(step), stage: step.stage, event: arrivalAt(step) };
  try {
    await ctx.runMutation(
      entry as FunctionHandle<"mutation">,
      { ...at, scope, fuse: true, nested: true, starting },
      { transactionLimits: await leaveRoom(ctx, ROOM_TO_GO_ON) },
    );
    return true;
  } catch {
    return false;
  }
}
