import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { compile, driftOf, writeGenerated, type Written } from "../compile.js";
import type { Diagnostic } from "../diagnostics/diagnostic.js";
import type { Change } from "../fates/change.js";
import { compare } from "../fates/compare.js";
import { outputFolder } from "../plan/paths.js";
import { readPlan } from "../plan/read.js";
import type { Leftover, WrittenPlan } from "../plan/schema.js";
import { toWritten } from "../plan/write.js";
import { printChanges, printDrift, printLeft } from "./check-report.js";
import { displayPath, functionsFolder, UsageError } from "./functions-folder.js";
import { printDiagnostics } from "./generate-report.js";
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
  /** Whether that has been dropped. */
  readonly dropped: boolean;
}

/** Compiles and compares, and drops what was left behind if asked to; gives the exit code. */
export async function check(options: CheckOptions, terminal: Terminal): Promise<0 | 1> {
  const functionsDir = await functionsFolder(terminal.cwd, options.dir);
  const before = planBefore(options, functionsDir, terminal.cwd);
  const { ok, diagnostics, files, plan } = await compile({ functionsDir });
  // With errors there is no plan to compare.
  const drift = ok ? await driftOf(functionsDir, files) : { written: [], removed: [], edited: [] };
  const changes = ok && before !== undefined ? compare(before, toWritten(plan)) : [];
  const isUpToDate = drift.written.length + drift.removed.length === 0;
  const isFine = ok && isUpToDate && changes.every(({ fate }) => fate === "safe");
  const left = plan.removed ?? [];
  const dropped = options.drop === true && isFine && left.length > 0;
  if (dropped) await drop(functionsDir);
  const findings: Findings = {
    ok: isFine,
    problems: diagnostics.map(withoutFrames),
    drift: { written: drift.written, removed: drift.removed, edited: drift.edited },
    changes,
    left,
    dropped,
  };
  if (options.json === true) printTo(terminal).out(JSON.stringify(findings, undefined, 2));
  else {
    const folder = displayPath(terminal.cwd, functionsDir);
    printDiagnostics({ diagnostics }, folder, terminal);
    if (ok) {
      printDrift(findings, folder, terminal);
      printChanges(findings, terminal);
      printLeft(findings, options.drop === true, terminal);
    }
  }
  return findings.ok ? 0 : 1;
}

/** Writes the generated code anew, without what was left behind. */
async function drop(functionsDir: string): Promise<void> {
  const { files } = await compile({ functionsDir, drop: true });
  await writeGenerated(functionsDir, files);
}

/** A tool that reads places has the sources. */
function withoutFrames({ code, severity, message, place, hint, ...rest }: Diagnostic): Diagnostic {
  const related = rest.related.map((each) => ({ message: each.message, place: each.place }));
  return { code, severity, message, place, hint, related };
}

/** The plan to compare with; undefined in an app that has none yet. */
function planBefore(
  { against }: CheckOptions,
  functionsDir: string,
  cwd: string,
): WrittenPlan | undefined {
  const path =
    against === undefined ? join(functionsDir, outputFolder, "plan.json") : resolve(cwd, against);
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch {
    if (against === undefined) return undefined;
    throw new UsageError(`There is no plan at ${displayPath(cwd, path)}.`);
  }
  return readPlan(text, displayPath(cwd, path));
}
