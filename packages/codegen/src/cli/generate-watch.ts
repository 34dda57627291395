import pc from "picocolors";
import {
  Compiler,
  withProblems,
  writeGenerated,
  type CompileResult,
  type Written,
} from "../compile.js";
import type { ChooseBaseline } from "../compatibility/baseline.js";
import type { Diagnostic } from "../diagnostics/diagnostic.js";
import { isSame, type SourceText } from "../discover/discover.js";
import { isPlanFile } from "../plan/paths.js";
import { toWritten } from "../plan/write.js";
import { Deployable } from "../watch/deployable.js";
import { Rounds } from "../watch/rounds.js";
import { WatchedFolders } from "../watch/folders.js";
import { lastPlan, planTexts, type PlanTexts } from "../write/last-plan.js";
import { isWrittenHere } from "../write/write-generated.js";
import { displayPath } from "./functions-folder.js";
import { printDiagnostics, report } from "./generate-report.js";
import { printTo, type Terminal } from "./terminal.js";

interface WatchOptions {
  /** Whether edits by hand are written over. */
  readonly force: boolean;
  readonly baseline: ChooseBaseline;
  /** Ends it. */
  readonly signal: AbortSignal;
}

/** Compiles now, and again after every change, until the signal is aborted. Nothing that is wrong with a definition ends it. */
export async function generateWatch(
  functionsDir: string,
  terminal: Terminal,
  { force, signal, baseline }: WatchOptions,
): Promise<void> {
  const session = new Session(functionsDir, terminal, force, baseline);
  const rounds = new Rounds((firstChangeAt) => session.round(firstChangeAt, () => folders.sync()));
  const folders = new WatchedFolders(functionsDir, () => rounds.changed(), isWrittenHere);
  const folder = displayPath(terminal.cwd, functionsDir);
  await rounds.start();
  printTo(terminal).out(`Watching ${folder} for changes. Press Ctrl-C to stop.`);
  if (!signal.aborted)
    await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
  rounds.close();
  folders.close();
  session.remember();
}

/** What one round must know of those before it. */
class Session {
  readonly #compiler = new Compiler();
  readonly #functionsDir: string;
  readonly #terminal: Terminal;
  readonly #force: boolean;
  readonly #baseline: ChooseBaseline;
  /** The plan in the output folder, as this session knows it. */
  #planTexts: PlanTexts = new Map();
  #deployable: Deployable | undefined;
  /** What is wrong with the plan that was there. */
  #unread: readonly Diagnostic[] = [];
  #sources: readonly SourceText[] | undefined;
  #problem: string | undefined;
  /** The problems that were told last, errors or warnings. */
  #told = "[]";

  constructor(functionsDir: string, terminal: Terminal, force: boolean, baseline: ChooseBaseline) {
    this.#baseline = baseline;
    this.#functionsDir = functionsDir;
    this.#terminal = terminal;
    this.#force = force;
  }

  /** Keeps what it knows for the next process. */
  remember(): void {
    this.#compiler.remember(this.#functionsDir);
  }

  /** @param beforeReading is called before any file is read */
  async round(startedAt: number, beforeReading: () => void): Promise<void> {
    try {
      beforeReading();
      const functionsDir = this.#functionsDir;
      const deployable = await this.#lookAtPlan();
      const compiled = await this.#compiler.compile({
        functionsDir,
        before: deployable.plans,
        baseline: this.#baseline,
      });
      const result = withProblems(compiled, this.#unread);
      const written = result.ok ? await this.#write(result) : nothing;
      if (result.ok) this.#planTexts = new Map(result.files.map(({ path, text }) => [path, text]));
      if (written.written.some(isPlanFile)) {
        deployable.wrote(toWritten(result.plan));
        this.#unread = [];
      }
      this.#tell(result, written, performance.now() - startedAt);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      if (message !== this.#problem) printTo(this.#terminal).err(`${this.#clock()} ${message}`);
      this.#problem = message;
    }
  }

  async #write({ files, output }: CompileResult): Promise<Written> {
    return await writeGenerated(this.#functionsDir, files, {
      force: this.#force,
      folders: [output],
    });
  }

  /**
   * What is left behind is told by what may have been deployed of what this session has written, and by what was there when it began. A plan
   * that somebody else has written since, such as `git pull`, is a new beginning; that it is gone, or that there is none yet where generated
   * code is to stand from now on, is none.
   */
  async #lookAtPlan(): Promise<Deployable> {
    const output = await this.#compiler.outputIn(this.#functionsDir);
    const texts = [...planTexts(this.#functionsDir, output)];
    const isGone = texts.length === 0 && this.#unread.length > 0;
    const isKnown = !isGone && texts.every(([path, text]) => this.#planTexts.get(path) === text);
    if (this.#deployable !== undefined && isKnown) return this.#deployable;
    const { plans, diagnostics } = await lastPlan(this.#functionsDir, output, this.#force);
    this.#planTexts = new Map(texts);
    this.#unread = diagnostics;
    this.#deployable = new Deployable(plans);
    return this.#deployable;
  }

  /** Says what is new: an edit of another file of the app, and a problem that is still the same, are not. */
  #tell(result: CompileResult, written: Written, elapsedMs: number): void {
    const print = printTo(this.#terminal);
    const edited = this.#sources === undefined || !isSame(this.#sources, result.sources);
    const changed = written.written.length + written.removed.length > 0;
    this.#sources = result.sources;
    const broken = this.#problem;
    const problems = JSON.stringify(result.diagnostics);
    const problem = result.ok ? undefined : problems;
    this.#problem = problem;
    if (edited || problem !== broken || problems !== this.#told)
      printDiagnostics(result, this.#folder, this.#terminal);
    this.#told = problems;
    if (!result.ok) return;
    if (broken !== undefined) print.out(`${this.#clock()} ${this.#colors.green("Mended.")}`);
    if (edited || changed || broken !== undefined)
      print.out(
        `${this.#clock()} ${report(result, written, this.#folder, elapsedMs, this.#terminal)}`,
      );
  }

  get #folder(): string {
    return displayPath(this.#terminal.cwd, this.#functionsDir);
  }

  get #colors(): ReturnType<typeof pc.createColors> {
    return pc.createColors(this.#terminal.color);
  }

  #clock(): string {
    return this.#colors.dim(`[${new Date().toTimeString().slice(0, 8)}]`);
  }
}

const nothing: Written = { written: [], removed: [], unchanged: [], edited: [] };
