import pc from "picocolors";
import type { RunOutcome, StepError, TreeRun, TreeStep } from "../dev-server/index.js";
import { bytes, duration, plural } from "./counts.js";

/** Part of a line: cut to the width of the terminal before it is painted. */
export interface Span {
  readonly text: string;
  readonly paint?: Paint;
}
export type Paint = "green" | "red" | "yellow" | "cyan" | "dim" | "bold";
export type Line = readonly Span[];

/** A line as text, at most `width` characters wide on the screen. */
export function paintLine(line: Line, width: number, color: boolean): string {
  const colors = pc.createColors(color);
  let room = width;
  let out = "";
  for (const { text, paint } of line) {
    if (room <= 0) break;
    const shown = printable(text);
    const cut = shown.length > room ? `${shown.slice(0, room - 1)}…` : shown;
    room -= cut.length;
    out += paint === undefined ? cut : colors[paint](cut);
  }
  return out;
}

/** One line of text. Control characters in an error's message could make a terminal do anything. */
export function printable(text: string): string {
  // oxlint-disable-next-line no-control-regex -- They are what is looked for.
  return text.replace(/\s*[\r\n]\s*/g, " ").replace(/[\u0000-\u001f\u007f-\u009f]/g, "\ufffd");
}

const ICONS: Record<string, Span> = {
  completed: { text: "✓", paint: "green" },
  failed: { text: "✗", paint: "red" },
  timedOut: { text: "✗", paint: "red" },
  canceled: { text: "⊘", paint: "dim" },
  skipped: { text: "⊘", paint: "dim" },
  waiting: { text: "◷", paint: "yellow" },
  pending: { text: "○", paint: "dim" },
};

export function iconOf(state: string): Span {
  return ICONS[state] ?? { text: "●", paint: "cyan" };
}

/** How a run is told apart from its siblings: by its key, or by its place in the list. */
export function childLabel(run: TreeRun): string {
  return `[${run.key ?? run.index ?? "?"}] ${run.workflow}`;
}

/** A stage; in a body with the iterations of the loops around it: `agent.think (iteration 2)`. */
export function stageLabel({ stage, iterations = [] }: TreeStep): string {
  return iterations.length === 0 ? stage : `${stage} (iteration ${iterations.join(".")})`;
}

/** The events that a step waits for: `"approval" or "refusal"`. */
export function eventNames({ events = [] }: TreeStep): string {
  return events.map((name) => JSON.stringify(name)).join(" or ");
}

/** The innermost error: what really happened. */
export function rootCause(error: StepError): StepError {
  return error.cause === undefined ? error : rootCause(error.cause);
}

/** How many runs are in which state: `448 completed, 2 failed`. */
export function countStates(runs: readonly TreeRun[]): string {
  const counts = new Map<string, number>();
  for (const { state } of runs) counts.set(state, (counts.get(state) ?? 0) + 1);
  return [...counts].map(([state, count]) => `${count} ${state}`).join(", ");
}

/** The children of a stage of a run have one key. */
export const parentKey = (runId = "", stage = ""): string => `${runId}\n${stage}`;

/** Runs by the stage that started them. */
export function childrenByParent(runs: readonly TreeRun[]): Map<string, TreeRun[]> {
  const groups = new Map<string, TreeRun[]>();
  for (const run of runs) {
    const key = parentKey(run.parentRunId, run.parentStage);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [run]);
    else group.push(run);
  }
  return groups;
}

/** Where a node stands in its definition, as `file:line:column`; undefined for an unknown one. */
export type PlaceOf = (workflow: string, node: string) => string | undefined;

/** What a run came to and what it took, for people. */
export function report(
  outcome: RunOutcome,
  workflow: string,
  placeOf: PlaceOf,
  color: boolean,
): string {
  const colors = pc.createColors(color);
  const completed = outcome.state === "completed";
  const paint = completed ? colors.green : colors.red;
  const headline = `${workflow} ${paint(outcome.state)} in ${duration(outcome.durationMs)}`;
  const lines = [headline, ...counts(outcome).map((line) => `  ${colors.dim(line)}`)];
  if (outcome.error !== undefined) lines.push(...errorLines(outcome.error, placeOf, colors));
  return `${lines.join("\n")}\n`;
}

function counts({ totals }: RunOutcome): string[] {
  const { rootExecutions, executions, functionsScheduled } = totals;
  return [
    `${plural(rootExecutions, "function execution")}, ${executions.toLocaleString("en-US")} with nested ones; ` +
      `${functionsScheduled.toLocaleString("en-US")} scheduled`,
    `read ${plural(totals.documentsRead, "document")}, ${bytes(totals.bytesRead)}; ` +
      `wrote ${plural(totals.documentsWritten, "document")}, ${bytes(totals.bytesWritten)}`,
  ];
}

/** From the run's error down to what caused it, each with the place of its node. */
function* errorLines(
  error: StepError,
  placeOf: PlaceOf,
  colors: ReturnType<typeof pc.createColors>,
): Generator<string> {
  const place = placeOf(error.workflow, error.node);
  const which = error.key === undefined ? "" : ` [${error.key}]`;
  const attempt = error.attempt > 1 ? `, attempt ${error.attempt}` : "";
  const at = place === undefined ? "" : `${colors.cyan(place)} `;
  const node = error.node === "" ? "" : `"${error.node}" of `;
  const where = `${node}${error.workflow}${which}${attempt}`;
  yield `${at}${colors.red(error.kind)} in ${where}: ${printable(error.message)}`;
  if (error.data !== undefined) yield `  data: ${JSON.stringify(error.data)}`;
  if (error.cause !== undefined) yield* errorLines(error.cause, placeOf, colors);
}
