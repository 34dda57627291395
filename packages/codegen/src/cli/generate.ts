import { Compiler, writeGenerated, WriteRefused } from "../compile.js";
import type { CompileOptions, CompileResult, Written } from "../compile.js";
import { discover, isSame } from "../discover/discover.js";
import { refsState } from "../git/repository.js";
import { displayPath, functionsFolder, UsageError } from "./functions-folder.js";
import { generateWatch } from "./generate-watch.js";
import { answerOf, baselineFor, keepAnswer } from "./plans.js";
import { isSafe, printDiagnostics, printUnsafeChanges, report, withoutFrames } from "./report.js";
import { printTo, type Terminal } from "./terminal.js";

export interface GenerateOptions {
  readonly dir?: string;
  readonly watch?: boolean;
  readonly force?: boolean;
  readonly against?: string;
  readonly json?: boolean;
}

/** Compiles and writes; gives the exit code. What `--json` prints is described in docs/cli.md. */
export async function generate(options: GenerateOptions, terminal: Terminal): Promise<0 | 1> {
  const started = performance.now();
  const functionsDir = functionsFolder(terminal.cwd, options.dir);
  const { watch = false, force = false, json = false, against } = options;
  if (watch && json)
    throw new UsageError("--watch and --json do not go together: what is watched has no end.");
  if (watch && against !== undefined)
    throw new UsageError("--watch and --against do not go together: generate once with --against.");
  const folder = displayPath(terminal.cwd, functionsDir);
  if (watch) {
    const ready = () =>
      printTo(terminal).out(`Watching ${folder} for changes. Press Ctrl-C to stop.`);
    await generateWatch(functionsDir, terminal, { force, ready });
    return 0;
  }
  const branches = refsState(functionsDir);
  const baseline = await baselineFor(against, functionsDir, terminal.cwd);
  const result = await compileLatest({ functionsDir, force, baseline });
  if (!json) printDiagnostics(result.diagnostics, folder, terminal);
  const answer = answerOf(functionsDir, result);
  let written: Written | undefined;
  let refused: string | undefined;
  try {
    const { files, output } = result;
    if (result.ok)
      written = await writeGenerated(functionsDir, files, { force, folders: [output] });
  } catch (error) {
    if (!json || !(error instanceof WriteRefused)) throw error;
    refused = error.message;
  }
  // A warning may be of what was there before: the next run tells what is left of them.
  const ok = written !== undefined;
  const isSettled =
    written !== undefined &&
    (result.diagnostics.length === 0 || written.written.length + written.removed.length === 0);
  if (isSettled && against === undefined) keepAnswer(functionsDir, result, answer, branches);
  if (json) {
    const { tombstones, workflows, nodes } = answer;
    const found = {
      ok,
      problems: result.diagnostics.map(withoutFrames),
      written: written?.written ?? [],
      removed: written?.removed ?? [],
      tombstones,
      changes: answer.changes.filter((change) => !isSafe(change)),
      workflows,
      nodes,
      refused,
    };
    printTo(terminal).out(JSON.stringify(found, undefined, 2));
  } else if (written !== undefined) {
    const elapsedMs = performance.now() - started;
    printTo(terminal).out(report(result, written, folder, elapsedMs, terminal));
    printUnsafeChanges(answer, terminal);
  }
  return ok ? 0 : 1;
}

/** Compiles what is on the disk at the end: a definition may be saved while the compiler loads. */
async function compileLatest(options: CompileOptions): Promise<CompileResult> {
  const compiler = new Compiler({ once: true });
  const isLatest = ({ sources }: CompileResult) => isSame(sources, discover(options.functionsDir));
  let result = await compiler.compile(options);
  for (let again = 0; again < 3 && !isLatest(result); again++)
    result = await compiler.compile(options);
  compiler.remember(options.functionsDir);
  return result;
}
