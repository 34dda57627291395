import {
  hasEnded,
  type Change,
  type ProgressEvent,
  type RunEvent,
  type RunTree,
  type TreeRun,
  type TreeStep,
} from "../dev-server/index.js";
import { duration } from "./counts.js";
import {
  childLabel,
  childrenByParent,
  countStates,
  eventNames,
  parentKey,
  printable,
  stageLabel,
} from "./progress-text.js";

/** Shows how a run goes on. */
export interface Progress {
  tell(event: RunEvent): void;
  /** Shows the last state, and writes no more. */
  end(): void;
}

/** Progress as text for a file or a pipe: one line per event, nothing is ever redrawn. */
export function progressLines(write: (line: string) => void): Progress {
  const crowds = new Crowds();
  return {
    tell(event) {
      if (event.type === "log") write(event.text);
      if (event.type === "started") write(`${event.workflow}: started, run ${event.runId}`);
      if (event.type === "progress") for (const line of describeChanges(event, crowds)) write(line);
    },
    end() {},
  };
}

/** One line per change that tells something new, with the time since the start of the run. */
export function describeChanges(
  { tree, changes, seenAt }: ProgressEvent,
  crowds: Crowds = new Crowds(),
): string[] {
  const top = tree.runs[0];
  if (top === undefined) return [];
  crowds.see(tree);
  const ended = new Set(changes.flatMap((c) => (c.what === "stepEnded" ? [c.step] : [])));
  const lines = changes
    .flatMap((change) => {
      // It started and ended since the last time: its end says it all.
      if (change.what === "stepStarted" && ended.has(change.step)) return [];
      const told = describe(change, change.run === top);
      if (told === undefined || crowds.hasTold(change)) return [];
      return [{ at: timeOf(change, seenAt), text: `${pathOf(tree, change.run)}${told}` }];
    })
    .sort((a, b) => a.at - b.at);
  for (const { parent, stage, text } of crowds.progress())
    lines.push({ at: seenAt, text: `${pathOf(tree, parent)} › ${stage}: ${text}` });
  return lines.map(({ at, text }) => `${elapsed(at - top.startedAt).padStart(8)}  ${text}`);
}

const elapsed = (ms: number): string =>
  ms < 60_000 ? `${(ms / 1000).toFixed(2)} s` : duration(ms);

function describe(change: Change, isTop: boolean): string | undefined {
  if (!("step" in change)) {
    // A child that completed has been told by its last step.
    const isNew = change.what === "runEnded" && (isTop || change.run.state !== "completed");
    return isNew ? `: ${change.run.state}` : undefined;
  }
  const { step } = change;
  // An action that waits does so to be tried again, which is told.
  const isRetry = step.state !== "waiting" || step.kind === "action";
  if (change.what === "stepChanged" && isRetry) return undefined;
  return ` › ${stageLabel(step)}: ${describeStep(change)}`;
}

function describeStep(change: Extract<Change, { step: TreeStep }>): string {
  const { state, attempt, startedAt, endedAt } = change.step;
  if (change.what === "stepRetries") {
    const { kind, message } = change.error;
    return `attempt ${change.error.attempt} failed (${kind}): ${printable(message)}`;
  }
  if (change.what !== "stepEnded") return startOf(change.step);
  const isTimed = startedAt !== undefined && endedAt !== undefined;
  const took = isTimed ? ` after ${duration(endedAt - startedAt)}` : "";
  return `${state}${took}${attempt > 1 ? `, at attempt ${attempt}` : ""}`;
}

function startOf(step: TreeStep): string {
  const { kind, state, startedAt, dueAt } = step;
  if (state !== "waiting") return state;
  const isTimed = dueAt !== undefined && startedAt !== undefined;
  const time = isTimed ? duration(dueAt - startedAt) : undefined;
  if (kind === "children") return "waiting for its children";
  if (kind === "sleep") return time === undefined ? "sleeping" : `sleeping for ${time}`;
  if (kind !== "event") return state;
  return `waiting for the event ${eventNames(step)}${time === undefined ? "" : `, at most ${time}`}`;
}

function timeOf(change: Change, seenAt: number): number {
  if (!("step" in change))
    return change.what === "runStarted" ? change.run.startedAt : (change.run.endedAt ?? seenAt);
  const { startedAt = seenAt, endedAt = seenAt } = change.step;
  // Nobody notes when an attempt failed; it was since the last read, and before the step ended.
  if (change.what === "stepRetries") return Math.min(seenAt, endedAt);
  return change.what === "stepEnded" ? endedAt : startedAt;
}

function pathOf(tree: RunTree, run: TreeRun): string {
  const parent = tree.runs.find(({ runId }) => runId === run.parentRunId);
  if (parent === undefined) return run.workflow;
  return `${pathOf(tree, parent)} › ${run.parentStage ?? ""}${childLabel(run)}`;
}

/** The number of children of one parent from which equal changes are told once. */
const manyChildren = 10;
/** The number of parts in which their progress is told. */
const progressParts = 4;

interface Crowd {
  readonly parent: TreeRun;
  readonly stage: string;
  readonly children: readonly TreeRun[];
  readonly isWhole: boolean;
  partsTold: number;
}

/** Parents with many children: a change is told once for all, then how many children have ended. */
export class Crowds {
  readonly #crowds = new Map<string, Crowd>();
  readonly #told = new Set<string>();
  #runs = new Map<string, TreeRun>();

  /** To be called with each tree, before its changes are told. */
  see({ runs, truncated }: RunTree): void {
    this.#runs = new Map(runs.map((run) => [run.runId, run]));
    for (const [key, children] of childrenByParent(runs)) {
      const parent = this.#runs.get(children[0]?.parentRunId ?? "");
      if (parent === undefined || children.length < manyChildren) continue;
      const stage = children[0]?.parentStage ?? "";
      const { partsTold = 0 } = this.#crowds.get(key) ?? {};
      this.#crowds.set(key, { parent, stage, children, isWhole: !truncated, partsTold });
    }
  }

  /** Whether the same was told of another child of the same parent. */
  hasTold(change: Change): boolean {
    const path: string[] = [];
    let isInCrowd = false;
    let run: TreeRun | undefined = change.run;
    for (; run !== undefined; run = this.#runs.get(run.parentRunId ?? "")) {
      const key = parentKey(run.parentRunId, run.parentStage);
      const isCrowded = this.#crowds.has(key);
      isInCrowd ||= isCrowded;
      path.push(isCrowded ? `${key} ${run.workflow}` : run.runId);
    }
    if (!isInCrowd) return false;
    const told = JSON.stringify([path, whatOf(change)]);
    const isTold = this.#told.has(told);
    this.#told.add(told);
    return isTold;
  }

  /** What has become of crowds, each time that another quarter of one has ended. */
  *progress(): Generator<{ parent: TreeRun; stage: string; text: string }> {
    for (const crowd of this.#crowds.values()) {
      const { parent, stage, children, isWhole } = crowd;
      const ended = children.filter(({ state }) => hasEnded(state));
      const parts = Math.floor((ended.length / children.length) * progressParts);
      if (parts <= crowd.partsTold) continue;
      crowd.partsTold = parts;
      const all = `${children.length}${isWhole ? "" : " or more"}`;
      yield { parent, stage, text: `${countStates(ended)} of ${all} children` };
    }
  }
}

/** What makes a change worth telling, without its times. */
function whatOf(change: Change): readonly unknown[] {
  const { what } = change;
  if (!("step" in change)) return [what, change.run.state];
  const { stage, iterations, state, attempt } = change.step;
  const message = "error" in change ? change.error.message : undefined;
  return [what, stage, iterations, state, attempt, message];
}
