import type { Answer } from "../cache/last-compile.js";
import type { Written } from "../compile.js";
import type { Diagnostic } from "../diagnostics/diagnostic.js";
import {
  printBaseline,
  printChanges,
  printDrift,
  printLeft,
  warnOfChanges,
  type Dropping,
} from "./check-report.js";
import { displayPath } from "./functions-folder.js";
import { printDiagnostics, withoutFrames } from "./generate-report.js";
import { printTo, type Terminal } from "./terminal.js";

/** What `check` found; printed as it is with `--json`. */
export interface Findings extends Pick<Answer, "changes" | "left" | "against"> {
  /** Whether all is well: the exit code is 0. */
  readonly ok: boolean;
  readonly problems: readonly Diagnostic[];
  /** What `generate` would write and remove; and which of it was edited by hand, so that it takes `--force`. */
  readonly drift: Pick<Written, "written" | "removed" | "edited">;
  /** Whether what was left behind has been dropped, but for what the baseline needs. */
  readonly dropped: boolean;
}

/** Where and how `check` was asked. */
export interface Checking {
  readonly functionsDir: string;
  readonly json: boolean;
  readonly against: string | undefined;
  readonly dropping: Dropping;
  /** Whether there are no errors: with errors there is no plan to compare. */
  readonly isCompiled: boolean;
}

/** Prints what was found; gives the exit code. */
export function printFindings(
  found: Omit<Findings, "problems">,
  diagnostics: readonly Diagnostic[],
  { functionsDir, json, against, dropping, isCompiled }: Checking,
  terminal: Terminal,
): 0 | 1 {
  const { ok, drift, changes, left, dropped, against: from } = found;
  const problems = diagnostics.map(withoutFrames);
  const findings: Findings = { ok, problems, drift, changes, left, dropped, against: from };
  if (json) printTo(terminal).out(JSON.stringify(findings, undefined, 2));
  else {
    const folder = displayPath(terminal.cwd, functionsDir);
    printDiagnostics({ diagnostics }, folder, terminal);
    if (isCompiled) {
      printDrift(findings, functionsDir, { folder, against }, terminal);
      printBaseline(findings, terminal);
      printChanges(findings, terminal);
      printLeft(findings, dropping, terminal);
    }
  }
  return ok ? 0 : 1;
}

export const isSafe = ({ compatibility }: Answer["changes"][number]): boolean =>
  compatibility === "safe";

/** Prints what `check` finds in an app that has not changed; gives the exit code. */
export function printUnchanged(
  { diagnostics, changes, left, against }: Answer,
  asked: Pick<Checking, "functionsDir" | "json">,
  terminal: Terminal,
): 0 | 1 {
  const drift = { written: [], removed: [], edited: [] };
  const found = { ok: changes.every(isSafe), drift, changes, left, dropped: false, against };
  const checking = {
    ...asked,
    against: undefined,
    dropping: "notAsked",
    isCompiled: true,
  } as const;
  return printFindings(found, diagnostics, checking, terminal);
}

/** Prints what `generate` warns of, each time. */
export function printWarnings(answer: Answer, functionsDir: string, terminal: Terminal): void {
  printDiagnostics(answer, displayPath(terminal.cwd, functionsDir), terminal);
  warnOfChanges(answer, terminal);
}
