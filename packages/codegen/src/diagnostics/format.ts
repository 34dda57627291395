import pc from "picocolors";
import type { Diagnostic, Frame, Place } from "./diagnostic.js";

/** How a diagnostic is printed. */
export interface FormatOptions {
  readonly color: boolean;
  /** What stands before file names, such as `convex/`. Default: nothing. */
  readonly prefix?: string;
}

/** A diagnostic as text: what is wrong, where, the lines in question, what to write instead. */
export function formatDiagnostic(diagnostic: Diagnostic, options: FormatOptions): string {
  const colors = pc.createColors(options.color);
  const paint = diagnostic.severity === "error" ? colors.red : colors.yellow;
  const at = (place: Place) =>
    colors.cyan(`${options.prefix ?? ""}${place.file}:${place.line}:${place.column}`);
  const lines = [
    `${at(diagnostic.place)} ${paint(`${diagnostic.severity} ${diagnostic.code}`)}: ${printable(diagnostic.message)}`,
    ...codeFrame(diagnostic.place, diagnostic.frame, paint),
  ];
  for (const related of diagnostic.related) {
    lines.push(`  ${at(related.place)}: ${printable(related.message)}`);
    lines.push(...codeFrame(related.place, related.frame, colors.dim));
  }
  if (diagnostic.hint !== undefined)
    lines.push(`  ${colors.green("hint")}: ${printable(diagnostic.hint)}`);
  return lines.join("\n");
}

/** The line before a place, its own, and a mark under it. */
export function frameOf(text: string, place: Place): Frame {
  const firstLine = Math.max(1, place.line - 1);
  return { firstLine, lines: text.split("\n").slice(firstLine - 1, place.line) };
}

function codeFrame(
  place: Place,
  frame: Frame | undefined,
  paint: (text: string) => string,
): string[] {
  if (frame === undefined) return [];
  const gutter = String(place.line).length;
  const out: string[] = [];
  for (const [index, source] of frame.lines.entries()) {
    const number = frame.firstLine + index;
    if (number !== place.line && source.trim() === "") continue;
    out.push(`  ${String(number).padStart(gutter)} | ${printable(source)}`.trimEnd());
    if (number !== place.line) continue;
    const room = source.length - place.column + 1;
    const length = Math.max(1, Math.min(place.length ?? 1, room));
    // Tabs are kept in front of the mark, so that it stands under its text at any tab width.
    const margin = source.slice(0, place.column - 1).replace(/[^\t]/g, " ");
    out.push(`  ${" ".repeat(gutter)} | ${margin}${paint("^".repeat(length))}`);
  }
  return out;
}

/** Control characters could make a terminal show something else than what the file holds. */
function printable(text: string): string {
  return text.replace(/(?![\t\n])\p{Cc}/gu, "\ufffd");
}
