import { completeWork, watchReport, type SlotId } from "@stepwise/workpool/core";
import { v } from "convex/values";
import { mutation } from "./_generated/server.js";
import { pool } from "./core/pool.js";
import { callOffWaking } from "./core/scheduled.js";
import { isActive, stepNamed } from "./core/steps.js";
import { wake } from "./engine/entry.js";
import { errorsBeside } from "./engine/transition.js";
import { vReported, vToken } from "./validators.js";

/**
 * Keeps what an action has reported where its completion has failed: a scheduled mutation takes it in, which is repeated without end. It
 * writes what belongs to the step alone, so that hardly anything can be in its way.
 */
export const keep = mutation({
  args: { token: vToken, slot: v.string(), report: vReported },
  returns: v.null(),
  handler: async (ctx, { token, slot: id, report }) => {
    const step = await stepNamed(ctx, token);
    const slot = id as SlotId;
    const isCurrent = step !== null && isActive(step, token);
    let job;
    if (isCurrent) {
      await callOffWaking(ctx, step);
      const made =
        report.kind === "done" ? { errors: errorsBeside(step.errors, report.output) } : {};
      job = await wake(ctx, step, { event: report, isDelivered: true, slot: id }, made);
    }
    const held = { work: token.step, slot };
    if (job !== undefined) await watchReport(ctx, held, job);
    // As in `settle`: an attempt that another has followed gave its slot back then.
    else if (step === null || step.attempt === token.attempt) await completeWork(ctx, pool, held);
    return null;
  },
});
