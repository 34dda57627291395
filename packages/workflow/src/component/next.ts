import type { Work } from "@stepwise/workpool/core";
import type { Doc, Id } from "./_generated/dataModel.js";
import type { MutationCtx } from "./_generated/server.js";
import { startChildren } from "./children.js";
import { endRun } from "./ending.js";
import { actionWork, arriveAt, ASLEEP, beginAction, newRecord, wake } from "./entering.js";
import { foldedFurther } from "./folding.js";
import { logCompensationFailed, logCompletionFailed } from "./log.js";
import type { Progress } from "./recording.js";
import { keyOf, stepRead } from "./scope.js";
import { undone } from "./undoing.js";
import type { Fused, Next, Settlement } from "./validators.js";

/** Begins what comes next. @returns the work to put in the slot that becomes free. */
export async function beginNext(
  ctx: MutationCtx,
  progress: Progress,
  { outcome, next }: Settlement,
): Promise<Work | undefined> {
  const { step, known } = progress;
  const arrived = (where: Pick<Fused, "stage" | "pass">) =>
    outcome.kind === "open" && keyOf(step) === keyOf(where);
  switch (next.kind) {
    case "wait":
      return undefined;
    case "stage": {
      const { action, reads } = next.stage;
      if (action === undefined || step.held === true) {
        if (arrived(next.stage)) await wake(ctx, step, {}, { kind: "entry", state: "pending" });
        else await arriveAt(ctx, step, next.stage, known);
        return undefined;
      }
      if (!arrived(next.stage)) return await beginAction(ctx, step, action, next.stage, known);
      // It arrived here by way of `resume`: at its first action, or for another attempt.
      const fields = { ...ASLEEP, kind: "action" as const, state: "running" as const };
      const { sensitive, undoable } = next.stage;
      await ctx.db.patch("steps", step._id, {
        ...fields,
        ...(sensitive === true ? { sensitive } : {}),
        ...(undoable === true ? { undoable, kept: true } : {}),
      });
      return await actionWork(ctx, step, action, { reads }, known);
    }
    case "children":
      await startChildren(ctx, step, arrived(next.children) ? step : null, next.children);
      return undefined;
    case "sleep":
    case "event":
      await wait(ctx, step, arrived(next), next);
      return undefined;
    case "reduce": {
      const { stage, pass, accumulated: value, from } = next;
      await foldedFurther(ctx, step.run, { stage, pass, value }, from);
      return undefined;
    }
    case "undone":
      await undone(ctx, step);
      return undefined;
    case "fail": {
      const { error, ofCompletion, stage = error.node } = next;
      const isOfStep = stage === step.stage;
      const sensitive = next.sensitive === true || (isOfStep && step.sensitive === true);
      if (ofCompletion === true) await logCompletionFailed(ctx, step.run, error, sensitive);
      if (step.undo !== undefined) {
        await logCompensationFailed(ctx, step.run, error, sensitive);
        await undone(ctx, step, error);
      } else {
        const run = await runOf(ctx, step);
        // Siblings of the child that has failed may have ended since the run was told.
        const { compensationErrors } = step.event?.kind === "failed" ? step.event.error : error;
        const full = compensationErrors === undefined ? error : { ...error, compensationErrors };
        return await endRun(ctx, run, { state: "failed", error: full, stage, at: step, sensitive });
      }
      return undefined;
    }
    case "complete": {
      const result = await resultOf(ctx, progress, next.stage);
      const { undoable } = next;
      return await endRun(ctx, await runOf(ctx, step), { state: "completed", ...result, undoable });
    }
  }
}

/** The record of the stage whose output is the run's, and that output; null is a run without one. */
async function resultOf(
  ctx: MutationCtx,
  progress: Progress,
  stage: string | null,
): Promise<{ outputStep: Id<"steps"> | undefined; output: unknown }> {
  if (stage === null) return { outputStep: undefined, output: undefined };
  const { ids, known } = progress;
  const key = keyOf({ stage });
  const id = ids.get(key);
  if (id !== undefined && known.has(key)) return { outputStep: id, output: known.get(key) };
  const record =
    id === undefined
      ? await stepRead(ctx, progress.step.run, { stage })
      : await ctx.db.get("steps", id);
  return { outputStep: record?._id, output: record?.output };
}

/** The run waits: until a time, or for an event and perhaps until a time. */
async function wait(
  ctx: MutationCtx,
  step: Doc<"steps">,
  hasArrived: boolean,
  next: Extract<Next, { kind: "sleep" | "event" }>,
): Promise<void> {
  const { held } = step;
  const now = Date.now();
  const until =
    next.kind === "sleep"
      ? next.until
      : next.timeoutMs === undefined
        ? undefined
        : now + next.timeoutMs;
  const fields = {
    kind: next.kind,
    state: "waiting" as const,
    ...(next.kind === "event" ? { names: next.names, storedNames: next.storedNames } : {}),
    ...(next.kind === "event" && next.sensitive === true ? { sensitive: true } : {}),
    ...(until === undefined ? {} : { dueAt: until }),
  };
  const record = {
    ...newRecord(step, next),
    ...(held === true ? { held } : {}),
    ...fields,
  };
  const id = hasArrived ? step._id : await ctx.db.insert("steps", record);
  const waiting = hasArrived ? { ...step, ...fields } : { ...record, _id: id };
  if (until !== undefined)
    await wake(
      ctx,
      waiting,
      { at: until, event: { kind: "due", of: next.kind } },
      hasArrived ? fields : {},
    );
  else if (hasArrived) await ctx.db.patch("steps", id, { ...ASLEEP, ...fields });
}

async function runOf(ctx: MutationCtx, step: Doc<"steps">): Promise<Doc<"runs">> {
  const run = await ctx.db.get("runs", step.run);
  if (run === null) throw new Error(`The run of the step record "${step._id}" is gone`);
  return run;
}
