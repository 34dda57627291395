import { quote } from "../diagnostics/diagnostic.js";
import { allNodes } from "../plan/flow.js";
import { outputOf, usualComponent } from "../plan/paths.js";
import type { WrittenPlan } from "../plan/schema.js";
import { sortedBy } from "../plan/sorted.js";
import { type Change, type WorkflowThen, linePairs, type NodeThen } from "./lines.js";
import { compareLine } from "./nodes.js";

/** What changed between two plans, and what becomes of runs in flight: see docs/deploying.md. */
export function compare(before: WrittenPlan, now: WrittenPlan): Change[] {
  const then = new Map(before.workflows.map((workflow) => [workflow.name, workflow]));
  const names = new Set(now.workflows.map(({ name }) => name));
  const isMoved = componentOf(before) !== componentOf(now);
  const folder = outputOf(before.config);
  const hasOtherFolder = folder !== outputOf(now.config);
  const gone = before.workflows
    .filter(({ name }) => !names.has(name))
    .flatMap((old) => [goneWorkflow(old), ...compareUndoing(old, undefined)]);
  const others = now.workflows.flatMap((workflow) => {
    const old = then.get(workflow.name);
    if (old === undefined) return [safe(workflow, "the workflow is new")];
    return [
      ...(isMoved ? [movedWorkflow(workflow, componentOf(before), componentOf(now))] : []),
      ...(hasOtherFolder ? [otherFolder(workflow, folder, outputOf(now.config))] : []),
      ...(old.hash === workflow.hash
        ? []
        : [...compareWorkflow(old, workflow), ...compareUndoing(old, workflow)]),
    ];
  });
  return sortedBy([...gone, ...others], ({ workflow }) => workflow);
}

const stops = ({ name: workflow }: WorkflowThen, message: string, hint: string): Change => {
  return { workflow, compatibility: "stops", message, hint };
};

const safe = ({ name: workflow }: WorkflowThen, message: string): Change => {
  return { workflow, compatibility: "safe", message };
};

function goneWorkflow(workflow: WorkflowThen): Change {
  const message = "the workflow is removed or renamed: all its runs stop where they are";
  const hint = `keep the workflow ${quote(workflow.name)}, started by nobody, until its runs have ended`;
  return stops(workflow, message, hint);
}

const componentOf = ({ config }: WrittenPlan): string => config?.component ?? usualComponent;

function movedWorkflow(workflow: WorkflowThen, from: string, to: string): Change {
  const message = `the component is ${quote(to)} now: runs that are in ${quote(from)} are not known there, and go on no more`;
  return stops(workflow, message, `keep it mounted as ${quote(from)} until no run is in flight`);
}

function otherFolder(workflow: WorkflowThen, from: string, to: string): Change {
  const message = `its generated code stands in ${quote(to)} now: runs in flight call functions in ${quote(from)}, which are not there any more`;
  return stops(workflow, message, `keep \`output: ${quote(from)}\` until no run is in flight`);
}

function compareWorkflow(before: WorkflowThen, now: WorkflowThen): Change[] {
  const { pairs, goneCases } = linePairs(before, now);
  return [
    ...(before.input !== now.input
      ? [safe(now, "another input: runs in flight keep the one they were started with")]
      : []),
    ...(differ(optionsOf(before), optionsOf(now))
      ? [safe(now, "other options: they hold for what starts from now on")]
      : []),
    ...goneCases.map(({ path, keys }): Change => ({
      workflow: now.name,
      node: path,
      compatibility: "stops",
      message: "the case is removed: runs that are in it stop",
      hint: `keep the case until no run is in it any more, given by the type of \`on\` alone: \`(scope): ${keys.map(quote).join(" | ")} => …\``,
    })),
    ...pairs.flatMap((pair) => compareLine(pair, now.name)),
  ];
}

/** What `renamed` says is told of the nodes. */
const optionsOf = ({ options, computed }: WorkflowThen) => [
  { ...options, renamed: undefined },
  computed,
];

const differ = (a: unknown, b: unknown): boolean => JSON.stringify(a) !== JSON.stringify(b);

/** The compensations that are gone; `now` is undefined when the workflow is gone. */
export function compareUndoing(before: WorkflowThen, now: WorkflowThen | undefined): Change[] {
  const names = new Set(now && stageNames(now.nodes));
  return stageNames(before.nodes)
    .filter((name) => name.endsWith(ending) && !names.has(name))
    .map((name): Change => {
      const message =
        "its compensation is removed: a run that is past the step does not undo it when it fails";
      const node = name.slice(0, -ending.length);
      return { workflow: before.name, node, compatibility: "loses", message, hint };
    });
}

const ending = ".compensate";
const hint =
  "keep the step with its compensation until no run that has completed it can still fail";

const stageNames = (nodes: readonly NodeThen[]): string[] =>
  allNodes(nodes).flatMap(({ stages }) => stages.map(({ name }) => name));
