import type { Change, WorkflowThen } from "./lines.js";

/** What becomes of runs in flight if their actions go in another order from now on. */
export function standingChanges({ priority: before }: WorkflowThen, now: WorkflowThen): Change[] {
  const { name: workflow, priority } = now;
  if (before?.hash === priority?.hash) return [];
  const what = before === undefined ? "added" : priority === undefined ? "removed" : "changed";
  const message = `the priority is ${what}: runs that were started before keep what they have`;
  return [{ workflow, compatibility: "safe", message }];
}
