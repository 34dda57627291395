import type { Change, RunEvent, RunTree, TreeRun, TreeStep } from "../dev-server/index.js";
import { Crowds } from "./progress-crowds.js";
import { childLabel, duration, eventNames, printable, stageLabel } from "./progress-text.js";

/** Progress as text for a file or a pipe: one line per event, nothing is ever redrawn. */
export class ProgressLines {
  readonly #write: (line: string) => void;
  readonly #crowds = new Crowds();

  constructor(write: (line: string) => void) {
    this.#write = write;
  }

  tell(event: RunEvent): void {
    if (event.type === "log") this.#write(event.text);
    if (event.type === "started") this.#write(`${event.workflow}: started, run ${event.runId}`);
    if (event.type === "progress") {
      for (const line of describeChanges(event, this.#crowds)) this.#write(line);
    }
  }

  end(): void {}
}

type ProgressEvent = Extract<RunEvent, { type: "progress" }>;

/**
 * One line per change that tells something new, with the time since the run's start before it.
 *
 * @param crowds what has been told of parents with many children
 */
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
      // Started and ended between two looks: its end says it all.
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

function elapsed(ms: number): string {
  return ms < 60_000 ? `${(ms / 1000).toFixed(2)} s` : duration(ms);
}

function describe(change: Change, isTop: boolean): string | undefined {
  switch (change.what) {
    case "stepStarted":
      return ` › ${stageLabel(change.step)}: ${startOf(change.step)}`;
    case "stepChanged":
      // An action that waits does so to be tried again, which is told.
      if (change.step.state !== "waiting" || change.step.kind === "action") return undefined;
      return ` › ${stageLabel(change.step)}: ${startOf(change.step)}`;
    case "stepRetries": {
      const { attempt, kind, message } = change.error;
      return ` › ${stageLabel(change.step)}: attempt ${attempt} failed (${kind}): ${printable(message)}`;
    }
    case "stepEnded": {
      const { state, attempt, startedAt, endedAt } = change.step;
      const took =
        startedAt === undefined || endedAt === undefined
          ? ""
          : ` after ${duration(endedAt - startedAt)}`;
      return ` › ${stageLabel(change.step)}: ${state}${took}${attempt > 1 ? `, at attempt ${attempt}` : ""}`;
    }
    case "runEnded":
      // A child that completed has been told by its last step.
      return isTop || change.run.state !== "completed" ? `: ${change.run.state}` : undefined;
    case "runStarted":
      return undefined;
  }
}

function startOf(step: TreeStep): string {
  const { kind, state, startedAt, dueAt } = step;
  if (state !== "waiting") return state;
  const left =
    dueAt === undefined || startedAt === undefined ? undefined : duration(dueAt - startedAt);
  if (kind === "children") return "waiting for its children";
  if (kind === "sleep") return left === undefined ? "sleeping" : `sleeping for ${left}`;
  if (kind !== "event") return state;
  return `waiting for the event ${eventNames(step)}${left === undefined ? "" : `, at most ${left}`}`;
}

function timeOf(change: Change, seenAt: number): number {
  switch (change.what) {
    case "runStarted":
      return change.run.startedAt;
    case "runEnded":
      return change.run.endedAt ?? seenAt;
    case "stepStarted":
    case "stepChanged":
      return change.step.startedAt ?? seenAt;
    case "stepEnded":
      return change.step.endedAt ?? seenAt;
    case "stepRetries":
      // Nobody notes when an attempt failed; it was since the last look, and before the step ended.
      return Math.min(seenAt, change.step.endedAt ?? seenAt);
  }
}

function pathOf(tree: RunTree, run: TreeRun): string {
  const parent = tree.runs.find(({ runId }) => runId === run.parentRunId);
  if (parent === undefined) return run.workflow;
  return `${pathOf(tree, parent)} › ${run.parentStage ?? ""}${childLabel(run)}`;
}
