import type { Answer } from "../cache/last-compile.js";
import type { Written } from "../compile.js";
import type { Compatibility } from "../compatibility/lines.js";
import type { Diagnostic } from "../diagnostics/diagnostic.js";
import { configFile } from "../plan/paths.js";
import type { Tombstones } from "../plan/schema.js";
import { plural } from "./counts.js";
import { displayPath, inFolder } from "./functions-folder.js";
import { printTo, type Terminal } from "./terminal.js";
import { ON_END } from "../plan/on-end.js";
import { readText } from "../discover/discover.js";
import { sidesOf } from "../write/present-files.js";

/** How each compatibility is called, the worst first. */
const compatibilities: Readonly<Record<Compatibility, string>> = {
  stops: "stops runs",
  loses: "cannot be undone",
  rename: "needs a rename",
  safe: "safe",
};

export const isSafe = ({ compatibility }: Answer["changes"][number]): boolean =>
  compatibility === "safe";

/** Returns true if nothing tells what is deployed where somebody relies on the comparison. */
const isBlind = ({ missing }: Answer["against"]): boolean =>
  missing !== undefined &&
  (missing.isShallow || !["", "0", "false"].includes(process.env["CI"] ?? ""));

/** A tool that reads places has the sources. */
export function withoutFrames(diagnostic: Diagnostic): Diagnostic {
  const related = diagnostic.related.map(({ message, place }) => ({ message, place }));
  return { ...diagnostic, frame: undefined, related };
}

/** Returns how a change is called: a removed `onEnd` is left out, because it undoes nothing. */
const calledOf = ({ node, compatibility }: Answer["changes"][number]): string =>
  node === ON_END && compatibility === "loses" ? "left out" : compatibilities[compatibility];

/** Prints the changes that take something from runs in flight. */
export function printUnsafeChanges({ changes, against: { from } }: Answer, terminal: Terminal) {
  const { err, colors } = printTo(terminal);
  for (const change of changes) {
    if (isSafe(change)) continue;
    const what = `${calledOf(change)}: ${placeOf(change)}: ${change.message}`;
    err(`${colors.yellow("warning")} compared with ${from}, ${what}`);
  }
}

/** `order › save`, or the config. */
const placeOf = ({ workflow, node }: Answer["changes"][number]): string =>
  node === undefined ? workflow || configFile : `${workflow} › ${node}`;

export const noWorkflow = (folder: string): string =>
  `No workflow found: none of ${inFolder(folder, "**/*.workflow.ts")} calls defineWorkflow(). Run workflow-codegen init to add a first one.`;

/** `sendMail › outline` for a stage that is gone, `invoice` for a workflow with all its stages. */
export function tombstoneNames(tombstones: readonly Tombstones[]): string[] {
  return tombstones.flatMap(({ workflow, stages, nodes = [] }) => {
    const names = new Set([...stages, ...nodes.map(({ name }) => name)]);
    return names.size === 0 ? [workflow] : [...names].map((name) => `${workflow} › ${name}`);
  });
}

/** What `check` found; printed as it is with `--json`, with the problems. */
interface Findings extends Pick<Answer, "changes" | "tombstones" | "against"> {
  readonly ok: boolean;
  /** What `generate` would write and remove. What was edited by hand takes `--force`. */
  readonly drift: Pick<Written, "written" | "removed" | "edited">;
  /** Says whether tombstones were dropped, except those that the baseline needs. */
  readonly dropped: boolean;
}

export const noDrift: Findings["drift"] = { written: [], removed: [], edited: [] };

interface Checking {
  readonly functionsDir: string;
  readonly json: boolean;
  readonly against?: string | undefined;
  /** Says whether `--drop` was not given, something else had to be well first, or it was done. */
  readonly dropping: "notAsked" | "refused" | "done";
}

/** Prints what `check` found, but not the problems, unless it is asked for JSON. */
export function printFindings(
  findings: Findings,
  diagnostics: readonly Diagnostic[],
  { functionsDir, json, against, dropping }: Checking,
  terminal: Terminal,
): 0 | 1 | 2 {
  const { out, err, asJson, colors } = printTo(terminal);
  const { drift, against: baseline } = findings;
  const folder = displayPath(terminal.cwd, functionsDir);
  const ok = findings.ok && !isBlind(baseline);
  const code = ok ? 0 : findings.ok ? 2 : 1;
  if (json) {
    asJson({ ...findings, ok, problems: diagnostics.map(withoutFrames) });
    return code;
  }
  // With errors there is no plan to compare.
  if (diagnostics.every(({ severity }) => severity !== "error")) {
    const whatOf = (file: string) => {
      if (drift.edited.includes(file)) return "edited by hand";
      if (drift.removed.includes(file)) return "left over";
      const isMerged = sidesOf(readText(`${functionsDir}/${file}`) ?? "").length > 1;
      return isMerged ? "both sides of a merge" : "out of date";
    };
    for (const file of [...drift.written, ...drift.removed])
      out(`${colors.yellow(whatOf(file))}: ${inFolder(folder, file)}`);
    out(driftText(drift, against));
    printChanges(findings, terminal);
    printTombstones(findings, dropping, terminal);
  }
  if (code === 2) err(`${colors.red("error")} There is no baseline here: ${baseline.hint}.`);
  return code;
}

/** Prints what `check` finds in an app that has not changed; gives the exit code. */
export function printUnchanged(
  { diagnostics, changes, tombstones, against }: Answer,
  asked: Pick<Checking, "functionsDir" | "json">,
  terminal: Terminal,
): 0 | 1 | 2 {
  const ok = changes.every(isSafe);
  const found = { ok, drift: noDrift, changes, tombstones, dropped: false, against };
  return printFindings(found, diagnostics, { ...asked, dropping: "notAsked" }, terminal);
}

function driftText({ written, removed, edited }: Findings["drift"], against?: string): string {
  const count = written.length + removed.length;
  if (count === 0) return "Generated code is up to date.";
  const given = against === undefined ? "" : ` generate --against ${against}`;
  const command = `workflow-codegen${given}${edited.length > 0 ? " --force" : ""}`;
  return `${plural(count, "file")} of generated code out of date: run ${command}, and commit what it writes.`;
}

/** Prints the baseline, and every change with what becomes of runs in flight, the worst first. */
function printChanges({ changes, against }: Findings, terminal: Terminal) {
  const { from, hint: what } = against;
  const { out, colors } = printTo(terminal);
  const hint = (text: string | undefined) => {
    if (text !== undefined) out(`  ${colors.green("hint")}: ${text}`);
  };
  out(colors.dim(`Compared with ${from}.`));
  if (!isBlind(against)) hint(what);
  const paint = { stops: colors.red, loses: colors.red, rename: colors.yellow, safe: colors.green };
  const of = (...kinds: string[]) =>
    changes.filter(({ compatibility }) => kinds.includes(compatibility));
  for (const kind of Object.keys(compatibilities) as Compatibility[])
    for (const [change, ...same] of alike(of(kind))) {
      const places = [change, ...same].map(placeOf).join(", ");
      out(`${paint[kind](calledOf(change))}: ${places}: ${change.message}`);
      hint(change.hint);
    }
  if (changes.some(({ reuses }) => reuses === true))
    out(
      "A node's code changed, but not its name: later nodes also get results that the old code made.",
    );
  const stopping = of("stops", "rename").length;
  const losing = of("loses").length;
  if (stopping > 0) out(`${plural(stopping, "change")} would stop runs in flight.`);
  const ends = of("loses").filter(({ node }) => node === ON_END).length;
  if (ends > 0) out(`${plural(ends, "onEnd")} would no longer run for runs in flight.`);
  if (losing > ends)
    out(`${plural(losing - ends, "compensation")} would no longer run for runs in flight.`);
  if (changes.length > 0 && stopping + losing === 0) out("Runs in flight go on.");
}

type Alike = [Answer["changes"][number], ...Answer["changes"]];

/** Puts together the changes of a kind of which the same is said. */
function alike(changes: Answer["changes"]): Alike[] {
  const groups = new Map<string, Alike>();
  for (const change of changes) {
    const said = JSON.stringify([calledOf(change), change.message, change.hint]);
    const group = groups.get(said);
    if (group === undefined) groups.set(said, [change]);
    else group.push(change);
  }
  return [...groups.values()];
}

/** Prints the tombstones of earlier versions, and what has become or may become of them. */
function printTombstones(
  { tombstones, dropped }: Findings,
  dropping: Checking["dropping"],
  terminal: Terminal,
): void {
  const { out, colors } = printTo(terminal);
  const word = dropped ? colors.red("dropped") : colors.dim("kept for runs in flight");
  if (tombstones.length > 0) out(`${word}: ${tombstoneNames(tombstones).join(", ")}`);
  if (tombstones.length === 0) {
    if (dropping !== "notAsked") out("Earlier versions have left no tombstones.");
  } else if (dropping === "refused") out("Nothing was dropped, as not all is well.");
  else if (dropping === "notAsked")
    out("Once no run of an earlier version is in flight, check --drop removes what is kept.");
  else if (!dropped)
    out("Nothing was dropped: runs of the plan that is deployed may need all of it.");
}
