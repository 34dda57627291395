import type { HostMutationCtx, PoolHost } from "./context.js";
import { seenGate } from "./gate.js";
import { lookedByHost } from "./host-look.js";
import { hasRoom, ROOM_TO_RECOVER } from "./room.js";
import { isIdle } from "./slots.js";
import { dropLook, readWatch } from "./watch.js";

/** Each write of the watchdog's document conflicts with the starts that are in flight: so this is done no more often than that. */
const REST_EVERY_MS = 60_000;

/** The works whose start has turned the watchdog on and that end in this transaction, by its database. */
const woke = new WeakMap<object, string>();

/** Notes that the start of a work that ends in this transaction has turned the watchdog on. */
export function noteWoke(ctx: HostMutationCtx, work: string): void {
  woke.set(ctx.db, work);
}

/**
 * Turns the watchdog off at the end of a work that has turned it on and is the only one: its last look is taken along in this transaction, and
 * so takes no execution. For any other work it does nothing, and costs nothing. To be called by the host, last of all that it does as a work
 * ends. Where it is not, the watchdog takes its last look itself.
 */
export async function restAfter(ctx: HostMutationCtx, host: PoolHost, work: string): Promise<void> {
  if (host.watch === undefined || woke.get(ctx.db) !== work) return;
  if (seenGate(ctx)?.open !== true || !(await hasRoom(ctx, ROOM_TO_RECOVER))) return;
  const watch = await readWatch(ctx);
  const now = Date.now();
  if (watch?.watched !== true || now < (watch.restedAt ?? -Infinity) + REST_EVERY_MS) return;
  if (!(await isIdle(ctx))) return;
  const wanted = await lookedByHost(ctx, host.watch, true);
  // It may have started something.
  if (wanted !== undefined || !(await isIdle(ctx))) return;
  const last = await readWatch(ctx);
  if (last === null) return;
  const state = {
    watched: false,
    woke: undefined,
    looking: undefined,
    shortestTimeoutMs: undefined,
  };
  await dropLook(ctx, last, { ...state, began: undefined, restedAt: now });
}
