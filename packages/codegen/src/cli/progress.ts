import type { WriteStream } from "node:tty";
import pc from "picocolors";
import { hasEnded } from "../dev-server/index.js";
import type { RunEvent, RunTree, TreeRun, TreeStep } from "../dev-server/index.js";
import { waitTexts } from "../plan/stage-kinds.js";
import { duration } from "./counts.js";
import { type Progress, ProgressLines } from "./progress-lines.js";
import {
  childLabel,
  childrenByParent,
  countStates,
  eventNames,
  iconOf,
  type Line,
  paintLine,
  parentKey,
  rootCause,
  stageLabel,
} from "./progress-text.js";

/** A tree that is redrawn, if the terminal can do so, else a line per event; or nothing. */
export function progressOn(stream: NodeJS.WriteStream, quiet: boolean): Progress {
  if (quiet) return { tell() {}, end() {} };
  const isLive = stream.isTTY === true && process.env["TERM"] !== "dumb" && !process.env["CI"];
  if (isLive) return new ProgressLive(stream as WriteStream, usesColor(stream));
  return new ProgressLines((line) => stream.write(`${line}\n`));
}

export function usesColor(stream: NodeJS.WriteStream): boolean {
  return stream.isTTY === true && pc.isColorSupported && !process.env["NO_COLOR"];
}

// Captured at import: a run may replace them by a clock of its own.
const { setInterval, clearInterval } = globalThis;
const now = performance.now.bind(performance);

const FRAME_MS = 50;
const END_OF_LINE = "\u001b[K\n";
const ERASE_BELOW = "\u001b[J";

/** Progress on a terminal: the tree of the run, redrawn in its place. */
export class ProgressLive implements Progress {
  readonly #stream: WriteStream;
  readonly #color: boolean;
  readonly #timer: NodeJS.Timeout;
  #tree: RunTree | undefined;
  #drawn = 0;
  #drawnAt = 0;

  constructor(stream: WriteStream, color: boolean) {
    this.#stream = stream;
    this.#color = color;
    this.#timer = setInterval(() => this.#draw(), FRAME_MS);
    // The picture alone does not keep the process alive.
    this.#timer.unref();
  }

  tell(event: RunEvent): void {
    if (event.type === "progress") {
      this.#tree = event.tree;
      // Busy functions keep the timer waiting.
      if (now() - this.#drawnAt >= FRAME_MS) this.#draw();
    }
    if (event.type === "log") {
      this.#erase();
      this.#stream.write(`${event.text}\n`);
      this.#draw();
    }
  }

  /** Draws the last state, which stays. */
  end(): void {
    clearInterval(this.#timer);
    this.#draw();
    this.#drawn = 0;
  }

  #draw(): void {
    if (this.#tree === undefined) return;
    // One line is left for the cursor: a picture that scrolls cannot be redrawn.
    const lines = treeLines(this.#tree, Date.now(), (this.#stream.rows || 24) - 1);
    // Some terminals without a size say 0.
    const width = this.#stream.columns || 80;
    const text = lines.map((line) => `${paintLine(line, width, this.#color)}${END_OF_LINE}`);
    // Over the last picture, line by line: a picture that is erased first flickers.
    this.#stream.write(`${this.#home()}${text.join("")}${ERASE_BELOW}`);
    this.#drawn = lines.length;
    this.#drawnAt = now();
  }

  #erase(): void {
    this.#stream.write(`${this.#home()}${this.#drawn > 0 ? ERASE_BELOW : ""}`);
    this.#drawn = 0;
  }

  /** Takes the cursor to the first line of the last picture. */
  #home(): string {
    return this.#drawn > 0 ? `\u001b[${this.#drawn}A` : "";
  }
}

/** How many children of one parent are shown at most. */
const MOST_CHILDREN = 24;

/** A run, its steps and its children as lines; of many children the most interesting. @param now */
export function treeLines(tree: RunTree, now: number, maxLines: number): Line[] {
  const top = tree.runs[0];
  if (top === undefined) return [];
  const childrenOf = childrenByParent(tree.runs);
  for (let shown = MOST_CHILDREN; ; shown = Math.floor(shown / 2)) {
    const view: View = { childrenOf, now, shown, truncated: tree.truncated };
    const name = { text: top.workflow, paint: "bold" } as const;
    const lines = [runLine("", name, top, view), ...stepLines(top, "  ", view)];
    if (lines.length <= maxLines || shown === 0) return lines.slice(0, maxLines);
  }
}

interface View {
  readonly childrenOf: Map<string, TreeRun[]>;
  readonly now: number;
  readonly shown: number;
  readonly truncated: boolean;
}

function stepLines(run: TreeRun, indent: string, view: View): Line[] {
  // The last iteration of each body.
  const latest = new Map(run.steps.map((step) => [step.stage, step]));
  return [...latest.values()].flatMap((step) => {
    const children = view.childrenOf.get(parentKey(run.runId, step.stage)) ?? [];
    const label = { text: ` ${stageLabel(step)}${progressOf(children, view)}` };
    const line = [{ text: indent }, iconOf(step.state), label, ...stepNotes(step, view.now)];
    return [line, ...childLines(children, `${indent}  `, view)];
  });
}

function childLines(children: TreeRun[], indent: string, view: View): Line[] {
  if (children.length === 0) return [];
  const shown = new Set(mostInteresting(children, view.shown));
  const rest = children.filter((child) => !shown.has(child));
  const lines = children
    .filter((child) => shown.has(child))
    .flatMap((child) => [
      runLine(indent, { text: childLabel(child) }, child, view),
      // A child of one step is told in one line.
      ...(child.steps.length > 1 ? stepLines(child, `${indent}  `, view) : []),
    ]);
  if (rest.length === 0) return lines;
  const counted = `${indent}… and ${rest.length} more: ${countStates(rest)}`;
  return [...lines, [{ text: counted, paint: "dim" }]];
}

function runLine(indent: string, label: Line[number], run: TreeRun, view: View): Line {
  const took = duration((run.endedAt ?? view.now) - run.startedAt);
  const only = run.steps.length === 1 ? run.steps[0] : undefined;
  const isChild = run.parentRunId !== undefined;
  return [
    { text: indent },
    iconOf(isChild && !hasEnded(run.state) ? (only?.state ?? run.state) : run.state),
    { text: " " },
    label,
    ...(isChild && only !== undefined
      ? stepNotes(only, view.now)
      : [{ text: `  ${took}`, paint: "dim" } as const]),
  ];
}

/** What there is to say of a step beside its name: how long, which attempt, and why it failed. */
function stepNotes(step: TreeStep, now: number): Line {
  const notes: { text: string; paint: "dim" | "yellow" | "red" }[] = [];
  const error = step.errors.at(-1);
  if (step.startedAt !== undefined && step.state !== "pending") {
    const took = duration((step.endedAt ?? now) - step.startedAt);
    notes.push({ text: `  ${took}`, paint: "dim" });
  }
  if (step.attempt > 1) notes.push({ text: `  attempt ${step.attempt}`, paint: "yellow" });
  if (step.iteration !== undefined && !hasEnded(step.state))
    notes.push({ text: `  iteration ${step.iteration}`, paint: "dim" });
  const wait = step.state === "waiting" ? waitNote(step, now) : undefined;
  if (wait !== undefined) notes.push({ text: `  ${wait}`, paint: "yellow" });
  if (error !== undefined) {
    const paint = step.state === "failed" ? "red" : "yellow";
    notes.push({ text: `  ${rootCause(error).message}`, paint });
  }
  return notes;
}

/** What a step waits for, and for how long; most kinds wait to be tried again. */
function waitNote(step: TreeStep, now: number): string | undefined {
  const left = step.dueAt === undefined ? undefined : duration(Math.max(0, step.dueAt - now));
  const texts = waitTexts[step.kind];
  return texts === undefined ? left && `again in ${left}` : texts.goesOn(left, eventNames(step));
}

function progressOf(children: TreeRun[], view: View): string {
  if (children.length === 0) return "";
  const ended = children.filter(({ state }) => hasEnded(state)).length;
  const all = `${children.length}${view.truncated ? "+" : ""}`;
  return `  ${ended} of ${all} ${children.length === 1 ? "child" : "children"}`;
}

/** Failed ones first, then those that are retried, then those that run. */
function mostInteresting(children: TreeRun[], count: number): TreeRun[] {
  if (children.length <= count) return children;
  const rank = (run: TreeRun) => {
    if (run.state === "failed") return 0;
    const retried = run.steps.some(({ attempt }) => attempt > 1);
    if (!hasEnded(run.state)) return retried ? 1 : run.state === "pending" ? 5 : 2;
    return retried ? 3 : 4;
  };
  // The sort keeps the order among those of one rank.
  return children.toSorted((a, b) => rank(a) - rank(b)).slice(0, count);
}
