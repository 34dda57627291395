import type { Answer } from "../cache/last-compile.js";
import type { CompileResult, Written } from "../compile.js";
import type { Compatibility } from "../compatibility/lines.js";
import type { Diagnostic } from "../diagnostics/diagnostic.js";
import { formatDiagnostic } from "../diagnostics/format.js";
import { digestOf } from "../plan/digest.js";
import type { Tombstones, ProjectPlan } from "../plan/schema.js";
import { countsText, plural } from "./counts.js";
import { displayPath, inFolder } from "./functions-folder.js";
import { printTo, type Terminal } from "./terminal.js";

/** How each compatibility is called, the worst first. */
export const compatibilities: Readonly<Record<Compatibility, string>> = {
  stops: "stops runs",
  loses: "cannot be undone",
  rename: "needs a mapping of names",
  safe: "safe",
};

export const isSafe = ({ compatibility }: Answer["changes"][number]): boolean =>
  compatibility === "safe";

export function printDiagnostics(
  diagnostics: readonly Diagnostic[],
  folder: string,
  terminal: Terminal,
): void {
  if (diagnostics.length === 0) return;
  const { err } = printTo(terminal);
  const options = { color: terminal.color, prefix: inFolder(folder, "") };
  for (const diagnostic of diagnostics) err(`${formatDiagnostic(diagnostic, options)}\n`);
  const errors = diagnostics.filter(({ severity }) => severity === "error").length;
  const warnings = diagnostics.length - errors;
  const counts = [
    ...(errors > 0 ? [plural(errors, "error")] : []),
    ...(warnings > 0 ? [plural(warnings, "warning")] : []),
  ];
  err(`${counts.join(", ")}.${errors > 0 ? " Nothing was written." : ""}`);
}

/** A tool that reads places has the sources. */
export function withoutFrames(diagnostic: Diagnostic): Diagnostic {
  const related = diagnostic.related.map(({ message, place }) => ({ message, place }));
  return { ...diagnostic, frame: undefined, related };
}

/** Prints what `generate` warns of, each time. */
export function printWarnings(answer: Answer, functionsDir: string, terminal: Terminal): void {
  printDiagnostics(answer.diagnostics, displayPath(terminal.cwd, functionsDir), terminal);
  printUnsafeChanges(answer, terminal);
}

/** Prints the changes that take something from runs in flight. */
export function printUnsafeChanges(
  { changes, against: { from } }: Answer,
  terminal: Terminal,
): void {
  const { err, colors } = printTo(terminal);
  for (const change of changes) {
    if (isSafe(change)) continue;
    const what = compatibilities[change.compatibility];
    err(
      `${colors.yellow("warning")} compared with ${from}, ${what} ${placeOf(change)}: ${change.message}`,
    );
  }
}

/** `order › save` */
export const placeOf = ({ workflow, node }: Answer["changes"][number]): string =>
  node === undefined ? workflow : `${workflow} › ${node}`;

/** What was written, of how much, and how long it took. */
export function report(
  { plan }: CompileResult,
  { written, removed }: Written,
  folder: string,
  elapsedMs: number,
  terminal: Terminal,
): string {
  const { colors } = printTo(terminal);
  const named = (files: readonly string[], verb: string) =>
    some(files.map((file) => inFolder(folder, file))).map((file) => `${verb} ${file}`);
  const lines = [
    ...named(written, colors.green("wrote")),
    ...named(removed, colors.red("removed")),
  ];
  const kept = tombstoneNames(plan.removed ?? []);
  if (lines.length > 0 && kept.length > 0)
    lines.push(colors.dim(`kept for runs in flight: ${kept.join(", ")} (see check --drop)`));
  if (plan.workflows.length === 0) return [...lines, noWorkflow(folder)].join("\n");
  const changes = lines.length === 0 ? colors.dim(" Everything is up to date.") : "";
  return [...lines, `${countsText(counted(plan), elapsedMs)}${changes}`].join("\n");
}

export const noWorkflow = (folder: string): string =>
  `No workflow found: none of ${inFolder(folder, "**/*.workflow.ts")} calls defineWorkflow(). To begin with one: workflow-codegen init.`;

/** How many files are named; of more, the rest is counted. */
const mostNamed = 20;

function some(files: readonly string[]): readonly string[] {
  if (files.length <= mostNamed) return files;
  const others = files.length - mostNamed + 1;
  return [...files.slice(0, mostNamed - 1), `… and ${plural(others, "other file")}`];
}

export function counted({ workflows }: ProjectPlan): { workflows: number; nodes: number } {
  const nodes = workflows.reduce((count, workflow) => count + digestOf(workflow).nodes, 0);
  return { workflows: workflows.length, nodes };
}

/** `sendMail › outline` for a stage that is gone, `invoice` for a workflow with all its stages. */
export function tombstoneNames(left: readonly Tombstones[]): string[] {
  return left.flatMap(({ workflow, stages, nodes = [] }) => {
    const names = new Set([...stages, ...nodes.map(({ name }) => name)]);
    return names.size === 0 ? [workflow] : [...names].map((name) => `${workflow} › ${name}`);
  });
}
