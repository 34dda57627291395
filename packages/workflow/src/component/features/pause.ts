import { isOwnJob } from "@stepwise/workpool/core";
import { v } from "convex/values";
import { internal } from "../_generated/api.js";
import type { Doc, Id } from "../_generated/dataModel.js";
import { internalMutation, type MutationCtx } from "../_generated/server.js";
import { goOn, goOnWith, hasRoomInPage } from "../core/continuations.js";
import { callOffWaking } from "../core/scheduled.js";
import { activeSteps } from "../core/steps.js";
import { releaseSlot, withdraw } from "../engine/closing.js";
import { wake } from "../engine/entry.js";
import { continuationArgs } from "../validators.js";
import { fillSeats } from "./concurrency.js";
import { rearm } from "./lost.js";

/*
 * A pause is written into the records of the steps in which something is still to come, of the run and of those under it: `held`. What runs
 * ends, and what it reports is recorded; what comes next gets a record that is held too. Nothing that is held is scheduled.
 */

/** How many runs one transaction pauses, or has go on. */
const PAGE = 250;

/** How many runs the present transaction may still see to. */
interface Page {
  left: number;
}

/**
 * Where a page of children was cut off: those after `after` of the parent `step` are still to be seen to. `since`: when that was decided, in
 * the order of commits; absent where it is being decided.
 */
type Rest = { step: Id<"steps">; after: number; held: boolean; since?: bigint };

/** Pauses a run that goes on, and those under it: a page of them here, the others in transactions that follow. */
export async function pauseRun(ctx: MutationCtx, run: Doc<"runs">): Promise<void> {
  // Also of one that is paused already: a resume of a run above may still be on its way here.
  await ctx.db.patch("runs", run._id, { paused: true, pausedAt: ctx.db.vars.commitTs });
  if (run.paused !== true) await seeToRun(ctx, run._id, { held: true }, { left: PAGE });
}

/** Has a run that was paused go on, in the same way. */
export async function resumeRun(ctx: MutationCtx, run: Doc<"runs">): Promise<void> {
  await ctx.db.patch("runs", run._id, { paused: undefined });
  await seeToRun(ctx, run._id, { held: false }, { left: PAGE });
}

async function seeToRun(
  ctx: MutationCtx,
  run: Id<"runs">,
  decided: Pick<Rest, "held" | "since">,
  page: Page,
): Promise<void> {
  const { held } = decided;
  for await (const step of activeSteps(ctx, run)) {
    // A loop or branch has nothing to come itself: what goes on stands inside.
    if (step.kind === "loop" || step.kind === "branch") continue;
    if (held) await hold(ctx, step);
    if (step.kind === "children")
      await seeToChildren(ctx, { ...decided, step: step._id, after: -1 }, page);
    if (!held && step.held === true) await release(ctx, step);
  }
}

/** The children that run; those that wait for their turn wait on while the parent's record is held. */
async function seeToChildren(ctx: MutationCtx, rest: Rest, page: Page): Promise<void> {
  const following = await seeToSomeChildren(ctx, rest, page);
  if (following !== null) await goOn(ctx, internal.features.pause.applyMore, following);
}

async function seeToSomeChildren(ctx: MutationCtx, rest: Rest, page: Page): Promise<Rest | null> {
  if (page.left === 0 || (!rest.held && !(await releaseThemselves(ctx, rest, page)))) return rest;
  const children = await ctx.db
    .query("runs")
    .withIndex("by_parent_state", (q) =>
      q.eq("parentStep", rest.step).eq("state", "running").gt("index", rest.after),
    )
    .take(page.left);
  page.left -= children.length;
  let { after } = rest;
  for (const child of children) {
    if (!(await hasRoomInPage(ctx))) return { ...rest, after };
    if (rest.held || !isPausedSince(child, rest)) await seeToRun(ctx, child._id, rest, page);
    after = child.index;
  }
  return page.left === 0 ? { ...rest, after } : null;
}

/** Children that were paused by themselves, also those that wait for their turn. @returns whether these were all. */
async function releaseThemselves(ctx: MutationCtx, rest: Rest, page: Page): Promise<boolean> {
  const paused = ctx.db
    .query("runs")
    .withIndex("by_parent_paused", (q) => q.eq("parentStep", rest.step).eq("paused", true));
  const released: Doc<"runs">[] = [];
  for await (const child of paused) {
    if (released.length === page.left) break;
    if (!isPausedSince(child, rest)) released.push(child);
  }
  for (const child of released) {
    if (!(await hasRoomInPage(ctx))) return false;
    page.left -= 1;
    await ctx.db.patch("runs", child._id, { paused: undefined });
    await seeToRun(ctx, child._id, rest, page);
  }
  return page.left > 0;
}

/** Whether a run was paused after it was decided that it should go on. */
function isPausedSince({ paused, pausedAt }: Doc<"runs">, { since }: Rest): boolean {
  // A placeholder is that of this very transaction.
  return paused === true && since !== undefined && typeof pausedAt === "bigint" && pausedAt > since;
}

/** The next page of children. What has been decided otherwise meanwhile is left alone: the parent's record says so. */
export const applyMore = internalMutation({
  args: continuationArgs,
  returns: v.null(),
  handler: async (ctx, { continuation }): Promise<null> =>
    await goOnWith<Rest>(ctx, continuation, async (rest, at) => {
      const parent = await ctx.db.get("steps", rest.step);
      if (parent === null || parent.endedAt !== undefined) return null;
      if ((parent.held === true) !== rest.held) return null;
      return await seeToSomeChildren(
        ctx,
        { ...(at === undefined ? {} : { since: at }), ...rest },
        { left: PAGE },
      );
    }),
});

/** Nothing goes on with a step: what was scheduled is called off, and an action that has not begun leaves the pool. */
async function hold(ctx: MutationCtx, step: Doc<"steps">): Promise<void> {
  if (step.held === true) return;
  // One that was lost has a job: it is to be told so.
  if (step.kind === "action" && step.state === "running" && step.job === undefined) {
    const isAhead = await withdraw(ctx, step._id);
    await ctx.db.patch("steps", step._id, { held: true, ...(isAhead ? { state: "pending" } : {}) });
    return;
  }
  const { job } = step;
  // Children are inserted on: none of them starts. The job of a step that pauses its own run is how its report is told from others.
  const staysScheduled = job === undefined || step.inserting === true || (await isOwnJob(ctx, job));
  if (!staysScheduled) {
    await callOffWaking(ctx, step);
    if (step.kind === "action" && step.state === "running") await releaseSlot(ctx, step._id);
  }
  await ctx.db.patch("steps", step._id, {
    held: true,
    ...(staysScheduled ? {} : { job: undefined, reserve: undefined }),
  });
}

/** What was held goes on: at once where it was due meanwhile. */
async function release(ctx: MutationCtx, held: Doc<"steps">): Promise<void> {
  const step = { ...held, held: undefined };
  // A step may have its own run go on again: it does, in this very transaction.
  if (await isOwnJob(ctx, step.job))
    return await ctx.db.patch("steps", step._id, { held: undefined });
  if (await hasEarlyEvent(ctx, step)) {
    // The run comes to the node again, and finds the event in its inbox.
    const fields = { kind: "entry", state: "pending", held: undefined } as const;
    await wake(ctx, step, {}, { ...fields, names: undefined, dueAt: undefined });
    return;
  }
  await ctx.db.patch("steps", step._id, { held: undefined });
  await rearm(ctx, step);
  if (step.kind === "children") await fillSeats(ctx, step._id);
}

/** Whether an event that the step waits for came while it was held, and in time. */
async function hasEarlyEvent(
  ctx: MutationCtx,
  { run, state, names = [], storedNames = names, dueAt = Infinity }: Doc<"steps">,
): Promise<boolean> {
  if (state !== "waiting") return false;
  for (const name of storedNames) {
    const event = await ctx.db
      .query("inbox")
      .withIndex("by_run_name", (q) => q.eq("run", run).eq("name", name))
      .first();
    if (event !== null && event._creationTime <= dueAt) return true;
  }
  return false;
}
