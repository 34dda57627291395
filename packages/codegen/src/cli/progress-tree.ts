import type pc from "picocolors";
import { hasEnded, stageOf } from "../dev-server/index.js";
import type { RunTree, StepError, TreeRun, TreeStep } from "../dev-server/index.js";
import { recordKind } from "../plan/stage-kinds.js";
import { printable } from "../diagnostics/printable.js";
import { duration } from "./counts.js";

export type Colors = ReturnType<typeof pc.createColors>;
type Paint = "green" | "red" | "yellow" | "cyan" | "dim";

/** Returns a text of the app's as one line that is safe to print. */
export function oneLine(text: string): string {
  const lines = text.split(/[\r\n]/).map((line) => line.trim());
  return printable(lines.filter(Boolean).join(" ").replaceAll("\t", "\ufffd"));
}

/** How a run is told apart from its siblings: by its key, or by its place in the list. */
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

/** The events that a step waits for: `"approval" or "refusal"`. */
export function eventNames({ events = [] }: TreeStep): string {
  return events.map((name) => JSON.stringify(name)).join(" or ");
}

/** How long an action has waited for a slot, before its current or last attempt began. */
export function queueTime({ state, queuedAt, beganAt, endedAt }: TreeStep, now: number): number {
  const isWaiting = state === "pending" || state === "canceled";
  const until = beganAt ?? (isWaiting ? (endedAt ?? now) : undefined);
  return queuedAt === undefined || until === undefined ? 0 : Math.max(0, until - queuedAt);
}

/** How a wait for events has ended, if that is to be told. */
export function cameOf({ came, events = [] }: TreeStep): string | undefined {
  if (came === null) return "timed out";
  return came !== undefined && events.length > 1 ? `by ${JSON.stringify(came)}` : undefined;
}

/** How many runs are in which state: `448 completed, 2 failed`. */
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

/** How many children of one parent are shown at most. */
const mostChildren = 24;

/** A run, its steps and its children as lines; of many children the most interesting. */
export function treeLines(tree: RunTree, now: number, maxLines: number, colors: Colors): string[] {
  const [top] = tree.runs;
  if (top === undefined) return [];
  for (let shown = mostChildren; ; shown = Math.floor(shown / 2)) {
    const lines = new Picture(tree, now, shown, colors).ofRun(top);
    if (lines.length <= maxLines || shown === 0) return lines.slice(0, maxLines);
  }
}

const icons: Readonly<Partial<Record<string, readonly [icon: string, paint: Paint]>>> = {
  completed: ["✓", "green"],
  failed: ["✗", "red"],
  timedOut: ["✗", "red"],
  canceled: ["⊘", "dim"],
  skipped: ["⊘", "dim"],
  waiting: ["◷", "yellow"],
  pending: ["○", "dim"],
};

/** What a tree looks like at one time. */
class Picture {
  readonly #children: ReturnType<typeof childrenIn>;

  /** @param shown how many children of one parent */
  constructor(
    readonly tree: RunTree,
    readonly now: number,
    readonly shown: number,
    readonly colors: Colors,
  ) {
    this.#children = childrenIn(tree);
  }

  /** A run, and its steps below it. */
  ofRun(run: TreeRun, label = this.colors.bold(run.workflow), indent = ""): string[] {
    // One that waits for its time, or its turn, has not begun.
    const took = run.state === "pending" ? "" : this.#took(run.startedAt, run.endedAt);
    const line = `${indent}${this.#icon(run.state)} ${label}${took}`;
    return [line, ...this.#steps(run, `${indent}  `)];
  }

  #steps(run: TreeRun, indent: string): string[] {
    // The last iteration of each body.
    const latest = new Map(run.steps.map((step) => [step.stage, step]));
    return [...latest.values()].flatMap((step) => {
      const children = this.#children.get(run.runId)?.get(step.stage) ?? [];
      const label = `${stageLabel(step, run)}${this.#progressOf(children)}`;
      return [
        `${indent}${this.#icon(step.came === null ? "waiting" : step.state)} ${label}${this.#notes(step)}`,
        ...this.#childLines(children, `${indent}  `),
      ];
    });
  }

  #childLines(children: readonly TreeRun[], indent: string): string[] {
    const shown = new Set(mostInteresting(children, this.shown));
    const rest = children.filter((child) => !shown.has(child));
    const lines = children.flatMap((child) => (shown.has(child) ? this.#child(child, indent) : []));
    const counted = `${indent}… and ${rest.length} more: ${countStates(rest)}`;
    return rest.length === 0 ? lines : [...lines, this.colors.dim(counted)];
  }

  /** A child of one step is told in one line. */
  #child(run: TreeRun, indent: string): string[] {
    const [only, ...others] = run.steps;
    if (only === undefined || others.length > 0) return this.ofRun(run, childLabel(run), indent);
    const icon = this.#icon(hasEnded(run.state) ? run.state : only.state);
    return [`${indent}${icon} ${childLabel(run)}${this.#notes(only)}`];
  }

  #icon(state: string): string {
    const [icon, paint] = icons[state] ?? ["●", "cyan"];
    return this.colors[paint](icon);
  }

  #took(startedAt: number, endedAt = this.now): string {
    return this.colors.dim(`  ${duration(endedAt - startedAt)}`);
  }

  #progressOf(children: readonly TreeRun[]): string {
    if (children.length === 0) return "";
    const ended = children.filter(({ state }) => hasEnded(state)).length;
    const all = `${children.length}${this.tree.truncated ? "+" : ""}`;
    return `  ${ended} of ${all} ${children.length === 1 ? "child" : "children"}`;
  }

  /** What there is to say of a step beside its name: how long, which attempt, and why it failed. */
  #notes(step: TreeStep): string {
    const { dim, yellow, red } = this.colors;
    const { state, attempt, iteration, startedAt, endedAt } = step;
    const error = step.errors.at(-1);
    const wait = state === "waiting" ? this.#waitNote(step) : undefined;
    const queuedMs = queueTime(step, this.now);
    const queued = queuedMs > 0 ? duration(queuedMs) : undefined;
    const hasBegun = queued === undefined || step.beganAt !== undefined;
    const isTimed = startedAt !== undefined && state !== "pending" && hasBegun;
    const came = cameOf(step);
    const notes = [
      isTimed && this.#took(startedAt + queuedMs, endedAt),
      queued && dim(hasBegun ? `  after ${queued} in the queue` : `  in the queue for ${queued}`),
      came && dim(`  ${came}`),
      attempt > 1 && yellow(`  attempt ${attempt}`),
      iteration !== undefined && !hasEnded(state) && dim(`  iteration ${iteration}`),
      wait && yellow(`  ${wait}`),
      error && (state === "failed" ? red : yellow)(`  ${oneLine(rootCause(error).message)}`),
    ];
    return notes.filter(Boolean).join("");
  }

  /** What a step waits for, and for how long; most kinds wait to be tried again. */
  #waitNote(step: TreeStep): string | undefined {
    const { kind, dueAt } = step;
    const left = dueAt === undefined ? undefined : duration(Math.max(0, dueAt - this.now));
    const texts = recordKind(kind)?.waits;
    return texts === undefined ? left && `again in ${left}` : texts.goesOn(left, eventNames(step));
  }
}

/** The innermost error: what really happened. */
function rootCause(error: StepError): StepError {
  return error.cause === undefined ? error : rootCause(error.cause);
}

/** Failed ones first, then those that are retried, then those that run. */
function mostInteresting(children: readonly TreeRun[], count: number): readonly TreeRun[] {
  const rank = (run: TreeRun) => {
    if (run.state === "failed") return 0;
    const retried = run.steps.some(({ attempt }) => attempt > 1);
    if (!hasEnded(run.state)) return retried ? 1 : run.state === "pending" ? 5 : 2;
    return retried ? 3 : 4;
  };
  // The sort keeps the order among those of one rank.
  return children.toSorted((a, b) => rank(a) - rank(b)).slice(0, count);
}
