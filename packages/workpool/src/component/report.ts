import type { Infer } from "convex/values";
import { v } from "convex/values";
import { messageOf } from "../core/index.js";
import { internal } from "./_generated/api.js";
import type { ActionCtx } from "./_generated/server.js";
import { vAttempt, vOutcome } from "./attempt.js";

const vReport = v.object({ ...vAttempt, outcome: vOutcome });
export type Report = Infer<typeof vReport>;

/**
 * Reports the end of an attempt from its action: until that has arrived, the work holds its slot.
 *
 * A mutation that an action calls is repeated a few times on conflict, then it fails. A scheduled one is repeated without end, but takes
 * smaller arguments. What then still fails is the size of the result. If one of the earlier calls was committed after all, the later ones
 * are stale and change nothing.
 */
export async function report(ctx: ActionCtx, ended: Report): Promise<void> {
  try {
    await ctx.runMutation(internal.complete.complete, ended);
    return;
  } catch (error) {
    console.warn(`Reporting the end of work "${ended.workId}" is repeated: ${messageOf(error)}`);
  }
  try {
    await ctx.runMutation(internal.complete.completeLater, ended);
  } catch (error) {
    const message = `It ran, but its result could not be recorded: ${messageOf(error)}. If the result is large, store it and return its id`;
    await ctx.runMutation(internal.complete.complete, {
      ...ended,
      outcome: { kind: "failed", error: message, retryable: false },
    });
  }
}
