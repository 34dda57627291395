import { quote } from "../diagnostics/diagnostic.js";
import { allNodes } from "../plan/flow.js";
import { outputOf, usualComponent } from "../plan/paths.js";
import type { WrittenPlan } from "../plan/schema.js";
import { sortedBy } from "../plan/sorted.js";
import { stageKind } from "../plan/stage-kinds.js";
import { storedAs } from "../plan/workflow-names.js";
import { collectChanges } from "./collect.js";
import { type Change, type WorkflowThen, linePairs, type NodeThen } from "./lines.js";
import { limitChanges } from "./limits.js";
import { compareLine } from "./nodes.js";
import { onEndChanges } from "./on-end.js";
import { oneChanges } from "./one.js";
import { otherResults } from "./outputs.js";
import { eventsOf, inputChanges } from "./schemas.js";
import { standingChanges } from "./standing.js";

/**
 * Returns what changed between two plans, and what becomes of runs in flight: see
 * docs/deploying.md.
 */
export function compare(before: WrittenPlan, now: WrittenPlan): Change[] {
  const then = new Map(before.workflows.map((workflow) => [storedAs(workflow), workflow]));
  const stored = new Set(now.workflows.map(storedAs));
  const added = now.workflows.filter((each) => !then.has(storedAs(each)));
  const moves = movesOf(before, now);
  const gone = before.workflows
    .filter((each) => !stored.has(storedAs(each)))
    .flatMap((old) => [
      goneWorkflow(old, added),
      ...compareUndoing(old, undefined),
      ...onEndChanges(old, undefined),
    ]);
  const others = now.workflows.flatMap((workflow) => {
    const old = then.get(storedAs(workflow));
    if (old === undefined) return [safe(workflow, "the workflow is new")];
    const moved = moves.map(([message, hint]) => stops(workflow, message, hint));
    if (old.hash === workflow.hash) return moved;
    return [
      ...moved,
      ...compareWorkflow(old, workflow),
      ...otherResults(old, workflow, before, now),
      ...compareUndoing(old, workflow),
    ];
  });
  const all = [...limitChanges(before, now), ...gone, ...others];
  return sortedBy(all, ({ workflow }) => workflow);
}

const stops = ({ name: workflow }: WorkflowThen, message: string, hint: string): Change => {
  return { workflow, compatibility: "stops", message, hint };
};

const safe = ({ name: workflow }: WorkflowThen, message: string): Change => {
  return { workflow, compatibility: "safe", message };
};

function goneWorkflow(workflow: WorkflowThen, added: readonly WorkflowThen[]): Change {
  const message = "the workflow is removed or renamed: all its runs fail";
  const other = added.find((each) => isLike(workflow, each));
  const option = `\`renamedFrom: ${quote(workflow.name)}\``;
  const renamed =
    other && `if it is ${quote(other.name)} now, say so in the options of that: ${option}; else `;
  const hint = `${renamed ?? ""}keep the workflow ${quote(workflow.name)}, started by nobody, until its runs have ended`;
  return stops(workflow, message, hint);
}

/** Says whether two have the same nodes, or names that differ in case only. */
const isLike = (one: WorkflowThen, other: WorkflowThen): boolean =>
  one.name.toLowerCase() === other.name.toLowerCase() ||
  stageNames(one.nodes).join() === stageNames(other.nodes).join();

const componentOf = ({ config }: WrittenPlan): string => config?.component ?? usualComponent;

function movesOf(before: WrittenPlan, now: WrittenPlan): [message: string, hint: string][] {
  const [old, component] = [quote(componentOf(before)), quote(componentOf(now))];
  const moved = `the component is ${component} now: runs that are in ${old} are not known there, and go on no more`;
  const [from, to] = [quote(outputOf(before.config)), quote(outputOf(now.config))];
  const elsewhere = `its generated code stands in ${to} now: runs in flight call functions in ${from}, which are not there any more`;
  const moves: [string, string][] = [];
  if (old !== component) moves.push([moved, `keep it mounted as ${old} until no run is in flight`]);
  if (from !== to) moves.push([elsewhere, `keep \`output: ${from}\` until no run is in flight`]);
  return moves;
}

function compareWorkflow(before: WorkflowThen, now: WorkflowThen): Change[] {
  const { pairs, goneCases, otherKeys } = linePairs(before, now);
  const renamed = `renamed from ${quote(before.name)}: its runs go on under the new name, with their compensations`;
  return [
    ...(before.name === now.name ? [] : [safe(now, renamed)]),
    ...inputChanges(before, now),
    ...otherRetry(before, now),
    ...otherSensitive(before, now),
    ...(differ(optionsOf(before), optionsOf(now))
      ? [safe(now, `other options: they hold for what starts from now on${atOnce(before, now)}`)]
      : []),
    ...goneCases.map(({ path, keys, made, ends = "", is, on }): Change => {
      const what = is === "branch" ? is : "case";
      const given =
        is === "case" && on !== undefined
          ? `, given by the type of \`on\` alone: \`(scope): ${keys.map(quote).join(" | ")} => …\``
          : "";
      const come = made === undefined ? "" : `, and so do those that come to it with ${made}`;
      const stop =
        is === "rival"
          ? `it stops in runs that are in it${ends.replace("its case", "it")}`
          : `runs that are in it stop${come}${ends}`;
      const message = `the ${what} is removed: ${stop}`;
      return {
        workflow: now.name,
        node: path,
        compatibility: "stops",
        message,
        hint: `keep the ${what} until no run is in it any more${given}`,
      };
    }),
    ...otherKeys.map(({ path, old, made, takesRest }): Change => {
      const then = takesRest ? "take the default" : "stop there";
      const what = `the case is renamed: those runs ${then} that come to it with ${made}`;
      const key = `keep a case ${quote(old)} that does the same until no run comes to it with that`;
      const compatibility = takesRest ? "safe" : "stops";
      return { workflow: now.name, node: path, compatibility, message: what, hint: key };
    }),
    ...onEndChanges(before, now),
    ...oneChanges(before, now),
    ...standingChanges(before, now),
    ...collectChanges(before, now),
    ...pairs.flatMap((pair) => compareLine(pair, now.name, eventsOf(now))),
  ];
}

/** Returns the options but those that are compared separately. */
const optionsOf = ({ options, computed }: WorkflowThen) => [
  {
    ...options,
    renamed: undefined,
    renamedFrom: undefined,
    retry: undefined,
    sensitive: undefined,
  },
  computed,
];

/** The retry is asked for when an attempt has failed, also of what has begun before. */
function otherRetry(before: WorkflowThen, now: WorkflowThen): Change[] {
  if (!differ(before.options["retry"], now.options["retry"])) return [];
  const isInherited = ({ kind, retry }: NodeThen["stages"][number]) =>
    stageKind(kind).goes === "queued" && retry !== true;
  const names = allNodes(now.nodes)
    .flatMap(({ stages }) => stages.filter(isInherited))
    .map(({ name }) => quote(name));
  // What is computed cannot be told apart: it may be among that.
  const isGone = now.options["retry"] === undefined && before.computed === now.computed;
  const what = isGone ? "the retry is removed" : "another retry";
  const reach = names.length === 0 ? "no node inherits it" : `it holds for ${names.join(" and ")}`;
  const message = `${what}: ${reach}, also in runs that wait for their next attempt, which then fail or go on by it`;
  return [safe(now, names.length === 0 ? `${what}: ${reach}` : message)];
}

/** What is hidden of an input is kept with its run. All else is hidden as the code says. */
function otherSensitive(before: WorkflowThen, now: WorkflowThen): Change[] {
  const [was, is] = [before.options["sensitive"], now.options["sensitive"]];
  if (was === is) return [];
  const [what, then] = is === true ? ["added", "hidden"] : ["removed", "shown"];
  const message = `\`sensitive: true\` is ${what}: runs that were started before show as much of their input as they did, and what the nodes give that they come to from now on is ${then}`;
  return [safe(now, message)];
}

/** What is computed cannot be told from the other options. */
const atOnce = (before: WorkflowThen, now: WorkflowThen): string =>
  differ(before.computed, now.computed)
    ? ", but for a computed `retry`, which holds at once, and paths of `sensitive`, by which messages are hidden at once"
    : "";

const differ = (a: unknown, b: unknown): boolean => JSON.stringify(a) !== JSON.stringify(b);

function compareUndoing(before: WorkflowThen, now: WorkflowThen | undefined): Change[] {
  const names = new Set(now && stageNames(now.nodes));
  return stageNames(before.nodes)
    .filter((name) => name.endsWith(ending) && !names.has(name))
    .map((name): Change => {
      const message =
        "its compensation is removed: a run that is past the step does not undo it when it fails";
      const node = name.slice(0, -ending.length);
      return { workflow: (now ?? before).name, node, compatibility: "loses", message, hint };
    });
}

const ending = ".compensate";
const hint =
  "keep the step with its compensation until no run that has completed it can still fail";

const stageNames = (nodes: readonly NodeThen[]): string[] =>
  allNodes(nodes).flatMap(({ stages }) => stages.map(({ name }) => name));
