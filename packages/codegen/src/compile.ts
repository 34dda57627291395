import { check } from "./check/check.js";
import { compareDiagnostics, type Diagnostic } from "./diagnostics/diagnostic.js";
import { frameOf } from "./diagnostics/format.js";
import { discover, type SourceText } from "./discover/discover.js";
import { emit, type GeneratedFile } from "./emit/emit.js";
import type { ProjectPlan } from "./plan/schema.js";

export { writeGenerated, WriteRefused, type Written } from "./write/write-generated.js";
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
}

/** Compiles the definitions of an app; writes nothing. See docs/compiler.md for the passes. */
export async function compile({ functionsDir }: CompileOptions): Promise<CompileResult> {
  return compileSources(await discover(functionsDir));
}

/** The same, from texts. */
export async function compileSources(sources: readonly SourceText[]): Promise<CompileResult> {
  if (sources.length === 0)
    return { plan: { workflows: [] }, diagnostics: [], files: [], ok: true };
  // Loading ts-morph takes longer than compiling: only where there is something to parse.
  const { analyze } = await import("./analyze/analyze.js");
  const { workflows, diagnostics: unread } = analyze(sources);
  const plan: ProjectPlan = { workflows };
  const diagnostics = [...unread, ...check(plan)]
    .map((diagnostic) => withFrames(diagnostic, sources))
    .sort(compareDiagnostics);
  const ok = diagnostics.every(({ severity }) => severity !== "error");
  return { plan, diagnostics, files: ok ? emit(plan) : [], ok };
}

function withFrames(diagnostic: Diagnostic, sources: readonly SourceText[]): Diagnostic {
  const frame = (place: Diagnostic["place"]) => {
    const source = sources.find(({ file }) => file === place.file);
    return source && frameOf(source.text, place);
  };
  const related = diagnostic.related.map((each) => ({ ...each, frame: frame(each.place) }));
  return { ...diagnostic, frame: frame(diagnostic.place), related };
}
