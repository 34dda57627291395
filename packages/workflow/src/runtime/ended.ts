import { describeThrown } from "../errors/failure.js";
import { INPUT } from "./begins.js";
import type { Reported } from "./functions.js";
import { limitOfStage, usedBy } from "./limits.js";
import { casesOf } from "./nodes/kinds.js";
import { type Again, nextAttempt } from "./options.js";
import { withPresentKeys } from "./storage-names.js";
import type { Arrive, Run } from "./run.js";

/** The token's stage has ended. @param next what follows it. @returns where the run goes on. */
export async function ended(
  run: Run,
  reported: Reported,
  next: Arrive | undefined,
): Promise<Arrive | undefined> {
  const { own, stage, token } = run;
  run.noted = { beganAt: reported.beganAt };
  if (reported.kind === "success") {
    const used = usedBy(own, stage, reported.output);
    await run.succeeded(reported.output, used && { used });
    return next;
  }
  const { error } = reported;
  if (error.node === INPUT) return run.failAt(stage, error);
  const { node, path, runs, called } = run.place(stage);
  // The whole node can have failed, of which the stage may be the children: its time is over.
  if (error.node !== stage || (node !== undefined && runs === undefined)) {
    // The component knows a branch by its storage name.
    return await run.failed(withPresentKeys(error, casesOf(node)), null, next, path);
  }
  const { attempt, uncounted } = token;
  // An action that has not begun is not there any more: what is there now runs.
  if (own.replaced.has(stage) && ["lost", "removedNode"].includes(error.kind))
    return await run.failed(error, { dueAt: Date.now() }, next);
  let again: Again | null;
  try {
    const holds = limitOfStage(own, stage, reported.holds);
    const asked = { retryAt: reported.retryAt, holds, uncounted };
    again = nextAttempt(own, stage, { ...error, attempt }, asked);
  } catch (thrown) {
    const { message, ...rest } = describeThrown(thrown);
    const why = `The retry.when of "${called}" failed: ${message}. It was asked about: ${error.message}`;
    return await run.failed({ ...rest, message: why }, null, next);
  }
  return await run.failed(error, again, next);
}
