import type { WrittenPlan } from "../plan/schema.js";

export type WorkflowThen = WrittenPlan["workflows"][number];
export type NodeThen = WorkflowThen["nodes"][number];

/** Runs in flight go on; go on if told the new name; do not undo that node; or stop at it. */
export type Compatibility = "safe" | "rename" | "loses" | "stops";

export interface Change {
  readonly workflow: string;
  readonly node?: string;
  readonly compatibility: Compatibility;
  /** What has changed, and what that means for runs in flight. */
  readonly message: string;
  /** Whether results that a run has made before the deploy are handed to what reads them now. */
  readonly reuses?: true;
  readonly hint?: string;
}
