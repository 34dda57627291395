import type { SourceFile } from "ts-morph";
import { Project, ScriptTarget, ts } from "../ts-morph.js";
import { diagnostic, type Diagnostic } from "../diagnostics/diagnostic.js";
import type { SourceText } from "../discover/discover.js";
import { tooDeep, unlessTooDeep } from "./descendants.js";
import { definitionFile, placeAt, type DefinitionFile } from "./definition-file.js";

export interface ParsedFile {
  readonly text: string;
  readonly origin: string | undefined;
  readonly source: SourceFile;
  readonly errors: readonly Diagnostic[];
  readonly file?: DefinitionFile;
}

/** Parses by syntax alone, without a program or type checker, and remembers unchanged files. */
export class Parser {
  readonly #projects = new Projects();
  readonly #parsed = new Map<string, ParsedFile>();

  parse({ file, text, origin }: SourceText): ParsedFile {
    const known = this.#parsed.get(file);
    if (known?.text === text && known.origin === origin) return known;
    known?.source.forget();
    const parse = (of: string) =>
      this.#projects.next().createSourceFile(`/${file}`, of, { overwrite: true });
    const whole = unlessTooDeep(() => parse(text));
    const source = whole ?? parse("");
    const errors = whole === undefined ? [tooDeep(file, text)] : syntaxErrors(source, file);
    const parsed: ParsedFile = {
      text,
      origin,
      source,
      errors,
      file: errors.length > 0 ? undefined : definitionFile(file, source, origin),
    };
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

/** A project holds on to all files read in it, so there are several: each can be released. */
class Projects {
  #project: InstanceType<typeof Project> | undefined;
  #files = 0;

  next(): InstanceType<typeof Project> {
    if (this.#files++ % 32 === 0) this.clear();
    this.#project ??= new Project({
      useInMemoryFileSystem: true,
      skipLoadingLibFiles: true,
      compilerOptions: { noLib: true, noResolve: true, target: ScriptTarget.ES2022 },
    });
    return this.#project;
  }

  clear(): void {
    this.#project = undefined;
  }
}

interface ParseError {
  readonly start: number;
  readonly length: number;
  readonly messageText: string | { readonly messageText: string };
}

/** Only the first: those that follow in the same file are mostly its echo. */
function syntaxErrors(source: SourceFile, file: string): Diagnostic[] {
  // The parser keeps its errors on the node; the public way builds a whole program first.
  const { parseDiagnostics = [] } = source.compilerNode as unknown as {
    parseDiagnostics?: ParseError[];
  };
  const [first] = [...parseDiagnostics, ...unreadableModules(source)];
  if (first === undefined) return [];
  const { start, length, messageText } = first;
  const text = typeof messageText === "string" ? messageText : messageText.messageText;
  const place = placeAt(source, file, start, length);
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
