import type { GenericId } from "convex/values";
import type { Gate, Host, HostCtx, MutationCtx, Slot, SlotId } from "./context.js";
import { addCounts, takeCounts } from "./counts.js";
import { isFair } from "./fair.js";
import { take } from "./fill-slots.js";
import { MAX_PARALLELISM_LIMIT } from "./gate.js";
import { ownerOf, rangeOf, WIDTH } from "./owners.js";
import type { Taken } from "./starts.js";
import type { Kept, Report } from "./told.js";

/*
 * A report may give an executor works ahead: more than it has slots for, so that it need not wait
 * for its next report when a work ends. They are in seats: slots with numbers that no pool has. An
 * executor runs at most as many works as it has slots, in whichever of both they are. So before it
 * gives up a slot, a work from a seat moves into it.
 */

/** No pool has slots with such numbers. Each range has its own from here on. */
const SEATS_FROM = MAX_PARALLELISM_LIMIT;

export const isSeat = ({ number }: Pick<Slot, "number">): boolean => number >= SEATS_FROM;

/** The seats of an executor whose report is taken. Call {@link Seats.end} last. */
export class Seats {
  /** The seats that hold a work. */
  held: SlotId[];
  /** The others: their works have ended, or have moved into slots. */
  #emptied: Slot[];

  constructor(
    readonly ctx: MutationCtx,
    readonly report: Report,
    ended: readonly Kept[],
  ) {
    this.#emptied = ended.flatMap(({ slot }) => (isSeat(slot) ? [slot] : []));
    const isEmptied = new Set(this.#emptied.map(({ _id }) => _id));
    this.held = (report.seats ?? []).filter((seat) => !isEmptied.has(seat));
  }

  /**
   * How many there may be. With limits and keys there are none, as these have an order of their
   * own. They become fewer one by one, as each that comes and goes costs some writes.
   */
  mostOf(gate: Gate): number {
    const { ahead = 0, isOver } = this.report;
    if (ahead === 0 || isOver || gate.limits !== undefined || isFair(gate)) return 0;
    const last = this.held.length + this.#emptied.length;
    return Math.min(Math.max(ahead, last - 1), WIDTH);
  }

  /**
   * Has works move into slots that have become free: the two change their numbers. They also move
   * into those that the pool no longer has, as it may have them again while such a work runs.
   * @returns the slots that are left.
   */
  async leaveFor(slots: readonly Slot[]): Promise<Slot[]> {
    const left: Slot[] = [];
    for (const slot of slots) {
      const seat = await this.#nextHeld();
      if (seat === null) left.push(slot);
      else this.#emptied.push(await swap(this.ctx, seat, slot));
    }
    return left;
  }

  /** Takes the first seat off the list that is held still. */
  async #nextHeld(): Promise<Slot | null> {
    for (let id = this.held.shift(); id !== undefined; id = this.held.shift()) {
      const seat = await this.ctx.db.get("slots", id);
      if (seat?.work !== undefined && isSeat(seat)) return seat;
    }
    return null;
  }

  /** Takes works ahead. */
  async take(host: Host, rows: readonly GenericId<"waiting">[]): Promise<Taken[]> {
    const number = SEATS_FROM + this.report.range;
    while (this.#emptied.length < rows.length) {
      const free = { number, startedAt: 0, handOvers: 0, heldSince: 0 };
      const _id = await this.ctx.db.insert("slots", free);
      // What it is like is known: reading it would cost a document.
      this.#emptied.push({ ...free, _id, _creationTime: Date.now() });
    }
    const { taken, left } = await take(this.ctx, host, rows, this.#emptied, []);
    this.#emptied = left;
    this.held.push(...taken.map(({ slot }) => slot));
    return taken;
  }

  async end(): Promise<void> {
    for (const seat of this.#emptied) await removeSlot(this.ctx, seat);
  }
}

async function swap(ctx: MutationCtx, seat: Slot, slot: Slot): Promise<Slot> {
  await ctx.db.patch("slots", seat._id, { number: slot.number });
  await ctx.db.patch("slots", slot._id, { number: seat.number });
  return { ...slot, number: seat.number };
}

/**
 * Has a work move into the slot of one that has ended and is reported alone.
 * @returns the seat that it had; null if none moved.
 */
export async function leaveSeatFor(
  ctx: HostCtx,
  held: readonly SlotId[],
  ended: { readonly work: string; readonly slot: SlotId },
): Promise<SlotId | null> {
  const slot: Slot | null = await ctx.db.get("slots", ended.slot);
  if (slot?.work !== ended.work || isSeat(slot)) return null;
  for (const id of held) {
    const seat: Slot | null = await ctx.db.get("slots", id);
    if (seat?.work === undefined || !isSeat(seat)) continue;
    await swap(ctx, seat, slot);
    return id;
  }
  return null;
}

/** Removes a slot that is no more. The first slot of its range counts what has ended in a seat. */
export async function removeSlot(ctx: MutationCtx, slot: Slot): Promise<void> {
  const { counts = slot.counts } = takeCounts(ctx, slot._id);
  if (isSeat(slot) && counts !== undefined) {
    const number = (slot.number - SEATS_FROM) * WIDTH;
    const first = await ctx.db
      .query("slots")
      .withIndex("by_number", (q) => q.eq("number", number))
      .first();
    if (first !== null) await addCounts(ctx, first, counts);
  }
  await ctx.db.delete("slots", slot._id);
}

/**
 * Has an executor give back what it has not begun, as one of its works was canceled. It does not
 * look which has: that changes with each report.
 */
export async function askBack(ctx: HostCtx, slot: Slot): Promise<void> {
  const owner = await ownerOf(ctx, isSeat(slot) ? slot.number - SEATS_FROM : rangeOf(slot));
  if (owner !== null && owner.job === slot.job)
    await ctx.db.patch("executors", owner._id, { asksBack: true });
}
