import pc from "picocolors";
import type { Fate } from "../fates/change.js";
import type { Findings } from "./check.js";
import { plural } from "./counts.js";
import { printTo, type Terminal } from "./terminal.js";

const order: readonly Fate[] = ["stops", "rename", "safe"];

const titles: Readonly<Record<Fate, string>> = {
  stops: "stops runs",
  rename: "needs a mapping of names",
  safe: "safe",
};

/** Prints what `generate` would do. */
export function printDrift({ drift }: Findings, folder: string, terminal: Terminal): void {
  const print = printTo(terminal);
  const colors = pc.createColors(terminal.color);
  const path = (file: string) => (folder === "." ? file : `${folder}/${file}`);
  const tell = (files: readonly string[], what: string) => {
    for (const file of files) {
      const found = drift.edited.includes(file) ? "edited by hand" : what;
      print.out(`${colors.yellow(found)} ${path(file)}`);
    }
  };
  tell(drift.written, "out of date");
  tell(drift.removed, "left over");
  const count = drift.written.length + drift.removed.length;
  const command = drift.edited.length > 0 ? "workflow-codegen --force" : "workflow-codegen";
  print.out(
    count === 0
      ? "Generated code is up to date."
      : `${plural(count, "file")} of generated code out of date: run ${command}, and commit what it writes.`,
  );
}

/** Prints every change of the plan with what becomes of runs in flight, the worst first. */
export function printChanges({ changes }: Findings, terminal: Terminal): void {
  const print = printTo(terminal);
  const colors = pc.createColors(terminal.color);
  const paint = { stops: colors.red, rename: colors.yellow, safe: colors.green };
  for (const fate of order) {
    for (const { workflow, node, message, hint, ...change } of changes) {
      if (change.fate !== fate) continue;
      const place = node === undefined ? workflow : `${workflow} › ${node}`;
      print.out(`${paint[fate](titles[fate])} ${place}: ${message}`);
      if (hint !== undefined) print.out(`  ${colors.green("hint")}: ${hint}`);
    }
  }
  const harmful = changes.filter(({ fate }) => fate !== "safe").length;
  if (harmful > 0) print.out(`${plural(harmful, "change")} would stop runs in flight.`);
  else if (changes.length > 0) print.out("Runs in flight go on.");
}

/** Prints what earlier versions have left behind, and what has become or may become of it. */
export function printLeft(
  { left, dropped, ok }: Findings,
  isAsked: boolean,
  terminal: Terminal,
): void {
  const print = printTo(terminal);
  const colors = pc.createColors(terminal.color);
  const word = dropped ? colors.red("dropped") : colors.dim("kept for runs in flight");
  for (const name of leftNames(left)) print.out(`${word} ${name}`);
  if (isAsked && left.length === 0) print.out("Nothing is left behind by earlier versions.");
  else if (isAsked && !ok) print.out("Nothing was dropped, as not all is well.");
  else if (left.length > 0 && !isAsked)
    print.out("Once no run of an earlier version is in flight, check --drop removes what is kept.");
}

/** `sendMail › outline` for a stage that is gone, `invoice` for a workflow with all its stages. */
export function leftNames(left: Findings["left"]): string[] {
  return left.flatMap(({ workflow, stages }) =>
    stages.length === 0 ? [workflow] : stages.map((stage) => `${workflow} › ${stage}`),
  );
}
