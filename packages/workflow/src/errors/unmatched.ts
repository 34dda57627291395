import { ConvexError } from "convex/values";

const MARKER = "~unmatched";

/** The node of an event that is not meant for it. @param why its `match` could not say. */
type Told = { stage: string; why?: string };

/** Thrown where an event reaches a node that it is not meant for: nothing of that must stay. */
export class Unmatched extends ConvexError<{ [MARKER]: Told }> {
  constructor(told: Told) {
    super({ [MARKER]: told });
  }
}

/** Returns what an {@link Unmatched} tells, from its data; undefined if it is something else. */
export function unmatchedIn(data: unknown): Told | undefined {
  return typeof data === "object" && data !== null && MARKER in data
    ? (data as Unmatched["data"])[MARKER]
    : undefined;
}
