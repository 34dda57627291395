import type { Diagnostic } from "../diagnostics/diagnostic.js";
import { formatDiagnostic } from "../diagnostics/format.js";
import { plural } from "./counts.js";
import { inFolder } from "./functions-folder.js";
import { printTo, type Terminal } from "./terminal.js";

/** What is said beside errors that stop only some of the workflows. */
export const restIsWritten = "Only what is without errors is written.";

export function printDiagnostics(
  diagnostics: readonly Diagnostic[],
  folder: string,
  terminal: Terminal,
  withErrors = "Nothing was written.",
): void {
  if (diagnostics.length === 0) return;
  const { err } = printTo(terminal);
  const options = { color: terminal.color, prefix: inFolder(folder, "") };
  for (const diagnostic of diagnostics) err(`${formatDiagnostic(diagnostic, options)}\n`);
  const errors = diagnostics.filter(({ severity }) => severity === "error").length;
  const warnings = diagnostics.length - errors;
  const counts = [errors && plural(errors, "error"), warnings && plural(warnings, "warning")];
  err(`${counts.filter(Boolean).join(", ")}.${errors > 0 ? ` ${withErrors}` : ""}`);
}
