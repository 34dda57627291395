import type { Starting } from "../validators.js";
import type { Id, MutationCtx, StepId } from "./documents.js";

/*
 * A parent's first children may be entered by the transaction that starts them. What they do to it
 * there is only recorded: that transaction goes on with it when all of them have been entered.
 */

type Of = Pick<Starting, "parent" | "job">;
const starting = new WeakMap<object, Of>();

/** The settlement of this transaction is of a child that is entered so. */
export function noteStarting(ctx: MutationCtx, of: Of | undefined): void {
  if (of !== undefined) starting.set(ctx.db, of);
}

/** Who goes on with a parent whose children are being started here; undefined if that is not so. */
export function startsHere(
  ctx: MutationCtx,
  step: StepId,
): { job: Id<"_scheduled_functions"> | undefined } | undefined {
  const of = starting.get(ctx.db);
  return of?.parent === step ? { job: of.job } : undefined;
}
