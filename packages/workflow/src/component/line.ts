import {
  drainArgs,
  drainLine as drain,
  freeSlotArgs,
  freeSlotsFrom,
  vFreeSlots,
  lineHead as headOfLine,
  type PoolHost,
} from "@stepwise/workpool/core";
import { v } from "convex/values";
import type { ErrorKind } from "../definition/step-error.js";
import { internal } from "./_generated/api.js";
import { internalMutation, internalQuery, type MutationCtx } from "./_generated/server.js";
import { lookAfterDeadlines } from "./deadlines.js";
import { wake } from "./entering.js";
import { lookAfterContinuations } from "./continuations.js";
import { logLost } from "./log.js";
import { isCalledOff } from "./lookup.js";
import { lookAfterSetAside } from "./stranded.js";
import type { Token } from "./validators.js";
import { lookAfterWaking } from "./waking.js";

/** The pool's look along its line; see `leaveLineFirst` there. */
export const lineHead = internalQuery({
  args: { count: v.number() },
  returns: v.array(v.id("waiting")),
  handler: headOfLine,
});

/** The pool's free slots, read from a stale snapshot. */
export const freeSlots = internalQuery({
  args: freeSlotArgs,
  returns: v.union(vFreeSlots, v.null()),
  handler: freeSlotsFrom,
});

/** A round of the pool's drain: it gives free slots to works in the queue. */
export const drainLine = internalMutation({
  args: drainArgs,
  returns: v.null(),
  handler: async (ctx, args) => {
    await drain(ctx, pool, args);
    return null;
  },
});

/** What the pool needs of this component. */
export const pool: PoolHost = {
  lineHead: internal.line.lineHead,
  freeSlots: internal.line.freeSlots,
  drainLine: internal.line.drainLine,
  mayStart: async (ctx: MutationCtx, { args }) =>
    // The component's works are all actions of steps.
    !(await isCalledOff(ctx, (args as { token: Token }).token)),
  /** A deploy took the function away while its step waited in line. */
  functionGone: (ctx: MutationCtx, work, message) =>
    attemptFailed(ctx, work, "removedNode", `Its function no longer exists: ${message}`),
  watch: {
    /** An action that settles itself takes 2 executions: with 4 looks, one of 9 minutes takes 6. */
    firstLookMs: 10_000,
    sweep: internal.watchdog.sweep,
    look: internal.watchdog.look,
    recover: internal.watchdog.recover,
    alsoLook: async (ctx: MutationCtx, idle) => {
      const times = [
        await lookAfterDeadlines(ctx),
        await lookAfterContinuations(ctx, idle),
        await lookAfterSetAside(ctx),
        await lookAfterWaking(ctx, idle),
      ];
      const wanted = times.filter((at) => at !== null);
      return wanted.length === 0 ? null : Math.min(...wanted);
    },
    lost: (ctx: MutationCtx, work, _slot, why) =>
      attemptFailed(ctx, work, "lost", `Its action was lost: ${why}`),
  },
};

/** An action will not report itself: its run is told, and decides by its retry settings. */
export async function attemptFailed(
  ctx: MutationCtx,
  work: string,
  kind: ErrorKind,
  message: string,
): Promise<void> {
  const id = ctx.db.normalizeId("steps", work);
  const step = id === null ? null : await ctx.db.get("steps", id);
  const run = step === null ? null : await ctx.db.get("runs", step.run);
  // That of a step which was called off holds its slot until it ends; how it does is nobody's concern.
  if (step === null || run === null || step.endedAt !== undefined) return;
  // It has reported, and only that is still to be taken in.
  if (step.event !== undefined) return;
  const { workflow } = run;
  const error = { message, kind, workflow, node: step.stage, attempt: step.attempt };
  await wake(ctx, step, { event: { kind: "failed", error } });
  if (kind === "lost") await logLost(ctx, step, error);
}
