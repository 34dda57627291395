import { AsyncLocalStorage } from "node:async_hooks";
import { getFunctionAddress, type Scheduler } from "convex/server";
import { describe, type Frame, frames } from "./call.js";
import type { FunctionCtx, Recording } from "./execute.js";
import { checkValue } from "./limits.js";

const standby = new AsyncLocalStorage<boolean>();

/** Says whether the timer that is set now is of a function that only looks if something was lost. */
export const isStandby = (): boolean => standby.getStore() === true;

/**
 * A `ctx` whose scheduler checks what it is given, and makes its timers outside of the caller's
 * context. Without that a function fired while the one that scheduled it is still running would
 * look as if it had been called by it.
 */
export function watchScheduler(
  recording: Recording,
  frame: Frame | undefined,
  ctx: FunctionCtx,
): FunctionCtx {
  const scheduler = ctx.scheduler;
  if (scheduler === undefined) return ctx;
  const watch = <When, Rest extends unknown[], Result>(
    schedule: (when: When, reference: unknown, ...rest: Rest) => Result,
  ) =>
    function schedules(when: When, reference: unknown, ...rest: Rest): Result {
      if (frame !== undefined) beforeScheduling(recording, frame, reference, rest[0]);
      const isOnStandby = frame !== undefined && recording.isStandby(nameOf(frame, reference));
      return standby.run(isOnStandby, () => frames.exit(() => schedule(when, reference, ...rest)));
    };
  const watched = {
    ...scheduler,
    runAfter: watch(scheduler.runAfter as (ms: number, reference: unknown) => Promise<unknown>),
    runAt: watch(scheduler.runAt as (at: number | Date, reference: unknown) => Promise<unknown>),
  };
  // The methods' types are generic in the function reference; the wrappers pass all through.
  return { ...ctx, scheduler: watched as unknown as Scheduler };
}

function beforeScheduling(
  recording: Recording,
  frame: Frame,
  reference: unknown,
  args: unknown,
): void {
  if (recording.limits) {
    const refused = checkValue(nameOf(frame, reference), args, "scheduledArgumentsSize");
    if (refused !== undefined) recording.refuse(refused);
  }
  // A transaction's own accounting has this; an action has none.
  if (!frame.inTransaction) frame.call.self.functionsScheduled += 1;
}

/** A reference is a path in the caller's component, a path in a component below it, or a handle. */
function nameOf(frame: Frame, reference: unknown): string {
  // Untyped in the `convex` package: it takes whatever may stand for a function.
  const address: Record<string, unknown> = getFunctionAddress(reference);
  if (typeof address["name"] === "string") return describe(frame.call.component, address["name"]);
  return String(address["functionHandle"] ?? address["reference"]);
}
