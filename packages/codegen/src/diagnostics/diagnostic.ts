import { codes, type CodeName } from "./codes.js";

/** A place in a file under the functions folder; lines and columns are counted from 1. */
export interface Place {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  /** How many characters the code frame underlines, within the line. */
  readonly length?: number;
}

/** Lines of a source file around a place. */
export interface Frame {
  readonly firstLine: number;
  readonly lines: readonly string[];
}

/** One problem in a definition, with all that is needed to print it. */
export interface Diagnostic {
  /** Stable, such as `SW1001`. */
  readonly code: string;
  readonly severity: "error" | "warning";
  readonly message: string;
  readonly place: Place;
  /** What to write instead. */
  readonly hint?: string;
  /** Other places that the problem is made of, such as the first of two nodes with one name. */
  readonly related: readonly (Related & { readonly frame?: Frame })[];
  readonly frame?: Frame;
}

/** Another place that a problem is made of. */
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

/** A name or a text of the user's, as it stands in messages. */
export const quote = (text: string): string => JSON.stringify(text);

/** In the order of the files and of the places in them. */
export function compareDiagnostics(a: Diagnostic, b: Diagnostic): number {
  if (a.place.file !== b.place.file) return a.place.file < b.place.file ? -1 : 1;
  if (a.place.line !== b.place.line) return a.place.line - b.place.line;
  if (a.place.column !== b.place.column) return a.place.column - b.place.column;
  return a.code < b.code ? -1 : a.code > b.code ? 1 : 0;
}
