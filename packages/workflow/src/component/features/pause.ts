import { RUNS_AT_ONCE } from "../core/childRuns.js";
import { isOwnJob } from "@stepwise/workpool/core";
import { internal } from "../_generated/api.js";
import { continuation, continueLater, hasRoomInPage } from "../core/continuations.js";
import type { MutationCtx, Run, RunId, Step, StepId } from "../core/documents.js";
import { inboxOf } from "../core/inbox.js";
import { isHolding, isInPool, isParent, isTurn } from "../core/kinds.js";
import { goesOn } from "../core/runs.js";
import { cancelScheduled } from "../core/scheduled.js";
import { activeSteps } from "../core/steps.js";
import { releaseSlot, withdraw } from "../engine/closing.js";
import { arrivalAt, scheduleEntry } from "../engine/entry.js";
import { startWaiting } from "./concurrency.js";
import { rearm } from "./lost.js";
import { pauseInLine, resumeInLine } from "./passTurn.js";

/* A pause marks active records as `paused`, down the tree: what runs ends, and nothing starts. */

type Page = { remaining: number };

/** The children of `step` after `after`. `since`: when it was decided, in the order of commits. */
type Rest = { step: StepId; after: number; paused: boolean; since?: bigint };

/** Pauses a run and those under it, in pages. @returns false if it has ended or is being undone. */
export async function pauseRun(ctx: MutationCtx, run: Run): Promise<boolean> {
  if (!goesOn(run)) return false;
  // Also if it is paused already: a resume of a run above may still be on its way here.
  await ctx.db.patch("runs", run._id, { paused: true, pausedAt: ctx.db.vars.commitTs });
  if (run.paused !== true)
    await applyToRun(ctx, run._id, { paused: true }, { remaining: RUNS_AT_ONCE });
  return true;
}

/**
 * Resumes a run in the same way. One below a paused run goes on with that.
 * @returns false if it was not paused.
 */
export async function resumeRun(ctx: MutationCtx, run: Run): Promise<boolean> {
  if (run.paused !== true) return false;
  await ctx.db.patch("runs", run._id, { paused: undefined });
  const above = run.parentStep && (await ctx.db.get("steps", run.parentStep));
  if (above?.paused !== true)
    await applyToRun(ctx, run._id, { paused: false }, { remaining: RUNS_AT_ONCE });
  return true;
}

async function applyToRun(
  ctx: MutationCtx,
  run: RunId,
  decided: Pick<Rest, "paused" | "since">,
  page: Page,
): Promise<void> {
  const { paused } = decided;
  for await (const step of activeSteps(ctx, run)) {
    // The steps inside are paused.
    if (isHolding(step)) continue;
    if (paused) await pauseStep(ctx, step);
    if (isParent(step)) await applyToChildren(ctx, { ...decided, step: step._id, after: -1 }, page);
    if (!paused && step.paused === true) await resumeStep(ctx, step);
  }
}

/** Applies it to running children. Waiting ones do not start while the parent is paused. */
async function applyToChildren(ctx: MutationCtx, rest: Rest, page: Page): Promise<void> {
  const following = await applyToSomeChildren(ctx, rest, page);
  if (following !== null) await continueLater(ctx, internal.features.pause.applyMore, following);
}

async function applyToSomeChildren(ctx: MutationCtx, rest: Rest, page: Page): Promise<Rest | null> {
  if (page.remaining === 0 || (!rest.paused && !(await releaseOwnPauses(ctx, rest, page))))
    return rest;
  const children = await ctx.db
    .query("runs")
    .withIndex("by_parent_state", (q) =>
      q.eq("parentStep", rest.step).eq("state", "running").gt("index", rest.after),
    )
    .take(page.remaining);
  page.remaining -= children.length;
  let { after } = rest;
  for (const child of children) {
    if (!(await hasRoomInPage(ctx))) return { ...rest, after };
    if (rest.paused || !isPausedSince(child, rest)) await applyToRun(ctx, child._id, rest, page);
    after = child.index;
  }
  return page.remaining === 0 ? { ...rest, after } : null;
}

/** @returns whether all children that were paused themselves were resumed. */
async function releaseOwnPauses(ctx: MutationCtx, rest: Rest, page: Page): Promise<boolean> {
  const paused = ctx.db
    .query("runs")
    .withIndex("by_parent_paused", (q) => q.eq("parentStep", rest.step).eq("paused", true));
  const released: Run[] = [];
  for await (const child of paused) {
    if (released.length === page.remaining) break;
    if (!isPausedSince(child, rest)) released.push(child);
  }
  for (const child of released) {
    if (!(await hasRoomInPage(ctx))) return false;
    page.remaining -= 1;
    await ctx.db.patch("runs", child._id, { paused: undefined });
    await applyToRun(ctx, child._id, rest, page);
  }
  return page.remaining > 0;
}

function isPausedSince({ paused, pausedAt }: Run, { since }: Rest): boolean {
  // A placeholder is of this transaction.
  return paused === true && since !== undefined && typeof pausedAt === "bigint" && pausedAt > since;
}

/** The next page of children, unless something else was decided meanwhile. */
export const applyMore = continuation<Rest>(async (ctx, rest, { at }) => {
  const parent = await ctx.db.get("steps", rest.step);
  if (parent === null || parent.endedAt !== undefined) return null;
  // guard: page-of-pause
  if ((parent.paused === true) !== rest.paused) return null;
  return await applyToSomeChildren(ctx, { since: at, ...rest }, { remaining: RUNS_AT_ONCE });
});

/** Holds a step: cancels what is scheduled, and takes an action out of the pool's queue. */
async function pauseStep(ctx: MutationCtx, step: Step): Promise<void> {
  const { _id: id, job, paused, inserting, state, permits } = step;
  if (paused === true) return;
  if (isTurn(step)) await pauseInLine(ctx, step.run);
  // A lost action has a job, which tells its run.
  if (isInPool(step) && job === undefined) {
    const { isAhead, place } = await withdraw(ctx, id);
    const fields = { state: isAhead ? ("pending" as const) : state, place: permits && place };
    return await ctx.db.patch("steps", id, { paused: true, ...fields });
  }
  // Children are still inserted, but none starts. A step can pause its own run.
  if (job === undefined || inserting === true || (await isOwnJob(ctx, job)))
    return await ctx.db.patch("steps", id, { paused: true });
  await cancelScheduled(ctx, step);
  if (isInPool(step)) await releaseSlot(ctx, id);
  await ctx.db.patch("steps", id, { paused: true, job: undefined, check: undefined });
}

async function resumeStep(ctx: MutationCtx, of: Step): Promise<void> {
  const step = { ...of, paused: undefined };
  // A step may resume its own run.
  if (await isOwnJob(ctx, step.job))
    return await ctx.db.patch("steps", step._id, { paused: undefined });
  if (await hasEarlyEvent(ctx, step)) {
    // The run comes to the node again, and finds the event in its inbox.
    const fields = { kind: "entry", state: "pending", paused: undefined } as const;
    const event = arrivalAt({ ...step, ...fields });
    return void (await scheduleEntry(ctx, step, { event }, { ...fields, names: undefined }));
  }
  await ctx.db.patch("steps", step._id, { paused: undefined });
  await rearm(ctx, step);
  if (isTurn(step)) await resumeInLine(ctx, step.run);
  if (isParent(step)) await startWaiting(ctx, step._id);
}

/** Says whether an event that a step waits for came in time while it was paused. */
async function hasEarlyEvent(
  ctx: MutationCtx,
  { run, state, names = [], storedNames = names, dueAt = Infinity }: Step,
): Promise<boolean> {
  if (state !== "waiting" || storedNames.length === 0) return false;
  // Those for a case of a race are sent to the run that the race is in.
  for (let at: RunId | undefined = run; at !== undefined; at = await runOfRace(ctx, at))
    for (const name of storedNames)
      for await (const event of inboxOf(ctx, at, name)) {
        if (event._creationTime <= dueAt) return true;
        break;
      }
  return false;
}

async function runOfRace(ctx: MutationCtx, id: RunId): Promise<RunId | undefined> {
  const run = await ctx.db.get("runs", id);
  if (run?.within === undefined || run.parentStep === undefined) return undefined;
  const parent = await ctx.db.get("steps", run.parentStep);
  return parent?.race === undefined ? undefined : run.parentRun;
}
