import { isColorSupported } from "../diagnostics/colors.js";
import { eventNames, hasEnded, stageOf } from "../dev-server/index.js";
import type { ProgressEvent, RunEvent, TreeRun, TreeStep } from "../dev-server/index.js";
import { hasBodies, recordKind } from "../plan/stage-kinds.js";
import { duration } from "./counts.js";
import {
  cameOf,
  childLabel,
  childrenIn,
  countStates,
  oneLine,
  queueTime,
  stageLabel,
} from "./run-words.js";

export function usesColor(stream: NodeJS.WriteStream): boolean {
  return stream.isTTY === true && isColorSupported();
}

/** Something to tell of a run, once. Without a text nothing is to be told of it. */
interface Fact {
  readonly at: number;
  /** What makes it worth telling, without its times. */
  readonly key: readonly unknown[];
  readonly text?: string | undefined;
}

/** A run, and where it stands in the tree. */
interface Place {
  readonly run: TreeRun;
  readonly path: string;
  /** What runs have in common that are below one of many children, or are one of them. */
  readonly crowd?: string | undefined;
}

interface View extends Pick<ProgressEvent, "tree" | "seenAt"> {
  readonly children: ReturnType<typeof childrenIn>;
}

/** The number of children of one parent from which what is true of several is told once. */
const manyChildren = 10;
/** The number of parts in which their progress is told. */
const progressParts = 4;

/** Progress as text: one line per event, nothing is ever redrawn. */
export class ProgressLines {
  readonly #told = new Set<string>();
  /** The time on the line above. What was noticed late is told with that. */
  #latest = 0;

  constructor(readonly write: (line: string) => void) {}

  tell(event: RunEvent): void {
    if (event.type === "log" || event.type === "waiting") this.write(event.text);
    if (event.type === "started") this.write(`${event.workflow}: started, run ${event.runId}`);
    if (event.type === "progress") this.#tellNew(event);
  }

  /** One line for each new fact, with the time since the start of the run. */
  #tellNew({ tree, seenAt }: ProgressEvent): void {
    const [top] = tree.runs;
    if (top === undefined) return;
    const view = { tree, seenAt, children: childrenIn(tree) };
    const facts = [...factsBelow({ run: top, path: top.workflow }, view)]
      .filter(({ place, key }) => this.#isNew(place, key))
      .sort((a, b) => a.at - b.at);
    for (const { at, place, text } of facts) {
      if (text === undefined) continue;
      this.#latest = Math.max(this.#latest, at);
      this.write(`${elapsed(this.#latest - top.startedAt).padStart(8)}  ${place.path}${text}`);
    }
  }

  /** Notes a fact. In a crowd it is not new if it was told of another run of the crowd. */
  #isNew({ run, crowd }: Place, key: Fact["key"]): boolean {
    const ids = [run.runId, crowd].flatMap((id) => (id ? [JSON.stringify([id, key])] : []));
    const isTold = ids.some((id) => this.#told.has(id));
    for (const id of ids) this.#told.add(id);
    return !isTold;
  }
}

/** All there is to tell by now of a run and of those below it, which end before it. */
function* factsBelow(place: Place, view: View): Generator<Fact & { readonly place: Place }> {
  const { run, path, crowd } = place;
  const { tree, seenAt, children } = view;
  for (const step of inOrder(run.steps))
    for (const fact of factsOf(step, run, seenAt)) yield { place, ...fact };
  for (const [stage, siblings] of children.get(run.runId) ?? []) {
    const isMany = siblings.length >= manyChildren;
    for (const child of siblings) {
      const inCrowd = isMany || crowd !== undefined;
      const around = inCrowd ? `${crowd ?? run.runId} ${stage} ${child.workflow}` : undefined;
      const label = stageOf(stage, run);
      const childPath =
        child.within === undefined
          ? `${path} › ${label}${childLabel(child)}`
          : `${path} › ${label} › ${child.key ?? child.index}`;
      yield* factsBelow({ run: child, path: childPath, crowd: around }, view);
    }
    const ended = siblings.filter(({ state }) => hasEnded(state));
    const parts = Math.floor((ended.length / siblings.length) * progressParts);
    const all = `${siblings.length}${tree.truncated ? " or more" : ""}`;
    const text = ` › ${stageOf(stage, run)}: ${countStates(ended)} of ${all} children`;
    const at = Math.max(...ended.map(({ endedAt = seenAt }) => endedAt));
    if (isMany && parts > 0) yield { place, at, key: [stage, parts], text };
  }
  const { state, endedAt: at = seenAt } = run;
  // A child that completed has been told by its last step.
  if (hasEnded(state) && (run === tree.runs[0] || state !== "completed"))
    yield { place, at, key: [state], text: `: ${state}` };
}

const elapsed = (ms: number): string =>
  ms < 60_000 ? `${(ms / 1000).toFixed(2)} s` : duration(ms);

/** Steps as they ended: loops and branches that have ended come after what is inside them. */
function* inOrder(steps: readonly TreeStep[]): Generator<TreeStep> {
  const open: TreeStep[] = [];
  for (const step of steps) {
    const outside = open.findIndex(({ stage }) => !step.stage.startsWith(`${stage}.`));
    if (outside >= 0) yield* open.splice(outside).reverse();
    const kind = recordKind(step.kind);
    if (hasEnded(step.state) && kind && hasBodies(kind)) open.push(step);
    else yield step;
  }
  yield* open.reverse();
}

function* factsOf(step: TreeStep, run: TreeRun, seenAt: number): Generator<Fact> {
  const { stage, iterations, kind, state, attempt, startedAt = seenAt, endedAt = seenAt } = step;
  const fact = (at: number, what: unknown[], text?: string): Fact => {
    const told = text === undefined ? undefined : ` › ${stageLabel(step, run)}: ${text}`;
    return { at, key: [stage, iterations, ...what], text: told };
  };
  if (!hasEnded(state)) {
    const wait = waitOf(step);
    if (wait !== undefined) yield fact(startedAt, ["waits", kind], wait);
    const { queuedAt = startedAt, beganAt = startedAt } = step;
    const queued = `queued${keptBackBy(step)}`;
    if (kind === "action" && state === "pending") yield fact(queuedAt, [queued], queued);
    else if (state !== "pending")
      // A record that waited for a turn goes on as what it is.
      yield fact(beganAt, ["began", kind], wait === undefined ? state : undefined);
  }
  for (const { kind: why, message, attempt: failed } of step.errors) {
    if (failed >= attempt) continue;
    // Nobody notes when an attempt failed; it was since the last read, and before the step ended.
    const text = `attempt ${failed} failed (${why}): ${oneLine(message)}`;
    yield fact(Math.min(seenAt, endedAt), ["failed", failed, message], text);
  }
  if (!hasEnded(state)) return;
  const isTimed = step.startedAt !== undefined && step.endedAt !== undefined;
  const queuedMs = queueTime(step, seenAt);
  const took = isTimed ? ` after ${duration(endedAt - startedAt - queuedMs)}` : "";
  const queued = queuedMs > 0 ? ` and ${duration(queuedMs)} in the queue` : "";
  const { held = 0 } = step;
  const counted = attempt - held;
  const last = counted > 1 ? `, at attempt ${counted}` : "";
  const beside = held > 0 ? `, held ${held === 1 ? "once" : `${held} times`} before` : "";
  const late = step.errors.at(-1)?.waitedFor;
  const ended = state === "timedOut" && late !== undefined ? `waited too long ${late}` : state;
  const how = cameOf(step);
  const outcome = how === undefined ? ended : how.startsWith("by") ? `${ended} ${how}` : how;
  yield fact(endedAt, ["ended", state, attempt], `${outcome}${took}${queued}${last}${beside}`);
}

/** The limit that keeps an action back. */
function keptBackBy({ waitsFor }: TreeStep): string {
  if (waitsFor === undefined) return "";
  const { limit, key, paused } = waitsFor;
  const { by, until } = paused ?? {};
  const byWhom = by === undefined ? "" : ` by ${by}`;
  const ends = until === undefined ? "" : ` until ${new Date(until).toISOString()}`;
  const stopped = paused === undefined ? "" : `, paused${byWhom}${ends}`;
  return `, waiting for ${limit}${key === undefined ? "" : ` ${key}`}${stopped}`;
}

/** What it waits for, if not to be tried again, which is told. */
function waitOf(step: TreeStep): string | undefined {
  const { kind, state, startedAt, dueAt } = step;
  const isTimed = dueAt !== undefined && startedAt !== undefined;
  const time = isTimed ? duration(dueAt - startedAt) : undefined;
  if (kind === "turn" && state === "waiting") return "waiting for another run of its key";
  if (kind === "collect" && state === "waiting")
    return `collecting starts${time === undefined ? "" : `, begins after ${time} at the latest`}`;
  if (step.holds !== undefined && dueAt !== undefined)
    return `held until ${new Date(dueAt).toISOString()}, as ${step.holds} is`;
  return state === "waiting" ? recordKind(kind)?.waits?.(time, eventNames(step)) : undefined;
}
