import type { Host, HostCtx, MutationCtx } from "./context.js";
import { reviveContinuations } from "./continuations.js";
import { nextForWaiting } from "./limits/unattended.js";
import { messageOf } from "./result.js";
import { hasRoom, ROOM_TO_RECOVER } from "./room.js";
import { isIdle } from "./slots.js";
import { poolTx } from "./transaction.js";
import { dropSweep, type Inspected, least, readWatch } from "./watch.js";

/** Each write of the watchdog's document conflicts with starts in flight, so this is rare. */
const REST_EVERY_MS = 60_000;

/** Turns the watchdog off at the end of the only work, if that turned it on. Call it last. */
export async function restAfter(ctx: HostCtx, host: Host, work: string): Promise<void> {
  const { startedTheWatch, gate } = poolTx(ctx);
  if (startedTheWatch !== work) return;
  if (gate?.open !== true || !(await hasRoom(ctx, ROOM_TO_RECOVER))) return;
  const watch = await readWatch(ctx);
  const now = Date.now();
  if (watch?.watched !== true || now < (watch.restedAt ?? -Infinity) + REST_EVERY_MS) return;
  if (!(await isIdle(ctx))) return;
  const wanted = await sweptByHost(ctx, host, true);
  // It may have started something.
  if (wanted !== undefined || !(await isIdle(ctx))) return;
  const last = await readWatch(ctx);
  if (last === null) return;
  const none = { startedBy: undefined, forHost: undefined, shortestTimeoutMs: undefined };
  await dropSweep(ctx, last, { ...none, watched: false, began: undefined, restedAt: now });
}

/** Checks what the host has scheduled. @returns when to check again, in ms since the epoch. */
export async function sweptByHost(
  ctx: MutationCtx,
  host: Host,
  idle: boolean,
  { added, continued }: Pick<Inspected, "added" | "continued"> = {},
): Promise<number | undefined> {
  let wanted: number | undefined;
  try {
    wanted = (await host.alsoSweep?.(ctx, idle, added)) ?? undefined;
  } catch (error) {
    console.error(
      `The pool's watchdog could not check all that its host has scheduled: ${messageOf(error)}`,
    );
    // It is still to be checked.
    wanted = Infinity;
  }
  if (idle) wanted = least(wanted, await nextForWaiting(ctx));
  // Last, as the host may have begun a continuation.
  return least(wanted, await reviveContinuations(ctx, idle, continued));
}
