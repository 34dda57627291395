import type {
  AttemptToRun,
  Gate,
  Host,
  HostCtx,
  JobId,
  MutationCtx,
  Slot,
  Work,
} from "./context.js";
import { readDrain, ringDrain } from "./drain.js";
import { closeGate, knownGate } from "./gate.js";
import { tryStart } from "./hand-over.js";
import { giveBack } from "./limits/permits.js";
import { OF_LIMITS, own, ownerOf, rangesOf, SHORT_MS, WIDTH } from "./owners.js";
import { joinQueue } from "./queue.js";
import { claimable, type HandOvers, holdSlot } from "./slots.js";
import { poolTx } from "./transaction.js";
import { keepWatchIn } from "./watch.js";

/** A work that is to start in a slot. */
export interface Placed {
  readonly work: Work;
  readonly held: Slot;
  /** If it follows the one that held the slot before. */
  readonly handOvers?: HandOvers | undefined;
}
/** A work that an executor is to run in a slot that it holds. */
export type Taken = AttemptToRun & Placed;

/** What an executor runs of a work; null if the work has a function of its own. */
export async function attemptOf(ctx: MutationCtx, host: Host, work: Work) {
  return (await host.executes?.attemptOf(ctx, work)) ?? null;
}

/** Schedules an executor for works that have left the queue; it owns the range from then on. */
export async function startOwner(
  ctx: MutationCtx,
  host: Host,
  range: number,
  asks: boolean,
  works: readonly Taken[],
): Promise<void> {
  const job = await startExecutor(ctx, host, { range, asks }, works);
  await own(ctx, host, await ownerOf(ctx, range), range, { job, asks });
}

/** Schedules an executor for works. @param isTold the host is told of them. Default: true. */
async function startExecutor(
  ctx: MutationCtx,
  host: Host,
  executor: { readonly range: number; readonly asks: boolean },
  works: readonly Taken[],
  isTold = true,
): Promise<JobId> {
  const attempts = works.map(({ slot, args }) => ({ slot, args }));
  const job = await host.executes!.schedule(ctx, { ...executor, works: attempts });
  for (const taken of works) await hold(ctx, host, taken, { job }, isTold);
  return job;
}

/** Writes a work into the slot in which an executor runs it. */
export async function hold(
  ctx: MutationCtx,
  host: Host,
  { work, held, handOvers }: Taken,
  by: { readonly job: JobId; readonly beganAt?: number },
  isTold = true,
) {
  const since = handOvers && { handOvers: handOvers.count, heldSince: handOvers.since };
  await holdSlot(ctx, host, held._id, work, { ...by, ...since, shared: true });
  await keepWatchIn(ctx, host, held, work);
  if (isTold) await host.started?.(ctx, work.work);
}

/** An executor takes two calls, and one for each step, as its own function does. So many pay. */
const LEAST_STEPS = 4;

/**
 * Starts works while others wait for their limits, in executors: those others go on there. The last
 * of these takes works of others while its own are short.
 * @returns works that have functions of their own.
 */
export async function startTogether(
  ctx: MutationCtx,
  host: Host,
  placed: readonly Placed[],
  { asks = false, isTold }: { readonly asks?: boolean; readonly isTold?: boolean },
): Promise<Placed[]> {
  const together: Taken[] = [];
  const alone: Placed[] = [];
  for (const each of placed) {
    const args = await attemptOf(ctx, host, each.work);
    if (args === null) alone.push(each);
    else together.push({ ...each, slot: each.held._id, args });
  }
  // The pool's own functions call those of its works, so that one in an executor costs no more.
  const least = host.executes?.comeFromOutside === true ? 1 : LEAST_STEPS;
  while (together.length >= least) {
    const some = together.splice(0, WIDTH);
    if (asks && some.length < WIDTH) await startOwner(ctx, host, OF_LIMITS, true, some);
    else await startExecutor(ctx, host, { range: OF_LIMITS, asks: false }, some, isTold);
  }
  return [...alone, ...together];
}

/** Says whether a work that ends has been short, as those are that wait for the same, probably. */
export const isShort = ({ startedAt }: Slot): boolean => Date.now() < startedAt + SHORT_MS;

/** Starts works that have left their lines. @returns the slots of those that could not start. */
export async function startPlaced(
  ctx: MutationCtx,
  host: Host,
  gate: Gate,
  placed: readonly Placed[],
  asks = false,
): Promise<Slot[]> {
  // If the scheduler lacks places, a lone one has a carrier, which others may join.
  const isCarried = placed.length < 2 && (await rangesOf(ctx, gate)).areFew;
  const unused: Slot[] = [];
  for (const { work, held, handOvers } of isCarried
    ? placed
    : await startTogether(ctx, host, placed, { asks }))
    if (!(await tryStart(ctx, host, held, work, handOvers))) unused.push(held);
  return unused;
}

/** Starts works that have left their lines, with the gate open, in free slots; else queues them. */
export async function startWoken(ctx: HostCtx, host: Host, works: readonly Work[]): Promise<void> {
  if (works.length === 0) return;
  const gate = await knownGate(ctx);
  const { slots } = await claimable(ctx, host, gate, works.length);
  poolTx(ctx).taken += slots.length;
  const placed = slots.map((held, index) => ({ work: works[index]!, held }));
  await startPlaced(ctx, host, gate, placed);
  if (slots.length === works.length) return;
  for (const work of works.slice(slots.length)) {
    await giveBack(ctx, work.held);
    await joinQueue(ctx, host, gate, work);
  }
  await closeGate(ctx, gate);
  await ringDrain(ctx, host, await readDrain(ctx));
}
