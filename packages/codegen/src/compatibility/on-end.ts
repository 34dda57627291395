import { isOnEnd, ON_END } from "../plan/on-end.js";
import type { Change, WorkflowThen } from "./lines.js";

/** Returns what becomes of runs in flight if the `onEnd` of their workflow is another one. */
export function onEndChanges(before: WorkflowThen, now: WorkflowThen | undefined): Change[] {
  const [old, next] = [before.nodes.find(isOnEnd), now?.nodes.find(isOnEnd)];
  const change = (
    compatibility: Change["compatibility"],
    message: string,
    hint?: string,
  ): Change[] => [
    { workflow: (now ?? before).name, node: ON_END, compatibility, message, ...(hint && { hint }) },
  ];
  if (old === undefined)
    return next === undefined
      ? []
      : change("safe", "added: runs that were started before end without it");
  if (next === undefined)
    return change(
      "loses",
      "removed: runs in flight end without it, so what it releases stays taken",
      "keep it until no run that was started with it is in flight",
    );
  if (old.hash === next.hash) return [];
  return change("safe", "changed: runs in flight end with the new one");
}
