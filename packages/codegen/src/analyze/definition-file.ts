import { Node, Project, ScriptTarget, type SourceFile } from "ts-morph";
import type { SourceText } from "../discover/discover.js";
import {
  diagnostic,
  type Diagnostic,
  type DiagnosticDetails,
  type Place,
} from "../diagnostics/diagnostic.js";
import type { CodeName } from "../diagnostics/codes.js";
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
}

/**
 * Parses files by syntax alone: no program, no library, no type checker. Those would cost more than all else together, and
 * every type that generated code needs can be written as an expression over `typeof definition`.
 */
export function parse(sources: readonly SourceText[], diagnostics: Diagnostic[]): DefinitionFile[] {
  const project = new Project({
    useInMemoryFileSystem: true,
    skipLoadingLibFiles: true,
    compilerOptions: { noLib: true, noResolve: true, target: ScriptTarget.ES2022 },
  });
  return sources.flatMap(({ file, text }) => {
    const source = project.createSourceFile(`/${file}`, text);
    const errors = syntaxErrors(source, file);
    diagnostics.push(...errors);
    return errors.length > 0 ? [] : [definitionFile(file, source, diagnostics)];
  });
}

function definitionFile(
  file: string,
  source: SourceFile,
  diagnostics: Diagnostic[],
): DefinitionFile {
  const placeOf = (node: Node): Place => placeAt(source, file, node.getStart(), node.getWidth());
  return {
    file,
    source,
    imports: importsOf(source),
    exports: exportsOf(source),
    placeOf,
    report: (name, node, message, details) => {
      diagnostics.push(diagnostic(name, placeOf(node), message, details));
    },
  };
}

function placeAt(source: SourceFile, file: string, position: number, width: number): Place {
  const { line, column } = source.getLineAndColumnAtPos(position);
  const [firstLine = ""] = source
    .getFullText()
    .slice(position, position + width)
    .split("\n");
  return { file, line, column, length: Math.max(1, firstLine.length) };
}

interface ParseError {
  readonly start: number;
  readonly length: number;
  readonly messageText: string | { readonly messageText: string };
}

/** Only the first: those that follow in the same file are mostly its echo. */
function syntaxErrors(source: SourceFile, file: string): Diagnostic[] {
  // The parser keeps its errors on the node, but the public way to them builds a whole program first.
  const { parseDiagnostics = [] } = source.compilerNode as unknown as {
    parseDiagnostics?: ParseError[];
  };
  return parseDiagnostics.slice(0, 1).map(({ start, length, messageText }) => {
    const text = typeof messageText === "string" ? messageText : messageText.messageText;
    const place = placeAt(source, file, start, length);
    return diagnostic("syntaxError", place, `${file} does not parse: ${text.replace(/\.$/, "")}`, {
      hint: "correct this first; the definitions of this file are checked once it parses",
    });
  });
}
