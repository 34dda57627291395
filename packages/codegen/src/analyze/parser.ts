import type { SourceFile } from "ts-morph";
import { Project, ScriptTarget, ts } from "../ts-morph.js";
import { diagnostic, type Diagnostic } from "../diagnostics/diagnostic.js";
import type { SourceText } from "../discover/discover.js";
import { tooDeep, unlessTooDeep } from "./depth.js";
import { definitionFile, placeAt, type DefinitionFile } from "./definition-file.js";

/** A file that parses, or its syntax errors. */
export interface ParsedFile {
  readonly text: string;
  readonly origin: string | undefined;
  readonly source: SourceFile;
  readonly errors: readonly Diagnostic[];
  readonly file?: DefinitionFile;
}

/**
 * Parses files by syntax alone: no program, no library, no type checker. Those would cost more than all else together, and
 * every type that generated code needs can be written as an expression over `typeof definition`. It remembers what it parsed:
 * a file whose text is the same is the same `DefinitionFile`.
 */
export class Parser {
  readonly #projects = new Projects();
  readonly #parsed = new Map<string, ParsedFile>();

  /** A file, or what is wrong with it. */
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

  /** Forgets all files but these. */
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

/**
 * A project of ts-morph holds on to all that was read in it. So there are several, and when nobody holds a file of one of them any
 * more, all of that one can go.
 */
class Projects {
  #project: InstanceType<typeof Project> | undefined;
  #files = 0;

  /** The one for another file. */
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
  // The parser keeps its errors on the node, but the public way to them builds a whole program first.
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

/** The parser takes any expression for a module's name; that it is a string is left to the checker, which is not asked here. */
function unreadableModules(source: SourceFile): ParseError[] {
  return source.compilerNode.statements.flatMap((statement): ParseError[] => {
    if (!ts.isImportDeclaration(statement) && !ts.isExportDeclaration(statement)) return [];
    const { moduleSpecifier } = statement;
    if (moduleSpecifier === undefined || ts.isStringLiteral(moduleSpecifier)) return [];
    const start = moduleSpecifier.getStart(source.compilerNode);
    return [{ start, length: moduleSpecifier.end - start, messageText: "String literal expected" }];
  });
}
