import pc from "picocolors";
import type { RunOutcome, StepError } from "../dev-server/index.js";
import { bytes, duration, plural, printable } from "./progress-text.js";

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
  const where = `"${error.node}" of ${error.workflow}${which}${attempt}`;
  yield `${at}${colors.red(error.kind)} in ${where}: ${printable(error.message)}`;
  if (error.data !== undefined) yield `  data: ${JSON.stringify(error.data)}`;
  if (error.cause !== undefined) yield* errorLines(error.cause, placeOf, colors);
}
