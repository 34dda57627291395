import { isDeepStrictEqual } from "node:util";
import { Compiler, withProblems, writeGenerated } from "../compile.js";
import type { CompileResult, Written } from "../compile.js";
import type { ChooseBaseline } from "../compatibility/baseline.js";
import type { Diagnostic } from "../diagnostics/diagnostic.js";
import type { SourceText } from "../discover/discover.js";
import { isPlanFile } from "../plan/paths.js";
import { toWritten } from "../plan/write.js";
import { Deployable, Rounds, watchFolders } from "../watch/watching.js";
import { lastPlan, planTexts, type PlanTexts } from "../write/last-plan.js";
import { isWrittenHere } from "../write/write-generated.js";
import { displayPath, mustBeThere } from "./functions-folder.js";
import { baselineFor } from "./plans.js";
import { printDiagnostics } from "./problems.js";
import { interruptOf, printTo, type Terminal } from "./terminal.js";
import { report } from "./written.js";

interface WatchOptions {
  readonly force?: boolean;
  /** What changes are compared with. Default: the main branch's plan. */
  readonly against?: string | undefined;
  /** Ends the watching. Default: the user does, by Ctrl-C. */
  readonly signal?: AbortSignal;
  readonly ready: () => void;
  /** Called after each round in which what is on the disk compiles. */
  readonly onCompiled?: (result: CompileResult) => Promise<void>;
}

/** Compiles now and after every change until it is ended. */
export async function generateWatch(
  functionsDir: string,
  terminal: Terminal,
  options: WatchOptions,
): Promise<void> {
  const { signal = interruptOf(terminal) } = options;
  const baseline = await baselineFor(options.against, functionsDir, terminal.cwd);
  const session = new Session(functionsDir, terminal, options, baseline);
  const rounds = new Rounds((firstChangeAt) => session.round(firstChangeAt, () => folders.sync()));
  const folders = watchFolders(functionsDir, () => rounds.changed(), isWrittenHere);
  await rounds.start();
  if (!signal.aborted) {
    options.ready();
    await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
  }
  await rounds.close();
  folders.close();
  session.compiler.remember(functionsDir);
}

class Session {
  readonly compiler = new Compiler();
  /** The plan in the output folder, as this session knows it. */
  #planTexts: PlanTexts = new Map();
  #deployable: Deployable | undefined;
  #unread: readonly Diagnostic[] = [];
  #sources: readonly SourceText[] | undefined;
  #problem: string | undefined;
  /** The problems that were printed last, errors or warnings. */
  #printed = "[]";

  constructor(
    readonly functionsDir: string,
    readonly terminal: Terminal,
    readonly options: WatchOptions,
    readonly baseline: ChooseBaseline,
  ) {}

  /** @param beforeReading is called before any file is read */
  async round(startedAt: number, beforeReading: () => void): Promise<void> {
    const { functionsDir, baseline } = this;
    const { force = false } = this.options;
    try {
      beforeReading();
      mustBeThere(this.terminal.cwd, functionsDir);
      const deployable = await this.#currentDeployable();
      const before = deployable.plans;
      const compiled = await this.compiler.compile({ functionsDir, before, baseline });
      const result = withProblems(compiled, this.#unread);
      const { ok, files, output } = result;
      const written = ok
        ? await writeGenerated(functionsDir, files, { force, folders: [output] })
        : undefined;
      if (ok) this.#planTexts = new Map(files.map(({ path, text }) => [path, text]));
      if (written?.written.some(isPlanFile) === true) {
        deployable.wrote(toWritten(result.plan));
        this.#unread = [];
      }
      this.#print(result, written, performance.now() - startedAt);
      if (ok) await this.options.onCompiled?.(result);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      if (message !== this.#problem) printTo(this.terminal).err(`${this.#clock()} ${message}`);
      this.#problem = message;
    }
  }

  /** The plans that may be deployed by now; one that somebody else wrote is a new beginning. */
  async #currentDeployable(): Promise<Deployable> {
    const output = await this.compiler.outputIn(this.functionsDir);
    const texts = [...planTexts(this.functionsDir, output)];
    const isGone = texts.length === 0 && this.#unread.length > 0;
    const isKnown = !isGone && texts.every(([path, text]) => this.#planTexts.get(path) === text);
    if (this.#deployable !== undefined && isKnown) return this.#deployable;
    const last = await lastPlan(this.functionsDir, output, this.options.force);
    this.#planTexts = new Map(texts);
    this.#unread = last.diagnostics;
    this.#deployable = new Deployable(last.plans);
    return this.#deployable;
  }

  /** Prints what is new, and nothing about a problem that is still the same. */
  #print(result: CompileResult, written: Written | undefined, elapsedMs: number): void {
    const { terminal } = this;
    const folder = displayPath(terminal.cwd, this.functionsDir);
    const { out, colors } = printTo(terminal);
    const isEdited = !isDeepStrictEqual(this.#sources, result.sources);
    const broken = this.#problem;
    const problems = JSON.stringify(result.diagnostics);
    this.#sources = result.sources;
    this.#problem = result.ok ? undefined : problems;
    if (isEdited || this.#problem !== broken || problems !== this.#printed)
      printDiagnostics(result.diagnostics, folder, terminal);
    this.#printed = problems;
    if (written === undefined) return;
    if (broken !== undefined) out(`${this.#clock()} ${colors.green("Compiles again.")}`);
    const isChanged = written.written.length + written.removed.length > 0;
    if (isEdited || isChanged || broken !== undefined)
      out(`${this.#clock()} ${report(result, written, folder, elapsedMs, terminal)}`);
  }

  #clock(): string {
    return printTo(this.terminal).colors.dim(`[${new Date().toTimeString().slice(0, 8)}]`);
  }
}
