import { codes, type CodeName } from "./codes.js";

/** A place in a file under the functions folder; lines and columns are counted from 1. */
export interface Place {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  /** How many characters the code frame underlines, within the line. */
  readonly length?: number;
}

/** The place of what is about a file as a whole. */
export const startOf = (file: string): Place => ({ file, line: 1, column: 1 });

/** The place of a part of a file's text. It ends with the line that it begins on. */
export function placeAt(file: string, text: string, at: number, width = 1): Place {
  const ends = lineEndsOf(text);
  // The first line that does not end before it.
  let line = 0;
  for (let high = ends.length; line < high;) {
    const middle = (line + high) >> 1;
    if ((ends[middle] ?? 0) < at) line = middle + 1;
    else high = middle;
  }
  const length = Math.max(1, Math.min(width, (ends[line] ?? text.length) - at));
  return { file, line: line + 1, column: at - (ends[line - 1] ?? -1), length };
}

/** Every option of every node has its place, so the lines of a text are counted once. */
function lineEndsOf(text: string): readonly number[] {
  if (counted.text !== text) {
    const ends = [...text.matchAll(/\n/g)].map(({ index }) => index);
    counted = { text, ends };
  }
  return counted.ends;
}

let counted: { readonly text: string; readonly ends: readonly number[] } = { text: "", ends: [] };

export interface Frame {
  readonly firstLine: number;
  readonly lines: readonly string[];
}

export interface Diagnostic {
  /** Stable, such as `SW1002`. */
  readonly code: string;
  readonly severity: "error" | "warning";
  readonly message: string;
  readonly place: Place;
  readonly hint?: string;
  /** Other places of the problem, such as the first of two nodes with the same name. */
  readonly related: readonly (Related & { readonly frame?: Frame })[];
  readonly frame?: Frame;
}

export interface Related {
  readonly message: string;
  readonly place: Place;
}

export function diagnostic(
  name: CodeName,
  place: Place,
  message: string,
  hint?: string,
  ...related: readonly Related[]
): Diagnostic {
  const { code, severity } = codes[name];
  return { code, severity, message, place, hint, related };
}

export const isError = ({ severity }: Diagnostic): boolean => severity === "error";

/** A name or a text of the user's, as it stands in messages. */
export const quote = (text: string): string => JSON.stringify(text);

export function compareDiagnostics(a: Diagnostic, b: Diagnostic): number {
  if (a.place.file !== b.place.file) return a.place.file < b.place.file ? -1 : 1;
  const apart = a.place.line - b.place.line || a.place.column - b.place.column;
  return apart || (a.code < b.code ? -1 : a.code > b.code ? 1 : 0);
}
