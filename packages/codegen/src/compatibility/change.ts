import type { WrittenPlan } from "../plan/schema.js";

export type WorkflowThen = WrittenPlan["workflows"][number];
export type NodeThen = WorkflowThen["nodes"][number];

/**
 * What becomes of a run that is in flight while the change is deployed: it goes on; it would go on if it were told the node's new
 * name; it goes on, but no longer undoes that node when it is past it; it stops when it is at that node, or takes it for another one.
 */
export type Compatibility = "safe" | "rename" | "loses" | "stops";

/** One difference between two plans. */
export interface Change {
  readonly workflow: string;
  /** Absent when it is about the workflow as a whole. */
  readonly node?: string;
  readonly compatibility: Compatibility;
  /** What has changed, and what that means for runs in flight. */
  readonly message: string;
  /** Whether results that a run has made before the deploy are handed to what reads them now. */
  readonly reuses?: true;
  /** What to do, where something has to be done. */
  readonly hint?: string;
}
