import { completeWork, watchReport, type SlotId } from "@stepwise/workpool/core";
import { v } from "convex/values";
import { mutation } from "./_generated/server.js";
import { pool } from "./core/pool.js";
import { cancelScheduled } from "./core/scheduled.js";
import { isActive, stepWithId } from "./core/steps.js";
import { scheduleEntry } from "./engine/entry.js";
import { errorsBeside } from "./engine/transition.js";
import { vReported, vToken } from "./validators.js";

/** Stores what an action reported when its completion failed; a scheduled mutation records it. */
export const keep = mutation({
  args: { token: vToken, slot: v.string(), report: vReported },
  returns: v.null(),
  handler: async (ctx, { token, slot: id, report }) => {
    const step = await stepWithId(ctx, token.step);
    const slot = id as SlotId;
    const isCurrent = step !== null && isActive(step, token);
    let job;
    if (isCurrent) {
      await cancelScheduled(ctx, step);
      const made =
        report.kind === "done" ? { errors: errorsBeside(step.errors, report.output) } : {};
      job = await scheduleEntry(ctx, step, { event: report, isGuarded: true, slot: id }, made);
    }
    const held = { work: token.step, slot };
    if (job !== undefined) await watchReport(ctx, held, job);
    // As in `settle`: an earlier attempt gave its slot back when the next was due.
    else if (step === null || step.attempt === token.attempt) await completeWork(ctx, pool, held);
    return null;
  },
});
