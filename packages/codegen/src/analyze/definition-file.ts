import type { Node, SourceFile } from "ts-morph";
import type { CodeName } from "../diagnostics/codes.js";
import {
  diagnostic,
  type Diagnostic,
  type DiagnosticDetails,
  type Place,
} from "../diagnostics/diagnostic.js";
import { exportsOf, importsOf, type Import } from "./modules.js";

/** One parsed file, and what its names stand for. */
export interface DefinitionFile {
  readonly file: string;
  readonly source: SourceFile;
  /** By local name. */
  readonly imports: ReadonlyMap<string, Import>;
  /** The names under which a local name is exported. */
  readonly exports: ReadonlyMap<string, readonly string[]>;
  placeOf(node: Node): Place;
  report(name: CodeName, node: Node, message: string, details?: DiagnosticDetails): void;
  /** What was reported since this was asked the last time. */
  takeDiagnostics(): Diagnostic[];
}

export function definitionFile(file: string, source: SourceFile): DefinitionFile {
  const placeOf = (node: Node): Place => placeAt(source, file, node.getStart(), node.getWidth());
  let reported: Diagnostic[] = [];
  return {
    file,
    source,
    imports: importsOf(source),
    exports: exportsOf(source),
    placeOf,
    report: (name, node, message, details) => {
      reported.push(diagnostic(name, placeOf(node), message, details));
    },
    takeDiagnostics: () => {
      const taken = reported;
      reported = [];
      return taken;
    },
  };
}

export function placeAt(source: SourceFile, file: string, position: number, width: number): Place {
  // By the table of lines that the parser keeps: the wrapped file counts them anew every time.
  const { line, character } = source.compilerNode.getLineAndCharacterOfPosition(position);
  const lineEnd = source.compilerNode.text.indexOf("\n", position);
  const length = lineEnd < 0 ? width : Math.min(width, lineEnd - position);
  return { file, line: line + 1, column: character + 1, length: Math.max(1, length) };
}
