import { type GenericId, type Infer, v } from "convex/values";
import type { HostMutationCtx } from "./context.js";

/** How many attempts have ended in which way. Kept in the slots, which completions write anyway. */
export const vTally = v.object({
  succeeded: v.number(),
  /** Failed for good. */
  failed: v.number(),
  /** Failed, and to be tried again. */
  retries: v.number(),
  canceled: v.number(),
  /** When whoever ended something here last looked whether a report is due; ms since the epoch. */
  lookedAt: v.number(),
});
export type Tally = Infer<typeof vTally>;

/** Counts that go along with this transaction's next write of a slot, by its database and the slot. */
const pending = new WeakMap<object, Map<GenericId<"slots">, Tally>>();

/** Has the next write of the slot take the counts along: a write of its own would cost as much as the end itself. */
export function countAlong(ctx: HostMutationCtx, slot: GenericId<"slots">, tally: Tally): void {
  const tallies = pending.get(ctx.db) ?? new Map<GenericId<"slots">, Tally>();
  pending.set(ctx.db, tallies.set(slot, tally));
}

/** The field that a write of the slot is to have besides its own; none where nothing was counted. */
export function takeCounts(ctx: HostMutationCtx, slot: GenericId<"slots">): { tally?: Tally } {
  const tally = pending.get(ctx.db)?.get(slot);
  pending.get(ctx.db)?.delete(slot);
  return tally === undefined ? {} : { tally };
}
