import type { Node, SourceFile, ts } from "ts-morph";
import type { CodeName } from "../diagnostics/codes.js";
import {
  diagnostic,
  type Diagnostic,
  type Place,
  type Related,
} from "../diagnostics/diagnostic.js";
import { exportsOf, importsOf, type Import } from "./modules.js";

/** One parsed file, and what its names stand for. */
export interface DefinitionFile {
  readonly file: string;
  /** Where its relative imports begin: the file itself, or what it is a link to. */
  readonly origin: string;
  readonly source: SourceFile;
  readonly imports: ReadonlyMap<string, Import>;
  /** The names under which a local name is exported. */
  readonly exports: ReadonlyMap<string, readonly string[]>;
  placeOf(node: Node): Place;
  report(name: CodeName, at: Node, message: string, hint?: string, ...related: Related[]): void;
  /** What was reported since this was asked the last time. */
  takeDiagnostics(): Diagnostic[];
}

export function definitionFile(file: string, source: SourceFile, origin = file): DefinitionFile {
  const placeOf = (node: Node): Place => placeAt(source, file, node.getStart(), node.getWidth());
  let reported: Diagnostic[] = [];
  return {
    file,
    origin,
    source,
    imports: importsOf(source.compilerNode),
    exports: exportsOf(source),
    placeOf,
    report: (name, at, ...text) => void reported.push(diagnostic(name, placeOf(at), ...text)),
    takeDiagnostics: () => {
      const taken = reported;
      reported = [];
      return taken;
    },
  };
}

export function placeAt(source: SourceFile, file: string, position: number, width: number): Place {
  const ends = lineEndsOf(source.compilerNode);
  // The first line that does not end before the position.
  let line = 0;
  for (let high = ends.length; line < high;) {
    const middle = (line + high) >> 1;
    if ((ends[middle] ?? 0) < position) line = middle + 1;
    else high = middle;
  }
  const column = position - (ends[line - 1] ?? -1);
  const length = Math.min(width, (ends[line] ?? position + width) - position);
  return { file, line: line + 1, column, length: Math.max(1, length) };
}

/** Where the lines of a file end, counted once: every option of every node has its place. */
function lineEndsOf(source: ts.SourceFile): readonly number[] {
  const known = lineEnds.get(source);
  if (known !== undefined) return known;
  const ends: number[] = [];
  for (let at = source.text.indexOf("\n"); at >= 0; at = source.text.indexOf("\n", at + 1))
    ends.push(at);
  lineEnds.set(source, ends);
  return ends;
}

const lineEnds = new WeakMap<ts.SourceFile, readonly number[]>();
