import type { Change, WorkflowThen } from "./lines.js";

/** Returns what becomes of runs in flight if their actions go in another order from now on. */
export function standingChanges(before: WorkflowThen, now: WorkflowThen): Change[] {
  const change = (option: string, was?: string, is?: string): Change[] => {
    if (was === is) return [];
    const what = was === undefined ? "added" : is === undefined ? "removed" : "changed";
    const message = `the ${option} is ${what}: runs that were started before keep what they have`;
    return [{ workflow: now.name, compatibility: "safe", message }];
  };
  return [
    ...change("priority", before.priority?.hash, now.priority?.hash),
    ...change("fairness", before.fairness, now.fairness),
  ];
}
