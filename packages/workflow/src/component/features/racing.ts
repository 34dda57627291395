import { ERRORS_BYTES } from "../core/room.js";
import { cancelPending } from "@stepwise/workpool/core";
import { getConvexSize } from "convex/values";
import type { StepError } from "../../definition/context.js";
import { shortened } from "../../errors/failure.js";
import { internal } from "../_generated/api.js";
import type { MutationCtx, Run, Step } from "../core/documents.js";
import { childrenFrom, hasChildIn, keyShown, UNENDED } from "../core/childRuns.js";
import { errorOf, runOf } from "../core/runs.js";
import { nameOf } from "../core/steps.js";
import { scheduleEntry } from "../engine/entry.js";
import { dropPages } from "./childPages.js";
import { withListed } from "./compensation.js";
import { failWith, withCauses } from "./failing.js";

/* The cases of a race are children of which one counts: the first that ends well, or at all. */

/** Says whether a child that has ended, of a parent that still waits, has won its race. */
export const hasWon = ({ race }: Step, { state }: Run): boolean =>
  race !== undefined && (state === "completed" || race.takesAny === true);

/** A case has won: the others are canceled. The run goes on when nothing of them is undone. */
export async function endRace(ctx: MutationCtx, race: Step, winner: Run): Promise<void> {
  if (race.inserting === true) {
    if (race.job !== undefined) await cancelPending(ctx, race.job);
    await dropPages(ctx, race._id);
  }
  const keepsDone = race.race?.keepsLosers;
  const over = { settled: true, keepsDone, inserting: undefined, job: undefined };
  await ctx.db.patch("steps", race._id, { ...over, entersAt: undefined });
  const because = `Another case of "${nameOf(race)}" has won: ${keyShown(winner)}`;
  const { cancelLosers } = internal.features.ending;
  await ctx.runMutation(cancelLosers, { race: race._id, because });
  // Only now, so that none of those that have ended at once looks for the others.
  const won = winner._id;
  await ctx.db.patch("steps", race._id, { won });
  await goOnAfterLosers(ctx, { ...race, ...over, won });
}

/** The run goes on after a race that was won, once all other cases have ended. */
export async function goOnAfterLosers(ctx: MutationCtx, race: Step): Promise<void> {
  if (race.won === undefined || race.state !== "waiting") return;
  if (await hasChildIn(ctx, race._id, UNENDED)) return;
  await scheduleEntry(ctx, race, { event: { kind: "settled" } });
}

/** All cases have ended, and none has won. */
export async function failRace(ctx: MutationCtx, race: Step): Promise<void> {
  const run = await runOf(ctx, race);
  const all: [string, StepError][] = [];
  const told: string[] = [];
  let undoing: StepError[] = [];
  for await (const child of childrenFrom(ctx, race._id)) {
    const { childKey = "", error } = child;
    if (error === undefined) continue;
    told.push(`${keyShown(child)}: ${error.message}`);
    const { compensationErrors = [], ...own }: StepError = error;
    all.push([childKey, withCauses(own)]);
    undoing = undoing.concat(compensationErrors);
  }
  const isLarge = getConvexSize(Object.fromEntries(all)) > 2 * ERRORS_BYTES;
  const brief = ({ data: _data, cause: _cause, causes: _causes, ...error }: StepError) => error;
  const causes = Object.fromEntries(all.map(([key, of]) => [key, isLarge ? brief(of) : of]));
  const message = shortened(`All cases of "${nameOf(race)}" failed: ${told.join("; ")}`);
  const error = { ...errorOf(run, "childFailed", message, race.stage), causes };
  await failWith(ctx, race, withListed(error, undoing));
}
