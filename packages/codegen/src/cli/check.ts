import { Compiler, driftOf, writeGenerated, type CompileResult, type Written } from "../compile.js";
import type { Diagnostic } from "../diagnostics/diagnostic.js";
import type { Baseline } from "../compatibility/baseline.js";
import type { Change } from "../compatibility/change.js";
import { compare } from "../compatibility/compare.js";
import { leftOut } from "../plan/leftovers.js";
import type { Leftover, WrittenPlan } from "../plan/schema.js";
import { toWritten } from "../plan/write.js";
import { lastPlan } from "../write/last-plan.js";
import { printBaseline, printChanges, printDrift, printLeft } from "./check-report.js";
import { displayPath, functionsFolder } from "./functions-folder.js";
import { baselineFor } from "./given-plan.js";
import { printDiagnostics, withoutFrames } from "./generate-report.js";
import { printTo, type Terminal } from "./terminal.js";

export interface CheckOptions {
  readonly dir?: string;
  readonly against?: string;
  readonly json?: boolean;
  readonly drop?: boolean;
}

/** What `check` found; printed as it is with `--json`. */
export interface Findings {
  /** Whether all is well: the exit code is 0. */
  readonly ok: boolean;
  readonly problems: readonly Diagnostic[];
  /** What `generate` would write and remove; and which of it was edited by hand, so that it takes `--force`. */
  readonly drift: Pick<Written, "written" | "removed" | "edited">;
  readonly changes: readonly Change[];
  /** What earlier versions have left behind for runs in flight. */
  readonly left: readonly Leftover[];
  /** Whether what was left behind has been dropped, but for what the baseline needs. */
  readonly dropped: boolean;
  /** What the new plan was compared with; and what to do, when that was not the plan that is deployed. */
  readonly against: Pick<Baseline, "from" | "hint">;
}

/** Compiles and compares, and drops what was left behind if asked to; gives the exit code. */
export async function check(options: CheckOptions, terminal: Terminal): Promise<0 | 1> {
  const functionsDir = await functionsFolder(terminal.cwd, options.dir);
  const { against } = options;
  const choose = await baselineFor(against, functionsDir, terminal.cwd);
  const compiler = new Compiler({ once: true });
  const compiled = await compiler.compile({ functionsDir, baseline: choose });
  compiler.remember(functionsDir);
  const { ok, diagnostics, files, output, plan, baseline } = compiled;
  const deployed = baseline?.plan;
  const [before = deployed] =
    deployed === undefined ? await writtenBefore(compiled, functionsDir) : [];
  // With errors there is no plan to compare.
  const drift = ok
    ? await driftOf(functionsDir, files, { folders: [output] })
    : { written: [], removed: [], edited: [] };
  const changes = ok && before !== undefined ? compare(before, toWritten(plan)) : [];
  const isUpToDate = drift.written.length + drift.removed.length === 0;
  const isFine = ok && isUpToDate && changes.every(({ compatibility }) => compatibility === "safe");
  // Whatever becomes of the runs of the plan that is deployed: what they need is kept.
  const mayDrop = isFine || (ok && isUpToDate && deployed !== undefined);
  const dropping = options.drop !== true ? "notAsked" : mayDrop ? "done" : "refused";
  const droppable = dropping === "done" ? await drop(functionsDir, compiled, baseline) : [];
  const dropped = droppable.length > 0;
  const findings: Findings = {
    ok: isFine,
    problems: diagnostics.map(withoutFrames),
    drift: { written: drift.written, removed: drift.removed, edited: drift.edited },
    changes,
    left: dropped ? droppable : (plan.removed ?? []),
    dropped,
    against: { from: baseline?.from ?? "", ...hinted(baseline) },
  };
  if (options.json === true) printTo(terminal).out(JSON.stringify(findings, undefined, 2));
  else {
    const folder = displayPath(terminal.cwd, functionsDir);
    printDiagnostics({ diagnostics }, folder, terminal);
    if (ok) {
      printDrift(findings, functionsDir, { folder, against }, terminal);
      printBaseline(findings, terminal);
      printChanges(findings, terminal);
      printLeft(findings, dropping, terminal);
    }
  }
  return findings.ok ? 0 : 1;
}

const hinted = (baseline: Baseline | undefined): Pick<Baseline, "hint"> =>
  baseline?.hint === undefined ? {} : { hint: baseline.hint };

/** Writes the generated code anew, without what was left behind but for what the plan that is deployed needs; gives what is gone by that. */
async function drop(
  functionsDir: string,
  { plan: whole, output }: CompileResult,
  deployed: Baseline | undefined,
): Promise<readonly Leftover[]> {
  const kept = deployed?.plan === undefined ? {} : { baseline: () => deployed };
  const { files, plan } = await new Compiler().compile({ functionsDir, drop: true, ...kept });
  const dropped = leftOut(whole.removed ?? [], plan.removed ?? []);
  if (dropped.length > 0) await writeGenerated(functionsDir, files, { folders: [output] });
  return dropped;
}

/** The plan that was written last, if there is one; of a merge's conflict the first side. What is wrong with it, compiling has told. */
async function writtenBefore(
  { output }: CompileResult,
  functionsDir: string,
): Promise<readonly WrittenPlan[]> {
  return (await lastPlan(functionsDir, output)).plans;
}
