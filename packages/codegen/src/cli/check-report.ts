import pc from "picocolors";
import type { Answer } from "../cache/last-compile.js";
import type { Compatibility } from "../compatibility/change.js";
import { readText } from "../discover/discover.js";
import { sidesOf } from "../write/own-files.js";
import type { Findings } from "./findings.js";
import type { Leftover } from "../plan/schema.js";
import { plural } from "./counts.js";
import { printTo, type Terminal } from "./terminal.js";

const order: readonly Compatibility[] = ["stops", "loses", "rename", "safe"];

const titles: Readonly<Record<Compatibility, string>> = {
  stops: "stops runs",
  loses: "cannot be undone",
  rename: "needs a mapping of names",
  safe: "safe",
};

/** Prints what `generate` would do. */
export function printDrift(
  { drift }: Findings,
  functionsDir: string,
  { folder, against }: { readonly folder: string; readonly against: string | undefined },
  terminal: Terminal,
): void {
  const print = printTo(terminal);
  const colors = pc.createColors(terminal.color);
  const path = (file: string) => (folder === "." ? file : `${folder}/${file}`);
  const tell = (files: readonly string[], what: string) => {
    for (const file of files) {
      const found = drift.edited.includes(file) ? "edited by hand" : what;
      print.out(`${colors.yellow(found)} ${path(file)}`);
    }
  };
  const isMerged = (file: string) => sidesOf(readText(`${functionsDir}/${file}`) ?? "").length > 1;
  tell(drift.written.filter(isMerged), "both sides of a merge in");
  tell(
    drift.written.filter((file) => !isMerged(file)),
    "out of date",
  );
  tell(drift.removed, "left over");
  const count = drift.written.length + drift.removed.length;
  const options = [
    ...(against === undefined ? [] : [`generate --against ${against}`]),
    ...(drift.edited.length > 0 ? ["--force"] : []),
  ];
  const command = ["workflow-codegen", ...options].join(" ");
  print.out(
    count === 0
      ? "Generated code is up to date."
      : `${plural(count, "file")} of generated code out of date: run ${command}, and commit what it writes.`,
  );
}

/** Prints what the new plan was compared with. */
export function printBaseline({ against: { from, hint } }: Findings, terminal: Terminal): void {
  const print = printTo(terminal);
  const colors = pc.createColors(terminal.color);
  print.out(colors.dim(`Compared with ${from}.`));
  if (hint !== undefined) print.out(`  ${colors.green("hint")}: ${hint}`);
}

/** Prints every change of the plan with what becomes of runs in flight, the worst first. */
export function printChanges({ changes }: Findings, terminal: Terminal): void {
  const print = printTo(terminal);
  const colors = pc.createColors(terminal.color);
  const paint = { stops: colors.red, loses: colors.red, rename: colors.yellow, safe: colors.green };
  for (const compatibility of order) {
    for (const { workflow, node, message, hint, ...change } of changes) {
      if (change.compatibility !== compatibility) continue;
      const place = node === undefined ? workflow : `${workflow} › ${node}`;
      print.out(`${paint[compatibility](titles[compatibility])} ${place}: ${message}`);
      if (hint !== undefined) print.out(`  ${colors.green("hint")}: ${hint}`);
    }
  }
  if (changes.some(({ reuses }) => reuses === true))
    print.out(
      "Where code changed under one name, results made before the deploy are handed to the new readers.",
    );
  const count = (...kinds: Compatibility[]) =>
    changes.filter((change) => kinds.includes(change.compatibility)).length;
  const stopping = count("stops", "rename");
  const losing = count("loses");
  if (stopping > 0) print.out(`${plural(stopping, "change")} would stop runs in flight.`);
  if (losing > 0) {
    print.out(`${plural(losing, "compensation")} would no longer run for runs in flight.`);
  }
  if (changes.length > 0 && stopping + losing === 0) print.out("Runs in flight go on.");
}

/** Prints the changes that take something from runs in flight, with what they were compared with. */
export function warnOfChanges({ changes, against: { from } }: Answer, terminal: Terminal): void {
  const print = printTo(terminal);
  const colors = pc.createColors(terminal.color);
  for (const { workflow, node, message, compatibility } of changes) {
    if (compatibility === "safe") continue;
    const place = node === undefined ? workflow : `${workflow} › ${node}`;
    print.err(
      `${colors.yellow("warning")} compared with ${from}, ${titles[compatibility]} ${place}: ${message}`,
    );
  }
}

/** What became of `--drop`: it was not given; something else had to be well first; what could go is gone. */
export type Dropping = "notAsked" | "refused" | "done";

/** Prints what earlier versions have left behind, and what has become or may become of it. */
export function printLeft(
  { left, dropped }: Findings,
  dropping: Dropping,
  terminal: Terminal,
): void {
  const print = printTo(terminal);
  const colors = pc.createColors(terminal.color);
  const word = dropped ? colors.red("dropped") : colors.dim("kept for runs in flight");
  for (const name of leftNames(left)) print.out(`${word} ${name}`);
  if (left.length === 0) {
    if (dropping !== "notAsked") print.out("Nothing is left behind by earlier versions.");
  } else if (dropping === "refused") print.out("Nothing was dropped, as not all is well.");
  else if (dropping === "notAsked")
    print.out("Once no run of an earlier version is in flight, check --drop removes what is kept.");
  else if (!dropped)
    print.out("Nothing was dropped: runs of the plan that is deployed may need all of it.");
}

/** `sendMail › outline` for a stage that is gone, `invoice` for a workflow with all its stages. */
export function leftNames(left: readonly Leftover[]): string[] {
  return left.flatMap(({ workflow, stages, nodes = [] }) => {
    const names = new Set([...stages, ...nodes.map(({ name }) => name)]);
    return names.size === 0 ? [workflow] : [...names].map((name) => `${workflow} › ${name}`);
  });
}
