import { isLoop, stageKind } from "../plan/stage-kinds.js";
import type { NodeThen } from "./lines.js";

/* Where runs are for longer than a moment. */

/** Says whether a run waits at such a stage, beyond one transaction, until something comes back. */
export const isWaitedAt = ({ kind }: NodeThen["stages"][number]): boolean =>
  ["queued", "waiting", "woken"].includes(stageKind(kind).goes);

/** The number of steps that the run time does in one transaction. */
export const mostFused = 20;

/** Says whether runs stay at a node, or in it, for longer than a transaction. */
export function waitsIn(node: NodeThen): boolean {
  return (
    node.stages.some(isWaitedAt) ||
    node.options["isolate"] === true ||
    // Iterations that nothing waits in are done by twenty steps a transaction.
    isLoop(node) ||
    (node.bodies ?? []).some(({ nodes }) => nodes.length >= mostFused || nodes.some(waitsIn))
  );
}
