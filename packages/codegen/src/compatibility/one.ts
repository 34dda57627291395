import type { Change, WorkflowThen } from "./lines.js";

/**
 * Returns what becomes of runs that go on or wait if the `one` of their workflow is another one.
 */
export function oneChanges({ one: before }: WorkflowThen, now: WorkflowThen): Change[] {
  const { name: workflow, one } = now;
  const change = (message: string): Change[] => [{ workflow, compatibility: "safe", message }];
  if (before?.hash === one?.hash) return [];
  if (before === undefined)
    return change("the one is added: runs that were started before do not count");
  if (one === undefined)
    return change(
      "the one is removed: runs that wait by it begin when the run before them has ended, all at once; `repair` with the workflows begins them now",
    );
  return change("the one is changed: runs that were started before keep the key that they have");
}
