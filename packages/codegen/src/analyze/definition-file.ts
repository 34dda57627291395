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
  const { line, column } = source.getLineAndColumnAtPos(position);
  const [firstLine = ""] = source
    .getFullText()
    .slice(position, position + width)
    .split("\n");
  return { file, line, column, length: Math.max(1, firstLine.length) };
}
