import { hasRoom, MIB, ROOM_TO_RECOVER, wellFormed } from "@stepwise/workpool/core";
import { withoutValues } from "../../errors/hidden.js";
import type { StepError } from "../../definition/context.js";
import type { MutationCtx, Run, Step } from "../core/documents.js";
import { logStep } from "../core/log.js";
import { newRecord, NO_ENTRY } from "../core/steps.js";
import { enterNow, scheduleEntry } from "../engine/entry.js";
import { passTurnOf } from "./passTurn.js";

/** The stage of a workflow's `onEnd`. No node of such a workflow has this name. */
export const ON_END = "onEnd";

/** What its entry and its function leave to their callers, and to read what it sees. */
const ROOM_TO_RUN = { ...ROOM_TO_RECOVER, bytesRead: 10 * MIB };

/**
 * A run has ended: its `onEnd` runs here, or begins if it is an action. Without room for it, as in
 * a step of another run that sends the last event, it is scheduled. Its record has neither a plan
 * nor a parent's record: nothing calls it off, and the input stays as it is.
 */
export async function beginOnEnd(ctx: MutationCtx, run: Run): Promise<void> {
  const { _id, _creationTime: createdAt, generation, standing } = run;
  const record = newRecord({ run: _id, createdAt, generation, standing }, { stage: ON_END });
  const passesTurn = run.one && true;
  const pending = { ...record, passesTurn, kind: "entry", state: "pending" } as const;
  const step = await ctx.db.insert("steps", pending);
  const found = await ctx.db.get("steps", step);
  if (found === null) return;
  if (await hasRoom(ctx, ROOM_TO_RUN)) await enterNow(ctx, run, found, { ending: true });
  else await scheduleEntry(ctx, found, {});
}

/** An `onEnd` has ended well. */
export async function onEndDone(ctx: MutationCtx, { run, passesTurn }: Step): Promise<void> {
  await ctx.db.patch("runs", run, { ending: undefined });
  if (passesTurn === true) await passTurnOf(ctx, run);
}

/** An `onEnd` has failed for good: the result of its run stays, and the error is kept. */
export async function onEndFailed(
  ctx: MutationCtx,
  { _id: run }: Run,
  step: Step,
  error: StepError,
  sensitive: boolean,
): Promise<void> {
  await logStep(ctx, "onEndFailed", run, error, sensitive);
  const { message } = sensitive ? withoutValues(error) : error;
  await ctx.db.patch("runs", run, {
    onEndError: wellFormed(message.slice(0, 8_000)),
    ending: undefined,
  });
  const record = await ctx.db.get("steps", step._id);
  if (record !== null && record.endedAt === undefined)
    await ctx.db.patch("steps", step._id, { state: "failed", endedAt: Date.now(), ...NO_ENTRY });
  if (step.passesTurn === true) await passTurnOf(ctx, run);
}
