import { quote, type Change, type NodeThen, type WorkflowThen } from "./change.js";
import { longestCommon } from "./order.js";

const find = ({ nodes }: WorkflowThen, name: string): NodeThen | undefined =>
  nodes.find((node) => node.name === name);

const missingIn = (other: WorkflowThen, { nodes }: WorkflowThen): NodeThen[] =>
  nodes.filter(({ name }) => find(other, name) === undefined);

/** A node that is gone takes the runs that are at it with it, unless it is there under another name. */
export function goneNodes(before: WorkflowThen, now: WorkflowThen): Change[] {
  const added = new Set(missingIn(before, now));
  return missingIn(now, before).map((gone): Change => {
    const about = { workflow: now.name, node: gone.name };
    const renamed = [...added].find((node) => isRenamed(gone, node, before, now));
    if (renamed === undefined) {
      return {
        ...about,
        fate: "stops",
        message: "the node is removed: runs that are at it stop; those before or after it go on",
        hint: "keep the node until no run is at it any more, or let those runs be started anew",
      };
    }
    added.delete(renamed);
    return {
      ...about,
      fate: "rename",
      message: `the node seems to be renamed to ${quote(renamed.name)}: runs that are at it stop, and ${quote(renamed.name)} has no result in runs that are past it`,
      hint: `this version has no mapping of names yet: keep the name ${quote(gone.name)} until no run is in flight`,
    };
  });
}

/** The same kind of node with the same stages, between the same neighbours. */
function isRenamed(
  gone: NodeThen,
  added: NodeThen,
  before: WorkflowThen,
  now: WorkflowThen,
): boolean {
  const shape = ({ name, kind, stages }: NodeThen) =>
    JSON.stringify([
      kind,
      stages.map((stage) => [
        stage.name.slice(name.length),
        stage.kind,
        stage.reference,
        stage.workflows,
      ]),
    ]);
  return (
    shape(gone) === shape(added) && neighbour(gone, before, now) === neighbour(added, now, before)
  );
}

/** The last node before this one that both plans have. */
function neighbour(node: NodeThen, within: WorkflowThen, other: WorkflowThen): string | undefined {
  const earlier = within.nodes.slice(0, within.nodes.indexOf(node));
  return earlier.findLast(({ name }) => find(other, name) !== undefined)?.name;
}

/** A node under the same name goes on with its new code, as long as what a run waits for is still there. */
export function changedNodes(before: WorkflowThen, now: WorkflowThen): Change[] {
  return before.nodes.flatMap((old): Change[] => {
    const node = find(now, old.name);
    if (node === undefined || JSON.stringify(old) === JSON.stringify(node)) return [];
    const about = { workflow: now.name, node: node.name };
    const lost = old.stages.filter((stage) => !isKept(stage, node));
    if (lost.length === 0) {
      const message = "changed: runs in flight go on, and run the new code when they get there";
      return [{ ...about, fate: "safe", message }];
    }
    const stages = lost.map(({ name, kind }) => `${name} (${kind})`).join(" and ");
    return [
      {
        ...about,
        fate: "stops",
        message: `runs that are at ${stages} stop: it is not there any more`,
        hint: "give the changed node a new name, and keep the old one until no run is at it",
      },
    ];
  });
}

type Stage = NodeThen["stages"][number];

/** An action and the children of a parent report back to what they were started by; what runs inside a transaction does not. */
const reportsBack: readonly Stage["kind"][] = ["action", "children"];

function isKept(old: Stage, node: NodeThen): boolean {
  const stage = node.stages.find(({ name }) => name === old.name);
  return stage !== undefined && (stage.kind === old.kind || !reportsBack.includes(old.kind));
}

/** Nodes that both plans have, in another order. */
export function movedNodes(before: WorkflowThen, now: WorkflowThen): Change[] {
  const names = (workflow: WorkflowThen, other: WorkflowThen) =>
    workflow.nodes.map(({ name }) => name).filter((name) => find(other, name) !== undefined);
  const order = names(now, before);
  const kept = new Set(longestCommon(names(before, now), order));
  return order
    .filter((name) => !kept.has(name))
    .map((node) => ({
      workflow: now.name,
      node,
      fate: "safe",
      message: "moved: runs in flight go on in the new order from where they are",
    }));
}

/** A node that is new: runs that are past its place never run it, and later nodes do not find its result. */
export function addedNodes(before: WorkflowThen, now: WorkflowThen): Change[] {
  return missingIn(before, now).map((node): Change => {
    const later = now.nodes.slice(now.nodes.indexOf(node) + 1);
    const about = { workflow: now.name, node: node.name, fate: "safe" } as const;
    if (!later.some(({ name }) => find(before, name) !== undefined))
      return { ...about, message: "added at the end: runs in flight run it too" };
    const readers = later.filter(({ stages }) =>
      stages.some(({ reads }) => reads.includes(node.name) || reads.includes("*")),
    );
    const message = "added: runs that are past its place do not run it";
    if (readers.length === 0) return { ...about, message };
    const names = readers.map(({ name }) => quote(name)).join(" and ");
    return {
      ...about,
      message: `${message}, and ${names} ${readers.length === 1 ? "reads" : "read"} undefined in them`,
      hint: `let ${names} work without it`,
    };
  });
}
