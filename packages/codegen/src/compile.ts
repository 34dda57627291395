import { type Analysis, Analyzer, type Finishing, remembered } from "./analyze/analyze.js";
import type { readConfig } from "./analyze/config.js";
import type { ReadModule } from "./analyze/module-file.js";
import { CacheFile } from "./cache/cache-file.js";
import { compilerIdentity } from "./cache/last-compile.js";
import { CompilerMemory } from "./cache/memory.js";
import { check, checkWorkflow } from "./check/check.js";
import { checkStored, checkTombstones } from "./check/names.js";
import { checkLimitNames } from "./check/limits.js";
import { soundPart } from "./check/sound.js";
import {
  checkConfig,
  checkConfigEffects,
  checkOutputFolder,
  convexConfig,
  misplacedConfig,
} from "./check/config.js";
import { compareDiagnostics, type Diagnostic, isError } from "./diagnostics/diagnostic.js";
import { codes } from "./diagnostics/codes.js";
import { discoverAll, readIn, Unreadable, unlessUnreadable } from "./discover/discover.js";
import { stampWhenRead } from "./discover/discover.js";
import { stampOf } from "./discover/stamp.js";
import type { SourceText } from "./discover/discover.js";
import { emit, type EmittedBefore, filesOfApp, fileThere } from "./emit/emit.js";
import type { GeneratedFile } from "./emit/emit.js";
import { linkedFolder, misnamedFile, unreadableFile, withFrames } from "./file-problems.js";
import { allNodes } from "./plan/flow.js";
import { startsWorkflows } from "./plan/stage-kinds.js";
import { tombstonesOf } from "./plan/tombstones.js";
import { type Earlier, withStorageNames } from "./plan/storage-names.js";
import { plansOf } from "./plan/workflow-names.js";
import type { Baseline, ChooseBaseline } from "./compatibility/baseline.js";
import { hashOf } from "./plan/hash-of.js";
import { planHash } from "./plan/write.js";
import { type EmittedFile, emittedKey, summaryOf } from "./plan/parts.js";
import { configFile, outputOf, usualComponent } from "./plan/paths.js";
import type { AppConfig, ProjectPlan, WorkflowPlan, WrittenPlan } from "./plan/schema.js";
import { lastPlan } from "./write/last-plan.js";

export { driftOf, writeGenerated, WriteRefused, type Written } from "./write/write-generated.js";
export type { GeneratedFile } from "./emit/emit.js";

export interface CompileOptions {
  /** Absolute path of the app's functions folder, usually `convex`. */
  readonly functionsDir: string;
  /** Says whether tombstones are dropped. Default: false. */
  readonly drop?: boolean;
  /** Plans that may be deployed. Default: the one that was written last. */
  readonly before?: readonly WrittenPlan[];
  /** Returns what the new plan is compared with. Default: nothing. */
  readonly baseline?: ChooseBaseline;
  /** Says whether to skip a last plan that cannot be read. Default: it is an error. */
  readonly force?: boolean;
}

export interface CompileResult {
  readonly plan: ProjectPlan;
  readonly diagnostics: Diagnostic[];
  /** The files for the functions folder; none if there are errors. */
  readonly files: GeneratedFile[];
  /** The output folder, relative to the functions folder. */
  readonly output: string;
  readonly ok: boolean;
  /** The plan and the files of the others, if only new workflows have errors. */
  readonly sound?: Pick<CompileResult, "plan" | "files"> | undefined;
  readonly sources: readonly SourceText[];
  /** The texts of the other files that were read; undefined for those that do not exist. */
  readonly consulted: ReadonlyMap<string, string | undefined>;
  readonly parsed: readonly string[];
  readonly baseline?: Baseline | undefined;
}

/** Compiles the definitions of an app; writes nothing. See docs/compiler.md for the passes. */
export async function compile(options: CompileOptions): Promise<CompileResult> {
  return new Compiler({ once: true }).compile(options);
}

/** Compiles definitions that are given as texts; `before` is the plan that was written last. */
export async function compileSources(sources: readonly SourceText[], before?: WrittenPlan) {
  const last = before === undefined ? [] : [before];
  return new Compiler({ once: true }).compileSources(sources, undefined, () => ({ last }));
}

/** Compiles again and again, and only analyses what has changed, also since an earlier process. */
export class Compiler {
  readonly #once: boolean;
  #memory = new CompilerMemory();
  #analyzer: Analyzer;
  /** The functions folder of which the last process's memory was read. */
  #remembered: string | undefined;
  readonly #emitted = new Map<string, GeneratedFile>();

  /** @param options.once whether it compiles only once. Default: false */
  constructor({ once = false }: { readonly once?: boolean } = {}) {
    this.#once = once;
    this.#analyzer = new Analyzer(this.#memory, once);
  }

  /** The keys of what an earlier process has remembered and this one has read. */
  get read(): string[] {
    return this.#memory.read;
  }

  remember(functionsDir: string): void {
    if (this.#remembered !== functionsDir || !this.#memory.hasChanged) return;
    memoryFile(functionsDir).write(() => this.#memory.toBytes());
  }

  #recall(functionsDir: string): void {
    if (this.#remembered === functionsDir) return;
    this.#remembered = functionsDir;
    const bytes = memoryFile(functionsDir).read();
    this.#memory = bytes === undefined ? new CompilerMemory() : CompilerMemory.from(bytes);
    this.#analyzer = new Analyzer(this.#memory, this.#once);
  }

  async compile(options: CompileOptions): Promise<CompileResult> {
    const { functionsDir, drop = false, before, baseline, force } = options;
    this.#recall(functionsDir);
    const { sources, linked, misnamed, unreadable } = discoverAll(functionsDir);
    const unread = new Map(unreadable.map((each) => [each.file, unreadableFile(each)]));
    const read = (file: string) => {
      const text = unlessUnreadable(() => readIn(functionsDir, file));
      if (!(text instanceof Unreadable)) return text;
      unread.set(file, unreadableFile({ file, error: text }));
      return undefined;
    };
    const written =
      before === undefined
        ? await lastPlan(functionsDir, await this.#outputOf(read), force, this.#memory)
        : { plans: before, elsewhere: [], diagnostics: [] };
    let chosen: Baseline | undefined;
    const earlier = async (workflows: readonly WorkflowPlan[]): Promise<Earlier> => {
      chosen = await baseline?.((plan) => hashesAfter(plan, workflows), this.#memory);
      return { baseline: chosen?.plan, last: written.plans, drops: drop };
    };
    const compiled = await this.compileSources(sources, read, earlier, written.elsewhere);
    return withProblems({ ...compiled, baseline: chosen }, [
      ...linked.map(linkedFolder),
      ...misnamed.map(misnamedFile),
      ...unread.values(),
      ...written.diagnostics,
    ]);
  }

  async outputIn(functionsDir: string): Promise<string> {
    return await this.#outputOf((file) => readIn(functionsDir, file));
  }

  async #outputOf(read: ReadModule): Promise<string> {
    const { config } = await this.#readConfig(read(configFile));
    return outputOf(config?.values);
  }

  /** @param read gives other files. @param elsewhere the other folders that hold generated code */
  async compileSources(
    sources: readonly SourceText[],
    read: ReadModule = () => undefined,
    before: (workflows: readonly WorkflowPlan[]) => Earlier | Promise<Earlier> = () => ({
      last: [],
    }),
    elsewhere: readonly string[] = [],
  ): Promise<CompileResult> {
    const consulted = new Map(sources.map(({ file, text }) => [file, text as string | undefined]));
    const readOnce = (file: string) => {
      if (!consulted.has(file)) consulted.set(file, read(file));
      return consulted.get(file);
    };
    const configText = readOnce(configFile);
    const readConfig = await this.#readConfig(configText);
    const { config } = readConfig;
    const output = outputOf(config?.values);
    const refused = config === undefined ? [] : checkConfig(config);
    const ofConfig = [
      ...readConfig.diagnostics,
      ...refused.map(({ problem }) => problem),
      ...(config === undefined ? [] : checkConfigEffects(config)),
    ];
    const unsure = new Set([...readConfig.unread, ...refused.map(({ option }) => option)]);
    const finish = finishing(config?.values, unsure.has("limits"));
    const analysis = await this.#analyzer.analyze(sources, readOnce, finish, output);
    const { diagnostics: unread, parsed } = analysis;
    for (const { file } of sources) consulted.delete(file);
    const earlier = await before(analysis.workflows);
    const workflows = withStorageNames(analysis.workflows, earlier);
    const plans = plansOf(earlier);
    const removed = tombstonesOf(earlier, workflows);
    const plan: ProjectPlan = { ...(config && { config }), workflows, removed };
    const broken = new Set(workflows.filter(({ isBroken }) => isBroken));
    const analyzed = new Set(analysis.workflows);
    const stored = workflows.flatMap((each) => {
      const problems = [
        ...(analyzed.has(each) ? [] : checkStored(each)),
        ...checkTombstones(each, earlier),
      ];
      if (problems.length > 0) broken.add(each);
      return problems;
    });
    const ofApp = [
      ...(configText === undefined ? misplacedConfig(readOnce) : []),
      ...analysis.cycles,
      ...check(plan, plans),
      ...checkOutputFolder(output, config, elsewhere, readOnce),
    ];
    for (const each of workflows)
      if (
        (unsure.has("retry") && inheritsRetry(each)) ||
        (unsure.has("limits") && needsLimits(each))
      )
        broken.add(each);
    const found = [...ofApp, ...ofConfig, ...unread, ...stored];
    const isConfigRead = found.every(({ place }) => place.file !== configFile);
    const mounting =
      isConfigRead && workflows.length > 0
        ? await this.#checkMounting(config?.values.component ?? usualComponent, readOnce)
        : [];
    const all = distinct([...found, ...mounting]);
    const others = [...new Set(all.map(({ place }) => place.file))].flatMap((file) => {
      const text = consulted.get(file);
      return text === undefined ? [] : [{ file, text }];
    });
    const diagnostics = all
      .map((diagnostic) => withFrames(diagnostic, [...sources, ...others]))
      .sort(compareDiagnostics);
    const ok = !diagnostics.some(isError);
    const emitted = (plan: ProjectPlan) => emit(plan, this.#emittedBefore(analysis, read));
    const names = sources.map(({ file }) => file);
    const isOfAll = unsure.has("component") || unsure.has("output");
    const forAll = isOfAll ? [...ofApp, ...ofConfig] : ofApp;
    const rest = ok ? undefined : soundPart(plan, broken, forAll, names, plans);
    // What holds for all workflows stays as it is, rather than without what cannot be read.
    const asItIs = ({ path, text }: GeneratedFile): GeneratedFile =>
      unsure.size > 0 && filesOfApp(output).includes(path)
        ? { path, text: read(path) ?? text }
        : { path, text };
    const sound = rest && { plan: rest, files: emitted(without(unsure, rest)).map(asItIs) };
    const files = ok ? emitted(plan) : [];
    this.#memory.forgetUnused();
    return { plan, diagnostics, files, output, ok, sound, sources, consulted, parsed };
  }

  /**
   * What was emitted under a path is in the file there if its hash is the remembered one. That of a
   * file with the stamp that it had then is not taken again.
   */
  #emittedBefore({ origins }: Analysis, read: ReadModule): EmittedBefore {
    const stamped = (path: string, stampOf: (full: string) => string | undefined) =>
      this.#remembered === undefined ? undefined : stampOf(`${this.#remembered}/${path}`);
    return {
      originOf: (workflow) => origins.get(workflow),
      get: (path, origin, make) => {
        // Nothing else is set under such a key.
        const known = this.#memory.get(emittedKey(path)) as EmittedFile | undefined;
        if (known?.origin !== origin) return undefined;
        const { hash, stamp } = known;
        const holds = (text: string | undefined) => text !== undefined && hashOf(text) === hash;
        const before = this.#emitted.get(path)?.text;
        if (before === undefined && stamp !== undefined && stamped(path, stampOf) === stamp) {
          const textThere = () => {
            const text = read(path);
            return holds(text) ? text! : make();
          };
          return fileThere(path, { hash, stamp }, textThere);
        }
        const text = before ?? read(path);
        if (text === undefined || !holds(text)) return undefined;
        const seen = stamped(path, stampWhenRead);
        if (seen !== undefined && seen !== stamp)
          this.#memory.set(emittedKey(path), { ...known, stamp: seen });
        return { path, text };
      },
      set: (file, origin, planned) => {
        if (!this.#once) this.#emitted.set(file.path, file);
        const plan = planned && summaryOf(planned);
        const emitted: EmittedFile = { origin, hash: hashOf(file.text), ...(plan && { plan }) };
        this.#memory.set(emittedKey(file.path), emitted);
      },
    };
  }

  async #checkMounting(name: string, read: ReadModule): Promise<readonly Diagnostic[]> {
    const config = convexConfig(read);
    if (config === undefined) return [];
    return await remembered(this.#memory, "mounting", JSON.stringify([config, name]), async () =>
      (await import("./check/mounting.js")).checkMounting(config, name),
    );
  }

  async #readConfig(text: string | undefined): Promise<ReadConfig> {
    if (text === undefined) return { unread: [], diagnostics: [] };
    return await remembered(this.#memory, "config", text, async () =>
      (await import("./analyze/config.js")).readConfig(text),
    );
  }
}

/** The hashes of the plans of workflows, if a plan is the one before them. */
const hashesAfter = (plan: WrittenPlan, workflows: readonly WorkflowPlan[]) =>
  new Map(withStorageNames(workflows, { last: [plan] }).map((each) => [each.name, planHash(each)]));

/** What two workflows share is read for each of them, and what is wrong in it told once. */
const distinct = (found: readonly Diagnostic[]): Diagnostic[] => [
  ...new Map(found.map((each) => [JSON.stringify(each), each])).values(),
];

const memoryFile = (functionsDir: string): CacheFile =>
  CacheFile.of(functionsDir, "compiled", compilerIdentity());

/**
 * Each workflow has the defaults of the app's config, and is checked by itself.
 * @param isUnsure whether the limits have errors, from which others would follow
 */
function finishing({ retry, limits }: AppConfig = {}, isUnsure: boolean): Finishing {
  const finish: Finishing["finish"] = (analyzed) => {
    const workflows = analyzed.map((each) => {
      const inherits = retry !== undefined && inheritsRetry(each);
      const isNew = inherits && !each.given.has("retry");
      const options = isNew ? { ...each.options, retry } : each.options;
      const inherited = {
        ...(inherits ? { retry } : {}),
        ...(limits !== undefined && needsLimits(each) ? { limits } : {}),
      };
      return Object.keys(inherited).length === 0 ? each : { ...each, options, inherited };
    });
    const diagnostics: Diagnostic[] = [];
    const checked = workflows.map((each) => {
      const names = isUnsure ? [] : checkLimitNames(each, limits);
      const problems = [...checkWorkflow(each), ...names];
      diagnostics.push(...problems);
      return { ...each, isBroken: each.isBroken || problems.some(isError) };
    });
    return { workflows: checked, diagnostics };
  };
  return { key: JSON.stringify([retry, limits, isUnsure]), finish };
}

/** Its own actions may name limits, or those of the runs that it starts. */
function needsLimits({ given, nodes }: WorkflowPlan): boolean {
  return (
    given.has("limits") ||
    allNodes(nodes).some((node) => node.given.has("limits") || startsWorkflows(node))
  );
}

function inheritsRetry({ given }: WorkflowPlan): boolean {
  const own = given.get("retry");
  return own === undefined || own.isUnsure === true;
}

type ReadConfig = Pick<ProjectPlan, "config"> & Omit<ReturnType<typeof readConfig>, "config">;

/** The same without some options of the config. */
function without(options: ReadonlySet<string>, { config, ...plan }: ProjectPlan): ProjectPlan {
  if (config === undefined) return plan;
  const values = Object.entries(config.values).filter(([name]) => !options.has(name));
  return { ...plan, config: { ...config, values: Object.fromEntries(values) } };
}

export function withProblems(result: CompileResult, problems: readonly Diagnostic[]) {
  const ok = result.ok && !problems.some(isError);
  const diagnostics = [...problems, ...result.diagnostics].sort(compareDiagnostics);
  // Without the last plan nobody knows which workflows are new.
  const isOfPlan = ({ code }: Diagnostic) => code === codes.missingPlan.code;
  const isUnsure = problems.some((each) => isError(each) || isOfPlan(each));
  const sound = isUnsure ? undefined : result.sound;
  return { ...result, diagnostics, ok, sound, files: ok ? result.files : [] };
}
