import type { GenericActionCtx, QueryInitializer } from "convex/server";
import { type Infer, type ObjectType, v } from "convex/values";
import type {
  Host,
  HostCtx,
  HostQueryCtx,
  JobId,
  MutationCtx,
  PoolDataModel,
  Slot,
  SlotId,
} from "./context.js";
import { helpDrain } from "./drain-queue.js";
import { LATE_BEGIN_MS, readGate } from "./gate.js";
import { isPending } from "./jobs.js";
import { TAKES_MS } from "./owners.js";
import { messageOf } from "./result.js";
import { hasRoom, ROOM_TO_COMPLETE } from "./room.js";
import { recovered } from "./sweep.js";

/*
 * If the scheduler has fewer places than the pool has slots, a carrier is scheduled for an action
 * instead of its own function, and calls it. One that begins late, or runs for a while, takes works
 * from carriers that have not begun: it cancels their scheduled functions and writes itself into
 * their slots. When one of its works ends, it takes the next work of that slot.
 *
 * Executors do not replace them. One holds its place as long as its longest work. Ten actions of
 * five minutes came one by one to a pool of ten: with carriers the last waited for 0.1 s, without
 * them for 284 s. Nor do executors run what settles itself. Fifty of those kept the app's own
 * functions waiting for five minutes.
 *
 * A slot's `job` is always the function that runs its work, so the watchdog finds the works of a
 * carrier that has died. Only functions that have not begun are canceled.
 */

const carriedFields = { slot: v.id("slots"), work: v.string(), fn: v.string(), args: v.any() };
export const vCarried = v.object(carriedFields);
type Carried = Infer<typeof vCarried>;

export const carryArgs = { ...carriedFields, at: v.number() };
type CarryArgs = ObjectType<typeof carryArgs>;

export const takeArgs = {
  /** Works that the carrier has run, and what they threw. */
  ended: v.array(
    v.object({
      slot: v.id("slots"),
      work: v.string(),
      fn: v.string(),
      error: v.optional(v.string()),
    }),
  ),
  /** On the first call: the slot of the carrier's own work, and when it began. */
  own: v.optional(v.object({ slot: v.id("slots"), beganAt: v.number() })),
  /** Says whether it may take works of other slots too. */
  fromOthers: v.boolean(),
  room: v.number(),
};
type TakeArgs = ObjectType<typeof takeArgs>;
type Ended = TakeArgs["ended"][number];

/** The smallest class runs 64 actions at once: 8 carriers and their works are 56. */
const MOST_CARRIED = 6;
/** A carrier with room looks for works at this age, then at twice the age … */
const FIRST_TAKE_MS = 1_000;
/** … up to this one: an action of 10 minutes ends before the carrier's own time is up. */
const LAST_TAKE_MS = 40_000;

export type CallWork = (
  ctx: GenericActionCtx<any>,
  fn: string,
  args: Record<string, unknown>,
) => Promise<unknown>;

/** A carrier: runs a work, and others that it takes along. */
export async function carryWorks(
  ctx: GenericActionCtx<any>,
  { functions }: Host,
  { at, ...first }: CarryArgs,
  callWork: CallWork,
): Promise<void> {
  const beganAt = Date.now();
  const running = new Map<SlotId, Promise<void>>();
  let own: TakeArgs["own"] = { slot: first.slot, beganAt };
  let ended: Ended[] = [];
  const begin = ({ slot, work, fn, args }: Carried): void => {
    const end = (error?: string) => {
      running.delete(slot);
      ended.push({ slot, work, fn, error });
    };
    const call = callWork(ctx, fn, { ...args, slot });
    const over = call.then(() => end()).catch((error: unknown) => end(messageOf(error)));
    running.set(slot, over);
  };
  begin(first);
  let isShort = beganAt - at > LATE_BEGIN_MS;
  let takeAt = isShort ? beganAt : beganAt + FIRST_TAKE_MS;
  for (;;) {
    const isDue = takeAt <= Date.now() && running.size > 0;
    const goesOn = isShort && Date.now() < beganAt + TAKES_MS;
    if (ended.length === 0 && !isDue) {
      if (running.size === 0) return;
      await oneOf([...running.values()], takeAt - Date.now());
      continue;
    }
    const told = ended.filter(({ error }) => goesOn || error !== undefined);
    ended = [];
    if (isDue) {
      const next = beganAt + Math.max(FIRST_TAKE_MS, 2 * (takeAt - beganAt));
      takeAt = next > beganAt + LAST_TAKE_MS ? Infinity : next;
    }
    const room = goesOn || isDue ? MOST_CARRIED - running.size : 0;
    if (told.length === 0 && room === 0) continue;
    try {
      const wanted = { ended: told, own, fromOthers: isDue, room };
      const taken: Carried[] = await ctx.runMutation(functions.take, wanted);
      own = undefined;
      taken.forEach(begin);
      isShort ||= taken.length > 0;
    } catch (error) {
      // What it has not taken runs without it. The watchdog finds what it took without knowing.
      console.warn(`A carrier of works takes no more: ${messageOf(error)}`);
      isShort = false;
      takeAt = Infinity;
    }
  }
}

async function oneOf(promises: readonly Promise<void>[], ms: number): Promise<void> {
  if (ms === Infinity) return await Promise.race(promises);
  let timer: ReturnType<typeof setTimeout> | undefined;
  const pause = new Promise<void>((resolve) => (timer = setTimeout(resolve, Math.max(0, ms))));
  await Promise.race([...promises, pause]);
  clearTimeout(timer);
}

/** Ends works of the calling carrier that have not reported, and gives it others. */
export async function takeWorks(
  ctx: HostCtx,
  host: Host,
  { ended, own, fromOthers, room }: TakeArgs,
): Promise<Carried[]> {
  const { scheduledFunctionId } = await ctx.meta.getRequestMetadata();
  if (scheduledFunctionId === null) return [];
  // It is called by an action that the pool has scheduled.
  const carrier = scheduledFunctionId as JobId;
  for (const { slot, work, ...call } of ended) {
    const held: Slot | null = await ctx.db.get("slots", slot);
    if (held?.work === work && held.job === carrier)
      await recovered(ctx, host, { slot, job: carrier, call });
  }
  const first = own === undefined ? null : await ctx.db.get("slots", own.slot);
  // Nobody asks about it any more.
  if (own !== undefined && first?.job === carrier)
    await ctx.db.patch("slots", own.slot, { mayTake: undefined, beganAt: own.beganAt });
  const taken: Carried[] = [];
  const takeFrom = async (slots: readonly SlotId[]) => {
    for (const slot of slots) {
      if (taken.length >= room || !(await hasRoom(ctx, ROOM_TO_COMPLETE))) return;
      const carried = await takeWork(ctx, slot, carrier);
      if (carried !== null) taken.push(carried);
    }
  };
  await takeFrom(ended.map(({ slot }) => slot));
  if (!fromOthers || taken.length >= room) return taken;
  await takeFrom(await helpDrain(ctx, host, room - taken.length));
  const count = 2 * room;
  await takeFrom(await ctx.runQuery(host.functions.toTake, { count }, { useStaleSnapshot: true }));
  return taken;
}

/** Takes the work of a slot from a carrier that has not begun; null if there is none. */
async function takeWork(ctx: MutationCtx, slot: SlotId, carrier: JobId): Promise<Carried | null> {
  const held = await ctx.db.get("slots", slot);
  if (held?.job === undefined || held.mayTake !== true) return null;
  const job = await ctx.db.system.get("_scheduled_functions", held.job);
  if (job?.state.kind !== "pending") return null;
  await ctx.scheduler.cancel(held.job);
  const began = { job: carrier, mayTake: undefined, beganAt: Date.now() };
  await ctx.db.patch("slots", slot, began);
  // It was scheduled with these arguments.
  const { at: _, ...carried } = job.args[0] as CarryArgs;
  return carried;
}

/** Slots whose carriers should have begun, and have not, from a random one on. Read it stale. */
export async function slotsToTake(
  ctx: HostQueryCtx,
  { count }: { count: number },
): Promise<SlotId[]> {
  const { maxParallelism = 0 } = (await readGate(ctx)) ?? {};
  const from = Math.floor(Math.random() * (maxParallelism + 1));
  const found: SlotId[] = [];
  const slots: QueryInitializer<PoolDataModel["slots"]> = ctx.db.query("slots");
  for (const range of [
    slots.withIndex("by_may_take", (q) => q.eq("mayTake", true).gte("number", from)),
    slots.withIndex("by_may_take", (q) => q.eq("mayTake", true).lt("number", from)),
  ])
    for await (const { _id, job, startedAt } of range) {
      if (found.length === count || !(await hasRoom(ctx, ROOM_TO_COMPLETE))) return found;
      // Another carrier is about to take what follows in a slot that it had.
      if (job === undefined || startedAt > Date.now() - LATE_BEGIN_MS) continue;
      if (await isPending(ctx, job)) found.push(_id);
    }
  return found;
}
