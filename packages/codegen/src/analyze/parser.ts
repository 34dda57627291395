import type { CodeName } from "../diagnostics/codes.js";
import { diagnostic, placeAt } from "../diagnostics/diagnostic.js";
import type { Diagnostic, Place, Related } from "../diagnostics/diagnostic.js";
import { exportsOf, type Import, importsOf } from "./modules.js";
import { type Node, ts, type TypeScript } from "../typescript.js";
import type { SourceText } from "../discover/discover.js";
import { AppModules, type Module } from "./app-modules.js";
import { allBelow, bareSource, placeOf } from "./descendants.js";
import { tooDeep } from "./depth.js";

export interface DefinitionFile {
  readonly file: string;
  /** Where its relative imports begin: the file itself, or what it is a link to. */
  readonly origin: string;
  readonly source: TypeScript.SourceFile;
  readonly imports: ReadonlyMap<string, Import>;
  readonly exports: ReadonlyMap<string, readonly string[]>;
  /** The other files of the app, from where names and parts of definitions may come. */
  readonly modules: AppModules;
  /** Another file from which a part of a definition comes. What is wrong in it is reported here. */
  of(module: Module): DefinitionFile;
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

/** @param reported gets what is reported */
export function definitionFile(
  file: string,
  source: TypeScript.SourceFile,
  origin = file,
  modules = noModules,
  reported: Diagnostic[] = [],
): DefinitionFile {
  const others = new Map<Module, DefinitionFile>();
  const own: DefinitionFile = {
    file,
    origin,
    source,
    imports: importsOf(source),
    exports: exportsOf(source),
    modules,
    of(module) {
      if (module.source === source) return own;
      const known = others.get(module);
      if (known !== undefined) return known;
      const made = definitionFile(module.file, module.source, module.file, modules, reported);
      others.set(module, made);
      return made;
    },
    placeOf: (node) => placeOf(node, source),
    report: (name, at, ...text) => void reported.push(diagnostic(name, placeOf(at), ...text)),
    takeDiagnostics: () => reported.splice(0),
  };
  return own;
}

/** The tree of a file that is read alone. */
const noModules = new AppModules(() => undefined, new Map());

/** A file together with the others of the app. */
export const among = (file: DefinitionFile, modules: AppModules): DefinitionFile =>
  definitionFile(file.file, file.source, file.origin, modules);

export interface ParsedFile {
  readonly text: string;
  readonly origin: string | undefined;
  readonly errors: readonly Diagnostic[];
  readonly file?: DefinitionFile;
}

/** Parses by syntax alone, without a program or type checker, and remembers unchanged files. */
export class Parser {
  readonly #parsed = new Map<string, ParsedFile>();

  parse({ file, text, origin }: SourceText): ParsedFile {
    const known = this.#parsed.get(file);
    if (known?.text === text && known.origin === origin) return known;
    const source = bareSource(file, text);
    const errors = source === undefined ? [tooDeep({ file, text })] : syntaxErrors(source, file);
    const found =
      source !== undefined && errors.length === 0
        ? { file: definitionFile(file, source, origin) }
        : {};
    const parsed: ParsedFile = { text, origin, errors, ...found };
    this.#parsed.set(file, parsed);
    return parsed;
  }

  forgetAllBut(files: ReadonlySet<string>): void {
    for (const file of this.#parsed.keys()) if (!files.has(file)) this.#parsed.delete(file);
  }

  /** Lets go of a file. What was given of it is still good, and goes when nobody holds it. */
  release(file: string): void {
    this.#parsed.delete(file);
  }
}

interface ParseError {
  readonly start: number;
  readonly length: number;
  readonly messageText: string | { readonly messageText: string };
}

/** Returns what the parser found wrong. It marks the nodes; only a program tells what it was. */
export function parseErrors(source: TypeScript.SourceFile): readonly ParseError[] {
  if (!allBelow(source).some(({ flags }) => flags & ts.NodeFlags.ThisNodeHasError)) return [];
  const options = { noLib: true, noResolve: true, allowJs: true, types: [] };
  const host: TypeScript.CompilerHost = {
    getSourceFile: (name) => (name === source.fileName ? source : undefined),
    fileExists: (name) => name === source.fileName,
    readFile: () => undefined,
    writeFile: () => undefined,
    getDefaultLibFileName: () => "",
    getCurrentDirectory: () => "",
    getCanonicalFileName: (name) => name,
    useCaseSensitiveFileNames: () => true,
    getNewLine: () => "\n",
  };
  return ts.createProgram([source.fileName], options, host).getSyntacticDiagnostics(source);
}

/** Only the first: those that follow in the same file are mostly its echo. */
function syntaxErrors(source: TypeScript.SourceFile, file: string): Diagnostic[] {
  const [first] = [...parseErrors(source), ...unreadableModules(source)];
  if (first === undefined) return [];
  const { start, length, messageText } = first;
  const text = typeof messageText === "string" ? messageText : messageText.messageText;
  const place = placeAt(file, source.text, start, length);
  const message = `${file} does not parse: ${text.replace(/\.$/, "")}`;
  const hint = "correct this first; the definitions of this file are checked once it parses";
  return [diagnostic("syntaxError", place, message, hint)];
}

/** The parser takes any expression as a module name; only the checker would refuse it. */
function unreadableModules(source: TypeScript.SourceFile): ParseError[] {
  return source.statements.flatMap((statement): ParseError[] => {
    if (!ts.isImportDeclaration(statement) && !ts.isExportDeclaration(statement)) return [];
    const { moduleSpecifier } = statement;
    if (moduleSpecifier === undefined || ts.isStringLiteral(moduleSpecifier)) return [];
    const start = moduleSpecifier.getStart(source);
    return [{ start, length: moduleSpecifier.end - start, messageText: "String literal expected" }];
  });
}
