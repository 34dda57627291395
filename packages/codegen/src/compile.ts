import { join } from "node:path";
import type { Analyzer } from "./analyze/analyze.js";
import { check } from "./check/check.js";
import { compareDiagnostics, type Diagnostic } from "./diagnostics/diagnostic.js";
import { frameOf } from "./diagnostics/format.js";
import { discover, readText, type SourceText } from "./discover/discover.js";
import { emit, type GeneratedFile } from "./emit/emit.js";
import { leftoversOf } from "./plan/leftovers.js";
import { outputFolder } from "./plan/paths.js";
import type { ProjectPlan, WrittenPlan } from "./plan/schema.js";
import { oneSideOf } from "./write/own-files.js";

export { driftOf, writeGenerated, WriteRefused, type Written } from "./write/write-generated.js";
export type { GeneratedFile } from "./emit/emit.js";

export interface CompileOptions {
  /** Absolute path of the app's functions folder, usually `convex`. */
  readonly functionsDir: string;
  /**
   * Whether what earlier versions left behind is dropped: functions of stages and workflows that are gone, at which runs may still be.
   * Default: false.
   */
  readonly drop?: boolean;
  /** The plan that was written last. Default: the one in the output folder. */
  readonly before?: WrittenPlan;
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
export async function compile(options: CompileOptions): Promise<CompileResult> {
  return new Compiler({ once: true }).compile(options);
}

/** The same, from texts; `before` is the plan that was written last. */
export async function compileSources(
  sources: readonly SourceText[],
  before?: WrittenPlan,
): Promise<CompileResult> {
  return new Compiler({ once: true }).compileSources(sources, undefined, before);
}

/** Compiles again and again, and only analyses what has changed in between. */
export class Compiler {
  readonly #once: boolean;
  #analyzer: Analyzer | undefined;

  /** @param options.once whether it compiles only once, and so need not remember what it has read. Default: false */
  constructor({ once = false }: { readonly once?: boolean } = {}) {
    this.#once = once;
  }

  async compile({ functionsDir, drop = false, before }: CompileOptions): Promise<CompileResult> {
    const read = (file: string) => readText(join(functionsDir, file));
    const sources = discover(functionsDir);
    const then = drop ? undefined : (before ?? (await writtenLast(functionsDir)));
    return this.compileSources(sources, read, then);
  }

  /**
   * @param read gives the other files of the functions folder, by their path in it; undefined for those that are not there
   * @param before the plan that was written last: what is gone since is left behind
   */
  async compileSources(
    sources: readonly SourceText[],
    read: (file: string) => string | undefined = () => undefined,
    before?: WrittenPlan,
  ): Promise<CompileResult> {
    const nothing = { diagnostics: [], ok: true, sources, consulted: new Map() };
    if (sources.length === 0) {
      const plan: ProjectPlan = { workflows: [], removed: leftoversOf(before, []) };
      return { ...nothing, plan, files: emit(plan) };
    }
    // Loading ts-morph takes longer than compiling: only where there is something to parse.
    const { Analyzer } = await import("./analyze/analyze.js");
    this.#analyzer ??= new Analyzer(this.#once);
    const consulted = new Map(sources.map(({ file, text }) => [file, text as string | undefined]));
    const { workflows, diagnostics: unread } = this.#analyzer.analyze(sources, (file) => {
      if (!consulted.has(file)) consulted.set(file, read(file));
      return consulted.get(file);
    });
    for (const { file } of sources) consulted.delete(file);
    const plan: ProjectPlan = { workflows, removed: leftoversOf(before, workflows) };
    const diagnostics = [...unread, ...check(plan)]
      .map((diagnostic) => withFrames(diagnostic, sources))
      .sort(compareDiagnostics);
    const ok = diagnostics.every(({ severity }) => severity !== "error");
    const files = ok ? emit(plan) : [];
    return { plan, diagnostics, files, ok, sources, consulted };
  }
}

/** The plan in the output folder. One that cannot be read says nothing of what is gone. */
export async function writtenLast(functionsDir: string): Promise<WrittenPlan | undefined> {
  const path = `${outputFolder}/plan.json`;
  const text = readText(join(functionsDir, path));
  if (text === undefined) return undefined;
  // It brings along a library that takes its time, and a new app has no plan to read.
  const { PlanUnreadable, readPlan } = await import("./plan/read.js");
  try {
    return readPlan(oneSideOf(text), path);
  } catch (error) {
    if (error instanceof PlanUnreadable) return undefined;
    throw error;
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
