import type { Diagnostic } from "../diagnostics/diagnostic.js";
import type { SourceText } from "../discover/discover.js";
import type { WorkflowPlan } from "../plan/schema.js";
import { AppModules } from "./app-modules.js";
import type { Workflows } from "./children.js";
import type { DefinitionFile } from "./definition-file.js";
import { findDefinitions, type FoundInFile } from "./definitions.js";
import { checkRuntime, usedModules, type ReadModule, type UsedModule } from "./node-runtime.js";
import { Parser } from "./parser.js";
import { allReexports, type Reexports } from "./reexports.js";
import { workflowPlan } from "./workflow.js";

export interface Analysis {
  /** Sorted by name. */
  readonly workflows: WorkflowPlan[];
  readonly diagnostics: Diagnostic[];
}

/** What was found in a file the last time, and what it depended on besides the file's text. */
interface ReadFile {
  readonly found: FoundInFile;
  readonly modules: readonly UsedModule[];
  readonly foundDiagnostics: readonly Diagnostic[];
  /** The other workflows of the project, as they were. */
  known: string;
  /** The files of the app that its definitions name something in, as they were; undefined for those that were not there. */
  outside: ReadonlyMap<string, string | undefined>;
  workflows: readonly WorkflowPlan[];
  diagnostics: readonly Diagnostic[];
}

/** The files of the app around the definitions, and which of them are looked into. */
class Outside {
  readonly modules: AppModules;
  readonly #read: ReadModule;
  #looked = new Map<string, string | undefined>();

  constructor(read: ReadModule) {
    this.#read = read;
    this.modules = new AppModules((file) => {
      const text = read(file);
      this.#looked.set(file, text);
      return text;
    });
  }

  /** What is made of them, and which of them it was made of. */
  lookedInto<Made>(make: () => Made): [Made, ReadonlyMap<string, string | undefined>] {
    this.#looked = new Map();
    return [make(), this.#looked];
  }

  isAsItWas(files: ReadonlyMap<string, string | undefined>): boolean {
    return [...files].every(([file, text]) => this.#read(file) === text);
  }
}

/**
 * From the text of definition files to plans, by syntax alone. What cannot be read is reported, and the rest is read on.
 * One that is used again reads only the files that have changed, or all of them when a workflow came, went or was renamed.
 */
export class Analyzer {
  readonly #parser = new Parser();
  readonly #read = new WeakMap<DefinitionFile, ReadFile>();

  readonly #once: boolean;

  /** @param once whether it is not used again: it then lets go of every file as soon as that is analysed */
  constructor(once = false) {
    this.#once = once;
  }

  /** @param read gives the other files of the functions folder */
  analyze(sources: readonly SourceText[], read: ReadModule): Analysis {
    const { files, errors } = this.#parser.parse(sources);
    const parsed = new Set(files.map(({ file }) => file));
    const unread = sources.map(({ file }) => file).filter((file) => !parsed.has(file));
    const reexports = allReexports(files, read);
    const known = workflowsOf(
      files.map((file) => ({ file, ...this.#found(file) })),
      unread,
      reexports,
    );
    const runtime = files.flatMap((file) =>
      checkRuntime(file.file, file.source.getFullText(), this.#found(file).modules, read),
    );
    if (this.#once) this.#parser.clear();
    const workflows: WorkflowPlan[] = [];
    const diagnostics = [...errors, ...runtime];
    const outside = new Outside(read);
    // Taken out of the list, so that what was read can go.
    for (let file = files.shift(); file !== undefined; file = files.shift()) {
      const read = this.#plans(file, known, outside);
      workflows.push(...read.workflows);
      diagnostics.push(...read.diagnostics);
    }
    workflows.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
    return { workflows, diagnostics };
  }

  #found(file: DefinitionFile): ReadFile {
    const before = this.#read.get(file);
    if (before !== undefined) return before;
    const found = findDefinitions(file);
    const foundDiagnostics = file.takeDiagnostics();
    const modules = found.locals.size === 0 ? [] : usedModules(file);
    const nothing = { known: "", outside: new Map(), workflows: [], diagnostics: [] };
    const read: ReadFile = { found, modules, foundDiagnostics, ...nothing };
    this.#read.set(file, read);
    return read;
  }

  #plans(file: DefinitionFile, known: KnownWorkflows, outside: Outside): ReadFile {
    const read = this.#found(file);
    if (read.known === known.identity && outside.isAsItWas(read.outside)) return read;
    const plans = () =>
      read.found.definitions.map((each) => workflowPlan(each, known, outside.modules));
    [read.workflows, read.outside] = outside.lookedInto(plans);
    read.diagnostics = [...read.foundDiagnostics, ...file.takeDiagnostics()];
    read.known = known.identity;
    return read;
  }
}

interface KnownWorkflows extends Workflows {
  /** The same for the same workflows under the same names in the same files. */
  readonly identity: string;
}

function workflowsOf(
  files: readonly { file: DefinitionFile; found: FoundInFile }[],
  unread: readonly string[],
  reexports: Reexports,
): KnownWorkflows {
  const byPlace = new Map<string, string | null>();
  const key = (file: string, name: string) => `${file}\n${name}`;
  for (const { file, found } of files) {
    for (const local of found.locals) byPlace.set(key(file.file, local), null);
    for (const { name, nameNode } of found.definitions) {
      byPlace.set(key(file.file, name), name);
      byPlace.set(key(file.file, nameNode.getText()), name);
    }
  }
  const names = files.flatMap(({ found }) => found.definitions.map(({ name }) => name)).sort();
  return {
    names,
    unread: new Set(unread),
    local: (file, local) => byPlace.get(key(file, local)),
    reexports,
    identity: JSON.stringify([names, unread, [...byPlace], [...reexports]]),
  };
}
