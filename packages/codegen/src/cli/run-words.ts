import { stageOf } from "../dev-server/index.js";
import type { RunTree, TreeRun, TreeStep } from "../dev-server/index.js";
import { printable } from "../diagnostics/printable.js";

/** Returns a text of the app's as one line that is safe to print. */
export function oneLine(text: string): string {
  const lines = text.split(/[\r\n]/).map((line) => line.trim());
  return printable(lines.filter(Boolean).join(" ").replaceAll("\t", "\ufffd"));
}

/** Returns how a run is told apart from its siblings: by its key, or by its place in the list. */
export const childLabel = ({ key, index, workflow, within }: TreeRun): string =>
  oneLine(`[${key ?? index ?? "?"}]${within === undefined ? ` ${workflow}` : ""}`);

/**
 * A stage; in a body with the iterations of the loops around it: `agent.think (iteration 2)`.
 * @param of its run, which says what it stands in itself
 */
export function stageLabel({ stage, iterations = [] }: TreeStep, { within }: TreeRun): string {
  const name = stageOf(stage, { within });
  return iterations.length === 0 ? name : `${name} (iteration ${iterations.join(".")})`;
}

/** Returns how long the attempts of an action have waited for a slot, together. */
export function queueTime(step: TreeStep, now: number): number {
  const { state, startedAt, queuedAt, beganAt, endedAt, retries = [] } = step;
  const isWaiting = state === "pending" || state === "canceled";
  const until = beganAt ?? (isWaiting ? (endedAt ?? now) : undefined);
  // Of very many retries the first are gone.
  const failed = retries.map((retry, at) => [
    retry.attempt === 1 ? startedAt : retries[at - 1]?.nextAt,
    retry.beganAt,
  ]);
  return [...failed, [queuedAt, until]].reduce(
    (sum, [from, to]) => sum + Math.max(0, (to ?? 0) - (from ?? Infinity)),
    0,
  );
}

/** Returns how a wait for events has ended, if that is to be told. */
export function cameOf({ came, events = [] }: TreeStep): string | undefined {
  if (came === null) return "timed out";
  return came !== undefined && events.length > 1 ? `by ${JSON.stringify(came)}` : undefined;
}

/** Returns how many runs are in which state: `448 completed, 2 failed`. */
export function countStates(runs: readonly TreeRun[]): string {
  const counts = new Map<string, number>();
  for (const { state } of runs) counts.set(state, (counts.get(state) ?? 0) + 1);
  return [...counts].map(([state, count]) => `${count} ${state}`).join(", ");
}

/** The children of each run by its id, and by the stage that started them. */
export function childrenIn({ runs }: RunTree): ReadonlyMap<string, Map<string, TreeRun[]>> {
  const children = new Map(runs.map(({ runId }) => [runId, new Map<string, TreeRun[]>()]));
  for (const run of runs) {
    const { parentRunId = "", parentStage = "" } = run;
    const siblings = children.get(parentRunId)?.get(parentStage) ?? [];
    siblings.push(run);
    children.get(parentRunId)?.set(parentStage, siblings);
  }
  return children;
}
