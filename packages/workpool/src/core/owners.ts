import { type Infer, v } from "convex/values";
import type {
  Executor,
  Gate,
  Host,
  HostCtx,
  HostQueryCtx,
  JobId,
  MutationCtx,
  QueryCtx,
  Slot,
} from "./context.js";
import { lacksPlaces } from "./gate.js";
import { cancelPending } from "./jobs.js";
import { GRACE_MS } from "./watch.js";

/**
 * An executor runs so many works side by side: they share its memory. The smallest class runs 64
 * actions at once: two executors with their works are 58 of them.
 */
export const WIDTH = 28;
const EXECUTORS_ON_FEW = 2;
/**
 * So long an executor takes works, and a carrier the next ones of its slots; then its place goes to
 * others. An action that begins late in it has as much less of 30 min.
 */
export const TAKES_MS = 10_000;
/** So long after it last wrote, free slots are left to an owner that asks: then it has died. */
export const LEFT_MS = TAKES_MS + GRACE_MS;
/** An owner with room asks so often … */
export const ASKS_EVERY_MS = 50;

/**
 * In place of a range: works that have waited for limits, in any slots, with the gate open. They
 * have one executor that takes those of others.
 */
export const OF_LIMITS = -1 as const;
/** That executor asks so often, as long as its works are shorter: then it seldom needs to. */
export const SHORT_MS = 150;

/** How a pool's slots are divided among executors. Slots from `cap` on are for other works. */
export interface Ranges {
  readonly cap: number;
  /** The scheduler lacks places. */
  readonly areFew: boolean;
}

export async function rangesOf(ctx: HostQueryCtx, { maxParallelism }: Gate): Promise<Ranges> {
  const areFew = await lacksPlaces(ctx);
  const most = areFew ? EXECUTORS_ON_FEW * WIDTH : Infinity;
  return { cap: Math.min(maxParallelism, most), areFew };
}

/**
 * Says whether works that come one by one are left to an executor with free slots, and no other
 * begins for them. Steps follow each other, so that they soon need another.
 */
export function sparesExecutors(host: Host, { areFew }: Ranges): boolean {
  return areFew && host.executes?.comeFromOutside === true;
}

/** The first slot of a range, and of the next one. */
export function spanOf({ cap }: Ranges, range: number) {
  return { lo: range * WIDTH, hi: Math.min(cap, (range + 1) * WIDTH) };
}

/** The range of a slot. */
export const rangeOf = ({ number }: Pick<Slot, "number">): number => Math.floor(number / WIDTH);

/** The lanes of a range: in proportion to its slots. The last one has all that there may be. */
export function lanesOfRange(ranges: Ranges, range: number, lanes: number) {
  const { lo, hi } = spanOf(ranges, range);
  const at = (slot: number) => Math.floor((slot * lanes) / ranges.cap);
  return { first: at(lo), end: hi === ranges.cap ? Infinity : at(hi) };
}

export async function ownerOf(ctx: QueryCtx, range: number): Promise<Executor | null> {
  return await ctx.db
    .query("executors")
    .withIndex("by_range", (q) => q.eq("range", range))
    .first();
}

/** Says whether free slots of its range are left to an owner. */
export function isAsking(owner: Executor | null): boolean {
  return owner?.asks === true && Date.now() < owner.until + GRACE_MS;
}

/** Which owner a look is for. Only that counts which its document names. */
export const vLook = v.object({
  range: v.number(),
  at: v.number(),
  /** The work that had waited longest at the look before. */
  sawOldest: v.optional(v.id("waiting")),
});

/**
 * So often somebody looks at what is left to an owner that asks: if it has died, or cannot report,
 * nobody else may come for that. One that has died seems to ask for {@link LEFT_MS}.
 */
export const LOOKS_EVERY_MS = 3_000;

/** Schedules a look. @returns what the owner's document is to say of it. */
export async function scheduleLook(
  ctx: MutationCtx,
  { functions }: Host,
  { range, sawOldest }: Omit<Infer<typeof vLook>, "at">,
  ms: number,
) {
  const at = Math.ceil(Date.now() + ms);
  const args = { generation: 0, look: { range, at, sawOldest } };
  return { at, job: await ctx.scheduler.runAt(at, functions.drainQueue, args) };
}

/** Writes who owns a range, and has it looked after while it asks. @param job undefined: nobody. */
export async function own(
  ctx: HostCtx,
  host: Host,
  owner: Executor | null,
  range: number,
  { job, asks }: { job: JobId | undefined; asks: boolean },
): Promise<void> {
  const now = Date.now();
  let look = owner?.look;
  // The clock may have gone back.
  const isToCome = look !== undefined && look.at > now && look.at <= now + LOOKS_EVERY_MS;
  if (asks && !isToCome) look = await scheduleLook(ctx, host, { range }, LOOKS_EVERY_MS);
  if (job === undefined && look !== undefined) {
    await cancelPending(ctx, look.job);
    look = undefined;
  }
  const fields = { range, job, asks, until: now + TAKES_MS, asksBack: undefined, look };
  if (owner === null) await ctx.db.insert("executors", fields);
  else await ctx.db.patch("executors", owner._id, fields);
}

/** Says whether an owner asks for a slot. */
export async function isLeftToOwner(ctx: MutationCtx, gate: Gate, number: number) {
  return isAsking(await ownerOfSlot(ctx, gate, number));
}

/** Says whether the range of a slot has an owner. */
export async function isOwned(ctx: MutationCtx, gate: Gate, number: number): Promise<boolean> {
  return owns(await ownerOfSlot(ctx, gate, number));
}

function owns(owner: Executor | null): boolean {
  return owner?.job !== undefined && Date.now() < owner.until + GRACE_MS;
}

/** The ranges that have owners, in their order. */
export async function ownedRanges(ctx: HostQueryCtx): Promise<number[]> {
  const owners: Executor[] = await ctx.db
    .query("executors")
    .withIndex("by_range", (q) => q.gte("range", 0))
    .collect();
  return owners.filter(owns).map(({ range }) => range);
}

/** Says whether other ranges than this have an owner. */
export async function areOthersOwned(ctx: HostQueryCtx, range: number): Promise<boolean> {
  return (await ownedRanges(ctx)).some((other) => other !== range);
}

async function ownerOfSlot(ctx: MutationCtx, gate: Gate, number: number): Promise<Executor | null> {
  const { cap } = await rangesOf(ctx, gate);
  return number < cap ? await ownerOf(ctx, rangeOf({ number })) : null;
}
