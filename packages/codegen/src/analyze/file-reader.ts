import { type Diagnostic, isError } from "../diagnostics/diagnostic.js";
import type { SourceText } from "../discover/discover.js";
import { AppModules, type Module } from "./app-modules.js";
import { among, type DefinitionFile, Parser } from "./parser.js";
import { reportUnseenChains } from "./misuse.js";
import { findDefinitions, type FoundInFile } from "./definitions.js";
import { tooDeep, unlessTooDeep } from "./depth.js";
import { type FileFacts, recording, type Workflows } from "./workflows.js";
import { noting, type ReadModule } from "./module-file.js";
import { moduleEdgesOf, reexportsOf } from "./modules.js";
import { checkRuntime, usedModules } from "./node-runtime.js";
import { workflowPlan } from "./workflow.js";
import type { WorkflowPlan } from "../plan/schema.js";

/** Without what was found if the file is nested too deeply. */
interface FoundFile {
  readonly found?: FoundInFile;
  readonly facts?: FileFacts;
  readonly diagnostics: readonly Diagnostic[];
}

/** From definition files to plans, by syntax alone. Reports what cannot be read, and goes on. */
export class FileReader {
  readonly #parser = new Parser();
  readonly #found = new Map<DefinitionFile, FoundFile>();
  readonly #modules = new Map<string, Module>();

  /** @param once whether it lets go of every file as soon as that is read */
  constructor(private readonly once: boolean) {}

  facts(source: SourceText): { facts?: FileFacts; errors: readonly Diagnostic[] } {
    const { file, errors } = this.#parser.parse(source);
    return file === undefined ? { errors } : { facts: this.#find(file).facts, errors };
  }

  /** @param read gives the other files; each is parsed at most once while it is the same */
  read(source: SourceText, workflows: Workflows, read: ReadModule) {
    const { file, errors } = this.#parser.parse(source);
    const nothingRead = { workflows: [], refused: [], answers: {}, outside: [] };
    if (file === undefined) return { ...nothingRead, diagnostics: errors };
    const { found, diagnostics } = this.#find(file);
    if (found === undefined) return { ...nothingRead, diagnostics };
    const outside = new Set<string>();
    const readOutside = noting(read, outside);
    const modules = new AppModules(readOutside, this.#modules);
    const recorded = recording(workflows);
    const tooDeepHere = () => {
      const others = [...outside].map((path) => ({ file: path, text: read(path) ?? "" }));
      return tooDeep(source, ...others);
    };
    const view = among(file, modules);
    const whole = unlessTooDeep(() => {
      const used = found.locals.size === 0 ? [] : usedModules(file, readOutside);
      reportUnseenChains(view, found, recorded.workflows, diagnostics.length > 0);
      return checkRuntime(source.file, source.text, used, readOutside);
    });
    const ofFile = whole ?? [tooDeepHere()];
    const all = [...ofFile, ...diagnostics, ...view.takeDiagnostics()];
    const plans: WorkflowPlan[] = [];
    const refused: WorkflowPlan[] = [];
    for (const each of found.definitions) {
      const plan = unlessTooDeep(() => workflowPlan(each, recorded.workflows, view));
      const reported = view.takeDiagnostics();
      const own = plan === undefined ? [tooDeepHere()] : reported;
      all.push(...own);
      const isBroken = [...ofFile, ...own].some(isError);
      if (plan !== undefined) (each.isRefused ? refused : plans).push({ ...plan, isBroken });
    }
    if (this.once) {
      this.#found.delete(file);
      this.#parser.release(source.file);
    }
    const { answers } = recorded;
    return { workflows: plans, refused, diagnostics: all, answers, outside };
  }

  keepOnly(files: ReadonlySet<string>): void {
    for (const file of this.#found.keys()) if (!files.has(file.file)) this.#found.delete(file);
    this.#parser.forgetAllBut(files);
  }

  #find(file: DefinitionFile): FoundFile {
    const before = this.#found.get(file);
    if (before !== undefined) return before;
    const made = unlessTooDeep(() => {
      const found = findDefinitions(file);
      return { found, facts: factsOf(file, found) };
    });
    const reported = file.takeDiagnostics();
    const tooDeepHere = () => [tooDeep({ file: file.file, text: file.source.text })];
    const all = { ...made, diagnostics: made === undefined ? tooDeepHere() : reported };
    this.#found.set(file, all);
    return all;
  }
}

const factsOf = (file: DefinitionFile, found: FoundInFile): FileFacts => ({
  file: file.file,
  definitions: found.definitions
    .filter(({ isRefused }) => !isRefused)
    .map(({ name, nameNode: at }) => ({ name, local: at.getText() })),
  locals: [...found.locals],
  imports: [...file.imports.values()].filter((each) => !each.typeOnly).map((each) => each.module),
  reexports: reexportsOf(file.source),
  edges: moduleEdgesOf(file.source),
});
