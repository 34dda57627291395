import type { Value } from "convex/values";

/** A node of a run that waits for an event. */
export interface Wait {
  /** The run that waits, which `sendEvent` takes. */
  runId: string;
  workflow: string;
  /** The key that it was started with. */
  key?: string;
  /**
   * Where it is in the tree: `approve`, or `reviews/2/approve` in child 2 of `reviews`. A child of
   * a record has its key there, and a node in a loop its iterations: `agent.ask#3`.
   * A name with a dot or a slash is in quotes.
   */
  path: string;
  /** The node by its path in its workflow, and the iterations of the loops around it. */
  node: string;
  iterations?: number[];
  /** The names that it takes. */
  events: string[];
  /** What its run was started with. */
  input?: Value;
  /** Since when it waits, and until when if it has a timeout, in ms since the epoch. */
  since: number;
  dueAt?: number;
  paused?: boolean;
}
