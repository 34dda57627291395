import type { Gate, Host, MutationCtx, Watch, Work } from "./context.js";
import { readDrain, ringDrain } from "./drain.js";
import { closeForMoment, hasFewPlaces, lacksPlaces } from "./gate.js";
import { comesFromOutside } from "./jobs.js";
import { slotOf } from "./slots.js";
import { poolTx } from "./transaction.js";

/*
 * Enqueues of one moment want the same slots: all but one of each lose, and try again. So some join
 * the queue although they see a free slot. The first that does closes the gate for the others.
 */

/** Enqueues that have lost to the one that woke the pool try again within so many ms. */
const MOMENT_MS = 150;

/**
 * On the smallest class 16 mutations run at once. So those of a burst that wait see slots as they
 * were when they were called, and lose to each other until they are refused. One of so many that
 * come from outside joins the queue instead and closes the gate, which settles it for the others.
 * It costs a trickle 0.03 calls a work; with 16 it would be 0.5.
 */
const STARTS_PER_JOIN = 256;

/** Says whether an enqueue joins the queue of an open gate, as others probably enqueue now. */
export async function isBurst(
  ctx: MutationCtx,
  watch: Watch | null,
  { work }: Work,
): Promise<boolean> {
  if (watch?.watched !== true) return false;
  if (Math.random() * STARTS_PER_JOIN < 1 && (await mayBeRefused(ctx))) return true;
  const waker = wakerOf(watch);
  if (waker === undefined || waker === work || waker === poolTx(ctx).ending) return false;
  // The others saw an idle pool too. If the scheduler lacks places, a drain may wait long for one.
  return !(await lacksPlaces(ctx)) && (await slotOf(ctx, waker)) !== null;
}

/** The work whose start, alone and in another transaction, has woken the pool a moment ago. */
function wakerOf({ since, startedBy }: Watch): string | undefined {
  const sinceMs = Date.now() - since;
  return sinceMs > 0 && sinceMs < MOMENT_MS ? startedBy : undefined;
}

/** Says whether calls like this one may be. */
async function mayBeRefused(ctx: MutationCtx): Promise<boolean> {
  return (await comesFromOutside(ctx)) && (await hasFewPlaces(ctx));
}

/**
 * Closes the gate for a moment, after the start that wakes the pool. On the smallest class, the
 * others of its moment have a snapshot from before anybody could join the queue. They lose to it
 * once, and find the gate closed.
 */
export async function expectBurst(ctx: MutationCtx, host: Host, gate: Gate): Promise<void> {
  if (host.executes?.comeFromOutside !== true || !(await hasFewPlaces(ctx))) return;
  await closeForMoment(ctx, gate);
  await ringDrain(ctx, host, await readDrain(ctx), MOMENT_MS);
}
