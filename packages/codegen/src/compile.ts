import { join } from "node:path";
import type { Analyzer } from "./analyze/analyze.js";
import { check } from "./check/check.js";
import { compareDiagnostics, type Diagnostic } from "./diagnostics/diagnostic.js";
import { frameOf } from "./diagnostics/format.js";
import { discover, readText, type SourceText } from "./discover/discover.js";
import { emit, type GeneratedFile } from "./emit/emit.js";
import type { ProjectPlan } from "./plan/schema.js";

export { driftOf, writeGenerated, WriteRefused, type Written } from "./write/write-generated.js";
export type { GeneratedFile } from "./emit/emit.js";

export interface CompileOptions {
  /** Absolute path of the app's functions folder, usually `convex`. */
  readonly functionsDir: string;
}

export interface CompileResult {
  readonly plan: ProjectPlan;
  /** In the order of files and places. */
  readonly diagnostics: Diagnostic[];
  /** What belongs into the functions folder; nothing when there are errors. */
  readonly files: GeneratedFile[];
  /** Whether there are no errors. */
  readonly ok: boolean;
  /** What was compiled. */
  readonly sources: readonly SourceText[];
  /** The files that were looked into besides the definitions, with what they held; undefined for those that are not there. */
  readonly consulted: ReadonlyMap<string, string | undefined>;
}

/** Compiles the definitions of an app; writes nothing. See docs/compiler.md for the passes. */
export async function compile({ functionsDir }: CompileOptions): Promise<CompileResult> {
  return new Compiler().compile({ functionsDir });
}

/** The same, from texts. */
export async function compileSources(sources: readonly SourceText[]): Promise<CompileResult> {
  return new Compiler().compileSources(sources);
}

/** Compiles again and again, and only analyses what has changed in between. */
export class Compiler {
  #analyzer: Analyzer | undefined;

  compile({ functionsDir }: CompileOptions): Promise<CompileResult> {
    return this.compileSources(discover(functionsDir), (file) =>
      readText(join(functionsDir, file)),
    );
  }

  /** @param read gives the other files of the functions folder, by their path in it; undefined for those that are not there */
  async compileSources(
    sources: readonly SourceText[],
    read: (file: string) => string | undefined = () => undefined,
  ): Promise<CompileResult> {
    const nothing = { plan: { workflows: [] }, diagnostics: [], files: [], ok: true };
    if (sources.length === 0) return { ...nothing, sources, consulted: new Map() };
    // Loading ts-morph takes longer than compiling: only where there is something to parse.
    const { Analyzer } = await import("./analyze/analyze.js");
    this.#analyzer ??= new Analyzer();
    const consulted = new Map(sources.map(({ file, text }) => [file, text as string | undefined]));
    const { workflows, diagnostics: unread } = this.#analyzer.analyze(sources, (file) => {
      if (!consulted.has(file)) consulted.set(file, read(file));
      return consulted.get(file);
    });
    for (const { file } of sources) consulted.delete(file);
    const plan: ProjectPlan = { workflows };
    const diagnostics = [...unread, ...check(plan)]
      .map((diagnostic) => withFrames(diagnostic, sources))
      .sort(compareDiagnostics);
    const ok = diagnostics.every(({ severity }) => severity !== "error");
    const files = ok ? emit(plan) : [];
    return { plan, diagnostics, files, ok, sources, consulted };
  }
}

function withFrames(diagnostic: Diagnostic, sources: readonly SourceText[]): Diagnostic {
  const frame = (place: Diagnostic["place"]) => {
    const source = sources.find(({ file }) => file === place.file);
    return source && frameOf(source.text, place);
  };
  const related = diagnostic.related.map((each) => ({ ...each, frame: frame(each.place) }));
  return { ...diagnostic, frame: frame(diagnostic.place), related };
}
