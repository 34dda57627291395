import { Compiler, writeGenerated, type CompileResult } from "../compile.js";
import { discover, isSame } from "../discover/discover.js";
import { keepStamp } from "../stamp/stamp.js";
import { displayPath, functionsFolder } from "./functions-folder.js";
import { counted, printDiagnostics, report } from "./generate-report.js";
import { generateWatch } from "./generate-watch.js";
import { printTo, type Terminal } from "./terminal.js";

export interface GenerateOptions {
  readonly dir?: string;
  readonly watch?: boolean;
  readonly force?: boolean;
}

/** Compiles and writes; gives the exit code. */
export async function generate(options: GenerateOptions, terminal: Terminal): Promise<0 | 1> {
  const started = performance.now();
  const functionsDir = await functionsFolder(terminal.cwd, options.dir);
  const { force = false } = options;
  if (options.watch === true) {
    const signal = terminal.interrupted ?? neverInterrupted;
    await generateWatch(functionsDir, terminal, { force, signal });
    return 0;
  }
  const folder = displayPath(terminal.cwd, functionsDir);
  const result = await compileLatest(functionsDir);
  printDiagnostics(result, folder, terminal);
  if (!result.ok) return 1;
  const written = await writeGenerated(functionsDir, result.files, { force });
  remember(functionsDir, result);
  const elapsedMs = performance.now() - started;
  printTo(terminal).out(report(result, written, folder, elapsedMs, terminal));
  return 0;
}

/**
 * Compiles what is on the disk by the time there is something to write: to load the compiler takes long enough for a definition to be
 * saved, and compiled by one that watches, whose output must not be replaced by an older one.
 */
async function compileLatest(functionsDir: string): Promise<CompileResult> {
  const compiler = new Compiler({ once: true });
  let result = await compiler.compile({ functionsDir });
  for (let again = 0; again < 3 && !isSame(result.sources, discover(functionsDir)); again++)
    result = await compiler.compile({ functionsDir });
  return result;
}

const neverInterrupted = new AbortController().signal;

/** So that the next run can tell that nothing has changed. Not with warnings, as these are shown every time, nor of an app without workflows. */
function remember(functionsDir: string, { diagnostics, plan, ...contents }: CompileResult): void {
  if (diagnostics.length > 0 || plan.workflows.length === 0) return;
  const outputs = new Map(contents.files.map(({ path, text }) => [path, text]));
  keepStamp(functionsDir, { ...contents, outputs }, counted(plan));
}
