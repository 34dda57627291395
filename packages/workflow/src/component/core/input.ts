import type { QueryCtx, Run } from "./documents.js";
import { stepRead } from "./steps.js";

/** What views show of a run's input: all of it. This is where one that is secret is left out. */
export async function shownInput(ctx: QueryCtx, run: Run): Promise<unknown> {
  if (run.input !== undefined) return run.input;
  // A large one is in a record of its own.
  return (await stepRead(ctx, run._id, { stage: "input" }))?.output;
}
