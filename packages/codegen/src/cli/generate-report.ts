import pc from "picocolors";
import type { CompileResult, Written } from "../compile.js";
import { formatDiagnostic } from "../diagnostics/format.js";
import type { Diagnostic } from "../diagnostics/diagnostic.js";
import type { ProjectPlan } from "../plan/schema.js";
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
  const lines = [
    ...written.written.map((file) => `${colors.green("wrote")} ${path(file)}`),
    ...written.removed.map((file) => `${colors.red("removed")} ${path(file)}`),
  ];
  if (result.plan.workflows.length === 0) {
    const none = `No workflow found: none of ${path("**/*.workflow.ts")} calls defineWorkflow().`;
    return [...lines, none].join("\n");
  }
  const changes = lines.length === 0 ? colors.dim(" Everything is up to date.") : "";
  return [...lines, `${countsText(counted(result.plan), elapsedMs)}${changes}`].join("\n");
}

export function counted({ workflows }: ProjectPlan): { workflows: number; nodes: number } {
  const nodes = workflows.reduce((count, workflow) => count + workflow.nodes.length, 0);
  return { workflows: workflows.length, nodes };
}
