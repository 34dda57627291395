import type { Diagnostic } from "../diagnostics/diagnostic.js";
import type { SourceText } from "../discover/discover.js";
import { type Digest, digestOf, lazyWorkflow } from "../plan/digest.js";
import type { ReadBefore } from "../plan/parts.js";
import { sortedBy } from "../plan/sorted.js";
import { hashOf } from "../plan/hash-of.js";
import { knowWritten, planHash } from "../plan/write.js";
import type { WorkflowPlan } from "../plan/schema.js";
import { allReexports, areStillGiven, expectedOf, workflowsOf } from "./workflows.js";
import type { Answers, FileFacts, Reexport, Workflows } from "./workflows.js";
import type { FileReader } from "./file-reader.js";
import { importCycles, type ModuleEdge } from "./import-cycles.js";
import type { ReadModule } from "./module-file.js";

export type Analysis = Awaited<ReturnType<Analyzer["analyze"]>>;

export interface Memory extends ReadBefore {
  /** Gives what was remembered when asked for, the same each time; undefined if nothing was. */
  lazily(key: string): (() => unknown) | undefined;
}

/** What is done with the plans of a file, and found in them, before they are remembered. */
export interface Finishing {
  readonly key: string;
  finish(workflows: readonly WorkflowPlan[]): {
    readonly workflows: readonly WorkflowPlan[];
    readonly diagnostics: readonly Diagnostic[];
  };
}

/** What was found in a file, and all that this depended on. */
interface FileRecord {
  readonly file: string;
  readonly hash: string;
  readonly facts?: FileFacts;
  readonly finishing: string;
  /** A hash of all of these: while that is the same, so are the plans. */
  readonly origin: string;
  readonly answers: Answers;
  /** The key of the hashes of the other files that were read: mostly those of the next file too. */
  readonly outside: string;
  readonly workflows: readonly WorkflowSummary[];
  readonly diagnostics: readonly Diagnostic[];
}

/** By file; null for those that are not there. */
type Hashes = Readonly<Record<string, string | null>>;

/** The part of a workflow that is read each time; the rest has a key of its own. */
interface WorkflowSummary extends Pick<
  WorkflowPlan,
  "name" | "file" | "place" | "isBroken" | "renamedFrom"
> {
  readonly fields: readonly string[];
  readonly digest: Digest;
  readonly hash: string;
}

/** From definition files to plans. Parses a file, and loads TypeScript, only after a change. */
export class Analyzer {
  #reader: FileReader | undefined;
  readonly #plans = new WeakMap<FileRecord, readonly WorkflowPlan[]>();

  /** @param once whether it is not used again: it then releases each file once analysed */
  constructor(
    private readonly memory: Memory,
    private readonly once: boolean,
  ) {}

  /** `read` gives the other files of the functions folder; `output` is the generated folder. */
  async analyze(
    sources: readonly SourceText[],
    read: ReadModule,
    finishing: Finishing,
    output: string,
  ) {
    const parsed = new Set<string>();
    const hashes = new Map(
      sources.map(({ file, text, origin = "" }) => [file, hashOf(`${origin}\n${text}`)]),
    );
    const known = new Map<string, FileFacts>();
    const early = new Map<string, ReturnType<FileReader["read"]>>();
    const unread = new Set<string>();
    for (const source of sources) {
      const record = this.#recordOf(source.file, hashes.get(source.file));
      const reader = record === undefined ? await this.#open(source, parsed) : undefined;
      const { facts } = record ?? reader?.facts(source) ?? {};
      if (facts === undefined) unread.add(source.file);
      else known.set(source.file, facts);
      // With what it is most likely told of the others, so that its tree need not be kept for that.
      const found = facts && reader?.read(source, expectedOf(facts, read), read);
      if (found !== undefined) early.set(source.file, found);
    }
    const facts = [...known.values()];
    const reexports = await allReexports(facts, read, this.#reexports);
    const workflows = workflowsOf(facts, unread, reexports, read);
    const outsideHashes = new Map<string, string | null>();
    const hashAt = (file: string): string | null => {
      const hash = outsideHashes.get(file);
      if (hash !== undefined) return hash;
      const text = read(file);
      const made = text === undefined ? null : hashOf(text);
      outsideHashes.set(file, made);
      return made;
    };
    const analysis = { workflows: [] as WorkflowPlan[], diagnostics: [] as Diagnostic[] };
    const readAnew = async (source: SourceText, hash: string) => {
      const expected = early.get(source.file);
      const { answers, outside, refused, ...found } =
        expected !== undefined && areStillGiven(expected.answers, workflows)
          ? expected
          : (await this.#open(source, parsed)).read(source, workflows, read);
      const { workflows: finished, diagnostics } = finishing.finish(found.workflows);
      const inRefused = finishing.finish(refused).diagnostics;
      const { file } = source;
      const { key } = finishing;
      const hashes = Object.fromEntries([...outside].map((each) => [each, hashAt(each)]));
      return this.#keep({
        file,
        hash,
        facts: known.get(file),
        finishing: key,
        origin: hashOf(JSON.stringify([file, hash, key, answers, hashes])),
        answers,
        outside: this.#keepHashes(hashes),
        workflows: finished,
        diagnostics: [...found.diagnostics, ...diagnostics, ...inRefused],
      });
    };
    const sameOutside = new Map<string, boolean>();
    const isSameOutside = (key: string): boolean => {
      const known = sameOutside.get(key);
      if (known !== undefined) return known;
      // Nothing else is set under such a key.
      const then = this.memory.get(key) as Hashes | undefined;
      const isSame =
        then !== undefined && Object.entries(then).every(([file, hash]) => hashAt(file) === hash);
      sameOutside.set(key, isSame);
      return isSame;
    };
    const origins = new Map<WorkflowPlan, string>();
    for (const source of sources) {
      const hash = hashes.get(source.file) ?? "";
      const before = this.#recordOf(source.file, hash);
      const isValid =
        before !== undefined && isAsItWas(before, finishing, workflows, isSameOutside);
      const record = isValid ? before : await readAnew(source, hash);
      const plans = this.#workflowsOf(record);
      analysis.workflows.push(...plans);
      analysis.diagnostics.push(...record.diagnostics);
      for (const plan of plans) origins.set(plan, record.origin);
    }
    const cycles = await importCycles(new Map(facts.map(({ file, edges }) => [file, edges])), {
      output,
      workflows: analysis.workflows,
      read,
      edgesOf: this.#moduleEdges,
    });
    if (!this.once) this.#reader?.keepOnly(new Set(hashes.keys()));
    const sorted = sortedBy(analysis.workflows, ({ name }) => name);
    return { ...analysis, workflows: sorted, cycles, origins, parsed: [...parsed] };
  }

  #recordOf(file: string, hash: string | undefined): FileRecord | undefined {
    // Nothing else is set under such a key.
    const record = this.memory.get(keyOf(file)) as FileRecord | undefined;
    const isThere = record?.hash === hash && this.memory.lazily(plansOf(file)) !== undefined;
    return isThere ? record : undefined;
  }

  #keep({ workflows, ...found }: FoundRecord): FileRecord {
    const { file } = found;
    const record = { ...found, workflows: workflows.map(summarized) };
    this.#plans.set(record, workflows);
    this.memory.set(keyOf(file), record);
    this.memory.set(plansOf(file), workflows);
    return record;
  }

  #keepHashes(hashes: Hashes): string {
    const key = `outside ${hashOf(JSON.stringify(hashes))}`;
    this.memory.set(key, hashes);
    return key;
  }

  #workflowsOf(record: FileRecord): readonly WorkflowPlan[] {
    const before = this.#plans.get(record);
    if (before !== undefined) return before;
    const load = this.memory.lazily(plansOf(record.file));
    const workflows = record.workflows.map(({ fields, digest, hash, ...known }, at) => {
      const whole = () => {
        // Nothing else is set under such a key, and it is there as the record is.
        const all = load?.() as readonly WorkflowPlan[] | undefined;
        return all?.[at] as WorkflowPlan;
      };
      const workflow = lazyWorkflow<WorkflowPlan>(known, fields, digest, whole);
      knowWritten(workflow, hash, whole);
      return workflow;
    });
    this.#plans.set(record, workflows);
    return workflows;
  }

  /** Loading TypeScript takes longer than compiling: only where there is something to parse. */
  async #open({ file }: SourceText, parsed: Set<string>): Promise<FileReader> {
    parsed.add(file);
    this.#reader ??= new (await import("./file-reader.js")).FileReader(this.once);
    return this.#reader;
  }

  readonly #reexports = (file: string, text: string): Promise<readonly Reexport[]> =>
    remembered(this.memory, `reexports ${file}`, hashOf(text), async () =>
      (await import("./modules.js")).parseReexports(file, text),
    );

  readonly #moduleEdges = (file: string, text: string): Promise<readonly ModuleEdge[]> =>
    remembered(this.memory, `imports ${file}`, hashOf(text), async () =>
      (await import("./modules.js")).parseModuleEdges(file, text),
    );
}

/** Returns what was made under a key from the same source, or makes it now. */
export async function remembered<Made>(
  memory: Memory,
  key: string,
  of: string,
  make: () => Promise<Made>,
): Promise<Made> {
  // Nothing else is set under such a key.
  const before = memory.get(key) as { of: string; made: Made } | undefined;
  if (before?.of === of) return before.made;
  const made = await make();
  memory.set(key, { of, made });
  return made;
}

const keyOf = (file: string): string => `definitions ${file}`;
const plansOf = (file: string): string => `plans ${file}`;

type FoundRecord = Omit<FileRecord, "workflows"> & { readonly workflows: readonly WorkflowPlan[] };

const summarized = (workflow: WorkflowPlan): WorkflowSummary => ({
  name: workflow.name,
  file: workflow.file,
  place: workflow.place,
  isBroken: workflow.isBroken,
  ...(workflow.renamedFrom && { renamedFrom: workflow.renamedFrom }),
  fields: Object.keys(workflow),
  digest: digestOf(workflow),
  hash: planHash(workflow),
});

const isAsItWas = (
  { answers, outside, finishing }: FileRecord,
  now: Finishing,
  known: Workflows,
  isSameOutside: (key: string) => boolean,
): boolean => finishing === now.key && isSameOutside(outside) && areStillGiven(answers, known);
