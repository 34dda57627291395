import type { PoolMutationCtx, PoolWatch } from "./context.js";
import { messageOf } from "./non-retryable.js";

/** Lets the host look after what is its own. @returns when it wants the next look, in ms since the epoch, if it does. */
export async function lookedByHost(
  ctx: PoolMutationCtx,
  hooks: PoolWatch,
  idle: boolean,
): Promise<number | undefined> {
  try {
    return (await hooks.alsoLook?.(ctx, idle)) ?? undefined;
  } catch (error) {
    console.error(`The pool could not look after all that is its host's: ${messageOf(error)}`);
    // Whatever it was to look after still is to be.
    return Infinity;
  }
}
