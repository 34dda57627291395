import pc from "picocolors";
import type { CompileResult, Written } from "../compile.js";
import { formatDiagnostic } from "../diagnostics/format.js";
import type { Diagnostic } from "../diagnostics/diagnostic.js";
import { digestOf } from "../plan/digest.js";
import type { ProjectPlan } from "../plan/schema.js";
import { leftNames } from "./check-report.js";
import { countsText, plural } from "./counts.js";
import { printTo, type Terminal } from "./terminal.js";

/** Prints all problems, and how many there are. */
export function printDiagnostics(
  { diagnostics }: { readonly diagnostics: readonly Diagnostic[] },
  folder: string,
  terminal: Terminal,
): void {
  if (diagnostics.length === 0) return;
  const print = printTo(terminal);
  const prefix = folder === "." ? "" : `${folder}/`;
  for (const diagnostic of diagnostics)
    print.err(`${formatDiagnostic(diagnostic, { color: terminal.color, prefix })}\n`);
  const errors = diagnostics.filter(({ severity }) => severity === "error").length;
  const warnings = diagnostics.length - errors;
  const counts = [
    ...(errors > 0 ? [plural(errors, "error")] : []),
    ...(warnings > 0 ? [plural(warnings, "warning")] : []),
  ];
  print.err(`${counts.join(", ")}.${errors > 0 ? " Nothing was written." : ""}`);
}

/** A tool that reads places has the sources. */
export function withoutFrames({
  code,
  severity,
  message,
  place,
  hint,
  ...rest
}: Diagnostic): Diagnostic {
  const related = rest.related.map((each) => ({ message: each.message, place: each.place }));
  return { code, severity, message, place, hint, related };
}

/** What was written, of how much, and how long it took. */
export function report(
  result: CompileResult,
  written: Written,
  folder: string,
  elapsedMs: number,
  terminal: Terminal,
): string {
  const colors = pc.createColors(terminal.color);
  const path = (file: string) => (folder === "." ? file : `${folder}/${file}`);
  const left = leftNames(result.plan.removed ?? []);
  const lines = [
    ...some(written.written.map(path)).map((file) => `${colors.green("wrote")} ${file}`),
    ...some(written.removed.map(path)).map((file) => `${colors.red("removed")} ${file}`),
  ];
  if (lines.length > 0 && left.length > 0)
    lines.push(colors.dim(`kept for runs in flight: ${left.join(", ")} (see check --drop)`));
  if (result.plan.workflows.length === 0) {
    return [...lines, noWorkflow(folder)].join("\n");
  }
  const changes = lines.length === 0 ? colors.dim(" Everything is up to date.") : "";
  return [...lines, `${countsText(counted(result.plan), elapsedMs)}${changes}`].join("\n");
}

export function noWorkflow(folder: string): string {
  const files = folder === "." ? "**/*.workflow.ts" : `${folder}/**/*.workflow.ts`;
  return `No workflow found: none of ${files} calls defineWorkflow(). To begin with one: workflow-codegen init.`;
}

/** How many files are named; of more, the rest is counted. */
const mostNamed = 20;

function some(files: readonly string[]): string[] {
  if (files.length <= mostNamed) return [...files];
  return [
    ...files.slice(0, mostNamed - 1),
    `… and ${plural(files.length - mostNamed + 1, "other file")}`,
  ];
}

export function counted({ workflows }: ProjectPlan): { workflows: number; nodes: number } {
  const nodes = workflows.reduce((count, workflow) => count + digestOf(workflow).nodes, 0);
  return { workflows: workflows.length, nodes };
}
