import type { Node, SourceFile } from "ts-morph";
import type { CodeName } from "../diagnostics/codes.js";
import { diagnostic, placeAt } from "../diagnostics/diagnostic.js";
import type { Diagnostic, Place, Related } from "../diagnostics/diagnostic.js";
import { exportsOf, type Import, importsOf } from "./modules.js";
import { Project, ScriptTarget, ts } from "../ts-morph.js";
import type { SourceText } from "../discover/discover.js";
import { tooDeep, unlessTooDeep } from "./descendants.js";

export interface DefinitionFile {
  readonly file: string;
  /** Where its relative imports begin: the file itself, or what it is a link to. */
  readonly origin: string;
  readonly source: SourceFile;
  readonly imports: ReadonlyMap<string, Import>;
  readonly exports: ReadonlyMap<string, readonly string[]>;
  placeOf(node: Node): Place;
  /** @returns undefined, in the place of what cannot be read. */
  report(
    name: CodeName,
    at: Node,
    message: string,
    hint?: string,
    ...related: Related[]
  ): undefined;
  takeDiagnostics(): Diagnostic[];
}

export function definitionFile(file: string, source: SourceFile, origin = file): DefinitionFile {
  const placeOf = (node: Node): Place =>
    placeAt(file, source.getFullText(), node.getStart(), node.getWidth());
  const reported: Diagnostic[] = [];
  return {
    file,
    origin,
    source,
    imports: importsOf(source.compilerNode),
    exports: exportsOf(source.compilerNode),
    placeOf,
    report: (name, at, ...text) => void reported.push(diagnostic(name, placeOf(at), ...text)),
    takeDiagnostics: () => reported.splice(0),
  };
}

export interface ParsedFile {
  readonly text: string;
  readonly origin: string | undefined;
  readonly source: SourceFile;
  readonly errors: readonly Diagnostic[];
  readonly file?: DefinitionFile;
}

/** Parses by syntax alone, without a program or type checker, and remembers unchanged files. */
export class Parser {
  #project = newProject();
  #files = 0;
  readonly #parsed = new Map<string, ParsedFile>();

  parse({ file, text, origin }: SourceText): ParsedFile {
    const known = this.#parsed.get(file);
    if (known?.text === text && known.origin === origin) return known;
    known?.source.forget();
    // A project holds on to all files read in it, so there are several: each can be released.
    if (++this.#files % 32 === 0) this.#project = newProject();
    const parse = (of: string) =>
      this.#project.createSourceFile(`/${file}`, of, { overwrite: true });
    const whole = unlessTooDeep(() => parse(text));
    const source = whole ?? parse("");
    const errors = whole === undefined ? [tooDeep(file, text)] : syntaxErrors(source, file);
    const found = errors.length > 0 ? undefined : definitionFile(file, source, origin);
    const parsed: ParsedFile = { text, origin, source, errors, file: found };
    this.#parsed.set(file, parsed);
    return parsed;
  }

  forgetAllBut(files: ReadonlySet<string>): void {
    for (const [file, { source }] of this.#parsed) {
      if (files.has(file)) continue;
      source.forget();
      this.#parsed.delete(file);
    }
  }

  /** Lets go of a file. What was given of it is still good, and goes when nobody holds it. */
  release(file: string): void {
    this.#parsed.delete(file);
  }
}

const newProject = () =>
  new Project({
    useInMemoryFileSystem: true,
    skipLoadingLibFiles: true,
    compilerOptions: { noLib: true, noResolve: true, target: ScriptTarget.ES2022 },
  });

interface ParseError {
  readonly start: number;
  readonly length: number;
  readonly messageText: string | { readonly messageText: string };
}

/** The parser keeps its errors on the node; the public way builds a whole program first. */
export const parseErrors = ({ compilerNode }: SourceFile): readonly ParseError[] =>
  (compilerNode as { readonly parseDiagnostics?: ParseError[] }).parseDiagnostics ?? [];

/** Only the first: those that follow in the same file are mostly its echo. */
function syntaxErrors(source: SourceFile, file: string): Diagnostic[] {
  const [first] = [...parseErrors(source), ...unreadableModules(source)];
  if (first === undefined) return [];
  const { start, length, messageText } = first;
  const text = typeof messageText === "string" ? messageText : messageText.messageText;
  const place = placeAt(file, source.getFullText(), start, length);
  const message = `${file} does not parse: ${text.replace(/\.$/, "")}`;
  const hint = "correct this first; the definitions of this file are checked once it parses";
  return [diagnostic("syntaxError", place, message, hint)];
}

/** The parser takes any expression as a module name; only the checker would refuse it. */
function unreadableModules(source: SourceFile): ParseError[] {
  return source.compilerNode.statements.flatMap((statement): ParseError[] => {
    if (!ts.isImportDeclaration(statement) && !ts.isExportDeclaration(statement)) return [];
    const { moduleSpecifier } = statement;
    if (moduleSpecifier === undefined || ts.isStringLiteral(moduleSpecifier)) return [];
    const start = moduleSpecifier.getStart(source.compilerNode);
    return [{ start, length: moduleSpecifier.end - start, messageText: "String literal expected" }];
  });
}
