import { existsSync } from "node:fs";
import { join } from "node:path";
import {
  type CompileOptions,
  Compiler,
  type CompileResult,
  driftOf,
  writeGenerated,
  WriteRefused,
  type Written,
} from "../compile.js";
import { discover, type SourceText } from "../discover/discover.js";
import { refsState } from "../git/refs.js";
import { displayPath, functionsFolder, inFolder, UsageError } from "./functions-folder.js";
import { generateWatch } from "./generate-watch.js";
import { answerOf, baselineFor, keepAnswer } from "./plans.js";
import { printDiagnostics, restIsWritten } from "./problems.js";
import { isSafe, noDrift, printFindings, printUnsafeChanges, withoutFrames } from "./report.js";
import { printTo, type Terminal } from "./terminal.js";
import { report } from "./written.js";
import type { Baseline } from "../compatibility/baseline.js";
import { compare } from "../compatibility/compare.js";
import { withoutThose } from "../plan/tombstones.js";
import type { Tombstones } from "../plan/schema.js";
import { toWritten } from "../plan/write.js";
import { lastPlan } from "../write/last-plan.js";

interface GenerateOptions {
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
    throw new UsageError("--watch and --json do not go together: a watch has no end.");
  if (watch && against !== undefined)
    throw new UsageError("--watch and --against do not go together: generate once with --against.");
  const folder = displayPath(terminal.cwd, functionsDir);
  const { out, asJson } = printTo(terminal);
  if (watch) {
    const ready = () => out(`Watching ${folder} for changes. Press Ctrl-C to stop.`);
    await generateWatch(functionsDir, terminal, { force, ready });
    return 0;
  }
  const branches = refsState(functionsDir);
  const baseline = await baselineFor(against, functionsDir, terminal.cwd);
  const result = await compileLatest({ functionsDir, force, baseline });
  const answer = answerOf(functionsDir, result);
  const whole = result.ok ? result : result.sound;
  let written: Written | undefined;
  let failure: unknown;
  try {
    if (whole !== undefined)
      written = await writeGenerated(functionsDir, whole.files, {
        force,
        folders: [result.output],
      });
  } catch (error) {
    failure = error;
  }
  if (!json) printDiagnostics(result.diagnostics, folder, terminal, written && restIsWritten);
  const refused = json && failure instanceof WriteRefused ? failure.message : undefined;
  if (failure !== undefined && refused === undefined) throw failure;
  // A warning may be of what was there before: the next run tells what is left of them.
  const ok = result.ok && written !== undefined;
  const isSettled =
    ok &&
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
    asJson(found);
  } else if (written !== undefined) {
    out(report({ ...result, ...whole }, written, folder, performance.now() - started, terminal));
    if (written.written.length > 0 && !existsSync(join(functionsDir, "_generated")))
      out(
        `Generated code imports ${inFolder(folder, "_generated")}, which does not exist yet: npx convex dev writes it, and npx workflow-codegen init a first version. workflow-codegen run does not need it.`,
      );
    if (ok) printUnsafeChanges(answer, terminal);
  }
  return ok ? 0 : 1;
}

/** Compiles what is on the disk at the end: a definition may be saved while the compiler loads. */
async function compileLatest(options: CompileOptions): Promise<CompileResult> {
  const compiler = new Compiler({ once: true });
  const isLatest = ({ sources }: CompileResult) => {
    const now = discover(options.functionsDir);
    const isSame = ({ file, text, origin }: SourceText, at: number) =>
      now[at]?.file === file && now[at].text === text && now[at].origin === origin;
    return now.length === sources.length && sources.every(isSame);
  };
  let result = await compiler.compile(options);
  for (let again = 0; again < 3 && !isLatest(result); again++)
    result = await compiler.compile(options);
  compiler.remember(options.functionsDir);
  return result;
}

interface CheckOptions extends Pick<GenerateOptions, "dir" | "against" | "json"> {
  readonly drop?: boolean;
}

export async function check(options: CheckOptions, terminal: Terminal): Promise<0 | 1 | 2> {
  const functionsDir = functionsFolder(terminal.cwd, options.dir);
  const { against, json = false } = options;
  const branches = refsState(functionsDir);
  const choose = await baselineFor(against, functionsDir, terminal.cwd);
  const compiled = await compileLatest({ functionsDir, baseline: choose });
  const { ok, diagnostics, files, output, plan, baseline } = compiled;
  const deployed = baseline?.plan;
  const drift = ok ? await driftOf(functionsDir, files, { folders: [output] }) : noDrift;
  const isUpToDate = drift.written.length + drift.removed.length === 0;
  const answer = answerOf(functionsDir, compiled);
  const [before] =
    deployed === undefined && ok && !isUpToDate ? (await lastPlan(functionsDir, output)).plans : [];
  const changes = before === undefined ? answer.changes : compare(before, toWritten(plan));
  const isFine = ok && isUpToDate && changes.every(isSafe);
  // Whatever becomes of the runs of the plan that is deployed: what they need is kept.
  const mayDrop = isFine || (ok && isUpToDate && deployed !== undefined);
  const dropping = options.drop !== true ? "notAsked" : mayDrop ? "done" : "refused";
  const droppable = dropping === "done" ? await drop(functionsDir, compiled, baseline) : [];
  const dropped = droppable.length > 0;
  if (ok && isUpToDate && !dropped && against === undefined)
    keepAnswer(functionsDir, compiled, answer, branches);
  const { written, removed, edited } = drift;
  const found = {
    ok: isFine,
    drift: { written, removed, edited },
    changes,
    tombstones: dropped ? droppable : answer.tombstones,
    dropped,
    against: answer.against,
  };
  if (!json) printDiagnostics(diagnostics, displayPath(terminal.cwd, functionsDir), terminal);
  const checking = { functionsDir, json, against, dropping } as const;
  return printFindings(found, diagnostics, checking, terminal);
}

/** Writes generated code without the tombstones that the baseline does not need; gives these. */
async function drop(
  functionsDir: string,
  { plan: whole, output }: CompileResult,
  deployed: Baseline | undefined,
): Promise<readonly Tombstones[]> {
  const against = deployed?.plan === undefined ? {} : { baseline: () => deployed };
  const { files, plan } = await new Compiler().compile({ functionsDir, drop: true, ...against });
  const dropped = withoutThose(whole.removed ?? [], plan.removed ?? []);
  if (dropped.length > 0) await writeGenerated(functionsDir, files, { folders: [output] });
  return dropped;
}
