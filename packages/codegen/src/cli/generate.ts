import {
  Compiler,
  writeGenerated,
  WriteRefused,
  type CompileOptions,
  type CompileResult,
  type Written,
} from "../compile.js";
import type { Diagnostic } from "../diagnostics/diagnostic.js";
import { discover, isSame } from "../discover/discover.js";
import type { Answer } from "../cache/last-compile.js";
import { displayPath, functionsFolder, UsageError } from "./functions-folder.js";
import { counted, printDiagnostics, report, withoutFrames } from "./generate-report.js";
import { baselineFor } from "./given-plan.js";
import { warnOfChanges } from "./check-report.js";
import type { ChooseBaseline } from "../compatibility/baseline.js";
import type { Change } from "../compatibility/change.js";
import { refsState } from "../git/refs.js";
import { answerOf, keepAnswer } from "./answer.js";
import { isSafe } from "./findings.js";
import { generateWatch } from "./generate-watch.js";
import type { Leftover } from "../plan/schema.js";
import { printTo, type Terminal } from "./terminal.js";

export interface GenerateOptions {
  readonly dir?: string;
  readonly watch?: boolean;
  readonly force?: boolean;
  /** A plan or a commit that is deployed, in the place of the main branch's. */
  readonly against?: string;
  readonly json?: boolean;
}

/** What `generate` did; printed as it is with `--json`. */
export interface Generated {
  /** Whether there are no errors, and what differed was written: the exit code is 0. */
  readonly ok: boolean;
  readonly problems: readonly Diagnostic[];
  /** Relative to the functions folder. */
  readonly written: readonly string[];
  readonly removed: readonly string[];
  /** What earlier versions have left behind for runs in flight. */
  readonly left: readonly Leftover[];
  /** The changes since what is deployed that are not safe for runs in flight. */
  readonly changes: readonly Change[];
  readonly workflows: number;
  readonly nodes: number;
  /** Why nothing was written, where something stands in the way; absent otherwise. */
  readonly refused?: string;
}

interface Compiling extends CompileOptions {
  readonly force: boolean;
  readonly baseline: ChooseBaseline;
  /** Where the branches were before. */
  readonly branches: string;
  /** Whether the baseline is the usual one. */
  readonly isUsual: boolean;
}

/** Compiles and writes; gives the exit code. */
export async function generate(options: GenerateOptions, terminal: Terminal): Promise<0 | 1> {
  const started = performance.now();
  const functionsDir = await functionsFolder(terminal.cwd, options.dir);
  const { force = false } = options;
  if (options.watch === true && options.json === true)
    throw new UsageError("--watch and --json do not go together: what is watched has no end.");
  if (options.watch === true && options.against !== undefined)
    throw new UsageError("--watch and --against do not go together: generate once with --against.");
  const { against } = options;
  const compiling: Compiling = {
    functionsDir,
    force,
    branches: refsState(functionsDir),
    isUsual: against === undefined,
    baseline: await baselineFor(against, functionsDir, terminal.cwd),
  };
  if (options.json === true) return printJson(await generated(compiling), terminal);
  if (options.watch === true) {
    const signal = terminal.interrupted ?? neverInterrupted;
    await generateWatch(functionsDir, terminal, { force, signal, baseline: compiling.baseline });
    return 0;
  }
  const folder = displayPath(terminal.cwd, functionsDir);
  const result = await compileLatest(compiling);
  printDiagnostics(result, folder, terminal);
  if (!result.ok) return 1;
  const { files, output } = result;
  const written = await writeGenerated(functionsDir, files, { force, folders: [output] });
  const answer = remember(compiling, result, written);
  const elapsedMs = performance.now() - started;
  printTo(terminal).out(report(result, written, folder, elapsedMs, terminal));
  warnOfChanges(answer, terminal);
  return 0;
}

/** Compiles and writes, and tells it as data. */
async function generated(compiling: Compiling): Promise<Generated> {
  const { functionsDir, force } = compiling;
  const result = await compileLatest(compiling);
  const { ok, diagnostics, plan } = result;
  const found = {
    ok,
    problems: diagnostics.map(withoutFrames),
    written: [],
    removed: [],
    left: plan.removed ?? [],
    changes: answerOf(result).changes.filter((change) => !isSafe(change)),
    ...counted(plan),
  };
  if (!ok) return found;
  try {
    const { files, output } = result;
    const drift = await writeGenerated(functionsDir, files, { force, folders: [output] });
    const { written, removed } = drift;
    remember(compiling, result, drift);
    return { ...found, written, removed };
  } catch (error) {
    if (!(error instanceof WriteRefused)) throw error;
    return { ...found, ok: false, refused: error.message };
  }
}

function printJson(found: Generated, terminal: Terminal): 0 | 1 {
  printTo(terminal).out(JSON.stringify(found, undefined, 2));
  return found.ok ? 0 : 1;
}

/**
 * Compiles what is on the disk by the time there is something to write: to load the compiler takes long enough for a definition to be
 * saved, and compiled by one that watches, whose output must not be replaced by an older one.
 */
async function compileLatest(compiling: CompileOptions): Promise<CompileResult> {
  const compiler = new Compiler({ once: true });
  const isLatest = ({ sources }: CompileResult) =>
    isSame(sources, discover(compiling.functionsDir));
  let result = await compiler.compile(compiling);
  for (let again = 0; again < 3 && !isLatest(result); again++)
    result = await compiler.compile(compiling);
  compiler.remember(compiling.functionsDir);
  return result;
}

const neverInterrupted = new AbortController().signal;

/** Tells what there is to say now that all is written, and keeps it for the next run. */
function remember(
  { functionsDir, isUsual, branches }: Compiling,
  result: CompileResult,
  { written, removed }: Written,
): Answer {
  const answer = answerOf(result);
  // A warning may be of what was there before: the next run tells what is left of them.
  const isSettled = result.diagnostics.length === 0 || written.length + removed.length === 0;
  if (isUsual && isSettled) keepAnswer(functionsDir, result, answer, branches);
  return answer;
}
