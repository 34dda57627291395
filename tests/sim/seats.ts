import { isSeat } from "@stepwise/workpool/core";

/** What a slot says of its work. */
export interface Held {
  readonly work?: string | undefined;
  readonly number: number;
}

/** A work in a seat is ahead: it may not have begun. Its executor has slots for fewer. */
export const isAhead = (held: Held): boolean => held.work !== undefined && isSeat(held);

export const isInSlot = (held: Held): boolean => held.work !== undefined && !isSeat(held);
