import { colorsIf } from "./colors.js";
import type { Diagnostic, Frame, Place } from "./diagnostic.js";
import { printable } from "./printable.js";

/** How a diagnostic is printed. */
export interface FormatOptions {
  readonly color: boolean;
  /** A prefix for file names, such as `convex/`. Default: none. */
  readonly prefix?: string;
}

/** A diagnostic as text: what is wrong, where, the lines in question, what to write instead. */
export function formatDiagnostic(diagnostic: Diagnostic, options: FormatOptions): string {
  const colors = colorsIf(options.color);
  const paint = diagnostic.severity === "error" ? colors.red : colors.yellow;
  const at = (place: Place) =>
    colors.cyan(printable(`${options.prefix ?? ""}${place.file}:${place.line}:${place.column}`));
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
  lines.push(`  ${colors.dim("more")}: workflow-codegen explain ${diagnostic.code}`);
  return lines.join("\n");
}

export function frameOf(text: string, place: Place): Frame {
  const firstLine = Math.max(1, place.line - 1);
  return { firstLine, lines: text.split("\n").slice(firstLine - 1, place.line) };
}

/** How many characters of a source line a frame shows. */
const maxWidth = 120;
/** How many of them stand before the place, in a line that is cut. */
const before = 40;

function codeFrame(place: Place, frame: Frame | undefined, paint: (text: string) => string) {
  if (frame === undefined) return [];
  const gutter = String(place.line).length;
  const window = windowOf(frame.lines.at(-1) ?? "", place.column);
  const out: string[] = [];
  for (const [index, source] of frame.lines.entries()) {
    const number = frame.firstLine + index;
    const shown = cut(source, window);
    if (number !== place.line && shown.replace(/[\s…]/g, "") === "") continue;
    out.push(`  ${String(number).padStart(gutter)} | ${printable(shown)}`.trimEnd());
    if (number !== place.line) continue;
    const room = Math.min(source.length, window.end) - place.column + 1;
    const length = Math.max(1, Math.min(place.length ?? 1, room));
    // Tabs are kept in front of the mark, so that it stands under its text at any tab width.
    const lead = (window.start > 0 ? "…" : "") + source.slice(window.start, place.column - 1);
    out.push(
      `  ${" ".repeat(gutter)} | ${lead.replace(/[^\t]/g, " ")}${paint("^".repeat(length))}`,
    );
  }
  return out;
}

type Window = ReturnType<typeof windowOf>;

/** The part of a frame's lines that is shown: all of a line, or what is around the place. */
function windowOf(line: string, column: number) {
  if (line.length <= maxWidth) return { start: 0, end: maxWidth };
  const start = Math.max(0, Math.min(column - 1 - before, line.length - maxWidth));
  return { start, end: start + maxWidth };
}

function cut(line: string, { start, end }: Window): string {
  const shown = line.slice(start, end);
  return `${start > 0 ? "…" : ""}${shown}${line.length > end ? "…" : ""}`;
}
