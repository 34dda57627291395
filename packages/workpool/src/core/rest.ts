import type { HostMutationCtx, PoolHost } from "./context.js";
import { readGate, seenGate } from "./gate.js";
import { lookedByHost } from "./host-look.js";
import { hasRoom, ROOM_TO_RECOVER } from "./room.js";
import { isIdle } from "./slots.js";
import { dropLook } from "./watch.js";

/** Each write of the gate conflicts with whatever is in flight: so this is done no more often than that. */
const REST_EVERY_MS = 60_000;

/**
 * Turns the watchdog off at the end of a work that has turned it on and is the only one: its last look is taken along in this transaction, and
 * so takes no execution. For any other work it does nothing, and costs nothing. To be called by the host, last of all that it does as a work
 * ends. Where it is not, the watchdog takes its last look itself.
 */
export async function restAfter(ctx: HostMutationCtx, host: PoolHost, work: string): Promise<void> {
  if (host.watch === undefined || seenGate(ctx)?.woke !== work) return;
  // This transaction may have written the gate since it was seen.
  const gate = await readGate(ctx);
  if (gate === null || gate.woke !== work || gate.watched !== true || !gate.open) return;
  const now = Date.now();
  if (now < (gate.restedAt ?? -Infinity) + REST_EVERY_MS) return;
  if (!(await hasRoom(ctx, ROOM_TO_RECOVER)) || !(await isIdle(ctx))) return;
  const wanted = await lookedByHost(ctx, host.watch);
  // It may have started something.
  if (wanted !== undefined || !(await isIdle(ctx))) return;
  await ctx.db.patch("gate", gate._id, {
    watched: false,
    looking: undefined,
    woke: undefined,
    restedAt: now,
    shortestTimeoutMs: undefined,
  });
  await dropLook(ctx);
}
