import { hasEnded, type ProgressEvent, type RunEvent } from "../dev-server/index.js";
import type { RunTree, TreeRun, TreeStep } from "../dev-server/index.js";
import { bodyKinds, waitTexts } from "../plan/stage-kinds.js";
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

/** Something to tell of a run, once. Without a text nothing is to be told of it. */
interface Fact {
  readonly run: TreeRun;
  readonly at: number;
  /** What makes it worth telling, without its times. */
  readonly key: readonly unknown[];
  readonly text: string | undefined;
}

/** The number of children of one parent from which what is true of several is told once. */
const manyChildren = 10;
/** The number of parts in which their progress is told. */
const progressParts = 4;

/** Progress as text for a file or a pipe: one line per event, nothing is ever redrawn. */
export class ProgressLines implements Progress {
  readonly #told = new Set<string>();

  constructor(readonly write: (line: string) => void) {}

  tell(event: RunEvent): void {
    if (event.type === "log") this.write(event.text);
    if (event.type === "started") this.write(`${event.workflow}: started, run ${event.runId}`);
    if (event.type === "progress") for (const line of this.#newLines(event)) this.write(line);
  }

  end(): void {}

  /** One line for each new fact, with the time since the start of the run. */
  #newLines({ tree, seenAt }: ProgressEvent): string[] {
    const startedAt = tree.runs[0]?.startedAt ?? seenAt;
    const family = new Family(tree);
    return [...family.facts(seenAt)]
      .filter((fact) => this.#isNew(fact, family) && fact.text !== undefined)
      .sort((a, b) => a.at - b.at)
      .map(({ at, run, text }) => {
        return `${elapsed(at - startedAt).padStart(8)}  ${family.pathOf(run)}${text}`;
      });
  }

  /** Notes a fact. In a crowd it is not new if it was told of another run of the crowd. */
  #isNew({ run, key }: Fact, family: Family): boolean {
    const ids = [run.runId, family.crowdOf(run)].map((id) => id && JSON.stringify([id, key]));
    const isTold = ids.some((id) => id !== undefined && this.#told.has(id));
    for (const id of ids) if (id !== undefined) this.#told.add(id);
    return !isTold;
  }
}

const elapsed = (ms: number): string =>
  ms < 60_000 ? `${(ms / 1000).toFixed(2)} s` : duration(ms);

/** A run and all below it. */
class Family {
  readonly #runs: ReadonlyMap<string, TreeRun>;
  readonly #children: ReadonlyMap<string, readonly TreeRun[]>;

  constructor(readonly tree: RunTree) {
    this.#runs = new Map(tree.runs.map((run) => [run.runId, run]));
    this.#children = childrenByParent(tree.runs);
  }

  #parentOf = ({ parentRunId = "" }: TreeRun) => this.#runs.get(parentRunId);

  pathOf(run: TreeRun): string {
    const parent = this.#parentOf(run);
    if (parent === undefined) return run.workflow;
    return `${this.pathOf(parent)} › ${run.parentStage ?? ""}${childLabel(run)}`;
  }

  /** What runs have in common that are below one of many children, or are one of them. */
  crowdOf(run: TreeRun): string | undefined {
    const { parentRunId, parentStage, workflow } = run;
    const parent = this.#parentOf(run);
    const around = parent && this.crowdOf(parent);
    const siblings = this.#children.get(parentKey(parentRunId, parentStage)) ?? [];
    if (around === undefined && (parent === undefined || siblings.length < manyChildren))
      return undefined;
    return `${around ?? parentRunId} ${parentStage} ${workflow}`;
  }

  /** All there is to tell by now. Facts of one time are in order; a parent ends after its children. */
  *facts(seenAt: number): Generator<Fact> {
    const { runs, truncated } = this.tree;
    for (const run of runs)
      for (const step of inOrder(run.steps)) yield* factsOf(run, step, seenAt);
    for (const run of runs.toSorted((a, b) => this.#depthOf(b) - this.#depthOf(a))) {
      const { state, endedAt: at = seenAt } = run;
      // A child that completed has been told by its last step.
      if (hasEnded(state) && (run === runs[0] || state !== "completed"))
        yield { run, at, key: [state], text: `: ${state}` };
    }
    for (const children of this.#children.values()) {
      const [{ parentStage } = {}] = children;
      const run = children[0] && this.#parentOf(children[0]);
      const ended = children.filter(({ state }) => hasEnded(state));
      const parts = Math.floor((ended.length / children.length) * progressParts);
      if (run === undefined || children.length < manyChildren || parts === 0) continue;
      const all = `${children.length}${truncated ? " or more" : ""}`;
      const text = ` › ${parentStage}: ${countStates(ended)} of ${all} children`;
      yield { run, at: seenAt, key: [parentStage, parts], text };
    }
  }

  #depthOf(run: TreeRun): number {
    const parent = this.#parentOf(run);
    return parent === undefined ? 0 : 1 + this.#depthOf(parent);
  }
}

/** Steps as they ended: loops and branches that have ended come after what is inside them. */
function* inOrder(steps: readonly TreeStep[]): Generator<TreeStep> {
  const open: TreeStep[] = [];
  for (const step of steps) {
    const outside = open.findIndex(({ stage }) => !step.stage.startsWith(`${stage}.`));
    if (outside >= 0) yield* open.splice(outside).reverse();
    if (hasEnded(step.state) && bodyKinds.includes(step.kind)) open.push(step);
    else yield step;
  }
  yield* open.reverse();
}

function* factsOf(run: TreeRun, step: TreeStep, seenAt: number): Generator<Fact> {
  const { stage, iterations, kind, state, attempt, startedAt = seenAt, endedAt = seenAt } = step;
  const fact = (at: number, what: unknown[], text?: string): Fact => {
    const told = text === undefined ? undefined : ` › ${stageLabel(step)}: ${text}`;
    return { run, at, key: [stage, iterations, ...what], text: told };
  };
  if (!hasEnded(state)) {
    // An action that waits does so to be tried again, which is told.
    const isWait = state === "waiting" && kind !== "action";
    if (isWait) yield fact(startedAt, ["waits", kind], waitOf(step));
    yield fact(startedAt, ["began"], isWait ? undefined : state);
  }
  for (const { kind: why, message, attempt: failed } of step.errors) {
    if (failed >= attempt) continue;
    // Nobody notes when an attempt failed; it was since the last read, and before the step ended.
    const text = `attempt ${failed} failed (${why}): ${printable(message)}`;
    yield fact(Math.min(seenAt, endedAt), ["failed", failed, message], text);
  }
  if (!hasEnded(state)) return;
  const isTimed = step.startedAt !== undefined && step.endedAt !== undefined;
  const took = isTimed ? ` after ${duration(endedAt - startedAt)}` : "";
  const last = attempt > 1 ? `, at attempt ${attempt}` : "";
  yield fact(endedAt, ["ended", state, attempt], `${state}${took}${last}`);
}

function waitOf(step: TreeStep): string {
  const { kind, state, startedAt, dueAt } = step;
  const isTimed = dueAt !== undefined && startedAt !== undefined;
  const time = isTimed ? duration(dueAt - startedAt) : undefined;
  return waitTexts[kind]?.begins(time, eventNames(step)) ?? state;
}
