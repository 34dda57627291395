import type { Gate, Host, HostCtx, HostQueryCtx, MutationCtx, Slot } from "./context.js";
import { literalText } from "./literal.js";
import type { LogLevel } from "./log.js";
import { poolTx } from "./transaction.js";

/** The most that may be asked for: a deployment would not run more scheduled functions at once. */
export const MAX_PARALLELISM_LIMIT = 200;

/** The gate, or null in a pool that nothing was ever enqueued to. */
export async function readGate(ctx: HostQueryCtx): Promise<Gate | null> {
  const gate: Gate | null = await ctx.db.query("gate").first();
  poolTx(ctx).gate = gate;
  return gate;
}

/** The gate; a new pool gets its gate and its slots here. */
export async function ensureGate(ctx: MutationCtx, given?: number): Promise<Gate> {
  const gate = await readGate(ctx);
  if (gate !== null) return gate;
  const maxParallelism = given ?? (await defaultMaxParallelism(ctx));
  checkMaxParallelism(maxParallelism);
  await addSlots(ctx, 0, maxParallelism);
  await ctx.db.insert("gate", { open: maxParallelism > 0, maxParallelism });
  return await ensureGate(ctx);
}

/** The gate as this transaction knows it: it is read once, and after `forgetRead`. */
export async function knownGate(ctx: MutationCtx): Promise<Gate> {
  return poolTx(ctx).gate ?? (await ensureGate(ctx));
}

export async function setLogLevel(ctx: HostCtx, logLevel: LogLevel): Promise<void> {
  const gate = await ensureGate(ctx);
  if (gate.logLevel === logLevel) return;
  await ctx.db.patch("gate", gate._id, { logLevel });
  // From here on it holds in this transaction too.
  await readGate(ctx);
}

/** The gate stays closed for so long: each write of it conflicts with whatever is in flight. */
const CLOSED_AT_LEAST_MS = 2_000;

/** Call it if few slots are free: enqueues then join the queue. */
export async function closeGate(ctx: MutationCtx, gate: Gate): Promise<void> {
  const fields = { open: false, closedAt: Date.now() };
  await ctx.db.patch("gate", gate._id, fields);
  // From here on it holds in this transaction too.
  poolTx(ctx).gate = { ...gate, ...fields };
}

/** Closes the gate for whoever enqueues at this moment; it may open again at once. */
export async function closeForMoment(ctx: MutationCtx, gate: Gate): Promise<void> {
  await ctx.db.patch("gate", gate._id, { open: false, closedAt: undefined });
}

export async function openGate(ctx: MutationCtx, gate: Gate): Promise<void> {
  await ctx.db.patch("gate", gate._id, {
    open: true,
    openedAt: Date.now(),
    closedAt: undefined,
    lanes: undefined,
    fair: undefined,
  });
  // From here on it holds in this transaction too.
  await readGate(ctx);
}

/** Says whether the gate may open if nothing waits: not too soon after it was closed. */
export function mayOpen({ closedAt = -Infinity }: Gate): boolean {
  return Date.now() >= closedAt + CLOSED_AT_LEAST_MS;
}

/** Enqueues of one moment that have lost to a start try again for so long, and read the gate. */
const REOPENED_AFTER_MS = 250;

/** Says whether it was opened just before: then enqueues of that moment may still be in flight. */
export function wasJustOpen({ openedAt = -Infinity }: Gate): boolean {
  return Date.now() < openedAt + REOPENED_AFTER_MS;
}

/** Inserts the free slots numbered `from` up to, but without, `to`, that are not there. */
export async function addSlots(ctx: MutationCtx, from: number, to: number): Promise<void> {
  if (from >= to) return;
  const slots: Slot[] = await ctx.db
    .query("slots")
    .withIndex("by_number", (q) => q.gte("number", from).lt("number", to))
    .collect();
  const present = new Set(slots.map((slot) => slot.number));
  for (let number = from; number < to; number++)
    if (!present.has(number))
      await ctx.db.insert("slots", { number, startedAt: 0, handOvers: 0, heldSince: 0 });
}

/** @throws if it is not a whole number from 0 to {@link MAX_PARALLELISM_LIMIT}. */
export function checkMaxParallelism(given: number): void {
  if (Number.isInteger(given) && given >= 0 && given <= MAX_PARALLELISM_LIMIT) return;
  throw new Error(
    `maxParallelism is ${literalText(given)}: it must be a whole number from 0 (paused) to ${MAX_PARALLELISM_LIMIT}`,
  );
}

/** How many scheduled functions a deployment runs at once, by its class. */
const PLACES: Readonly<Record<string, number>> = { s256: 256, d1024: 512, d2048: 1_024 };
const FEWEST_PLACES = 8;
/** How many are left by default to the app's own scheduled functions, and to timers. */
const LEFT_TO_THE_APP = 2;
const MOST_BY_DEFAULT = 10;

/** A function that begins so much later than it was called has waited, for a place or a permit. */
export const LATE_BEGIN_MS = 100;

export async function placesOf(ctx: HostQueryCtx): Promise<number> {
  return PLACES[(await ctx.meta.getDeploymentMetadata()).class] ?? FEWEST_PLACES;
}

/** Says whether it is of the smallest class: a burst there waits for its turn to enqueue. */
export async function hasFewPlaces(ctx: HostQueryCtx): Promise<boolean> {
  return (await placesOf(ctx)) === FEWEST_PLACES;
}

/** Says whether the pool has more slots than the scheduler has places, which others need too. */
export async function lacksPlaces(ctx: HostQueryCtx): Promise<boolean> {
  const { maxParallelism = 0 } = poolTx(ctx).gate ?? (await readGate(ctx)) ?? {};
  if (maxParallelism <= FEWEST_PLACES - LEFT_TO_THE_APP) return false;
  return maxParallelism > (await placesOf(ctx)) - LEFT_TO_THE_APP;
}

/**
 * How many slots enqueues may take. Where the scheduler has fewer places, works beyond them would
 * wait for one in functions of their own: an executor runs many in one place.
 */
export async function slotsWithPlace(
  ctx: HostQueryCtx,
  host: Host,
  { maxParallelism }: Gate,
): Promise<number> {
  const isShort = host.executes !== undefined && (await lacksPlaces(ctx));
  return isShort ? (await placesOf(ctx)) - LEFT_TO_THE_APP : maxParallelism;
}

/** How many works run at once by default: 10, or 6 on the smallest class. */
export async function defaultMaxParallelism(ctx: HostQueryCtx): Promise<number> {
  return Math.min(MOST_BY_DEFAULT, (await placesOf(ctx)) - LEFT_TO_THE_APP);
}
