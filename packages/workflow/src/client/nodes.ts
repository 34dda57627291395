import type { AnyDefinition, OnTop } from "../definition/definition.js";
import { suggestion } from "../rules.js";
import { eventsOf, receiversOf, storedEvent } from "../runtime/nodes/event.js";
import { insideOf, kindOf } from "../runtime/nodes/kinds.js";
import { allNodes, placeOf, stageNames } from "../runtime/place.js";
import { presentKey } from "../runtime/storage-names.js";
import type { WorkflowReference } from "../runtime/reference.js";

/** The names of a workflow's nodes of the top level. */
export type NodeName<Workflow> = OnTop<NodePath<Workflow>>;

/** The names of all nodes, and paths of those inside: `"agent.think"`, `"route.big.x"`. */
export type NodePath<Workflow> = Workflow extends { readonly "~nodes"?: () => infer Name }
  ? Name & string
  : string;

/** Nodes and their parts: a parent's `output` and `finalize`, a step's `compensate`; `onEnd`. */
export type StagePath<Workflow> =
  NodePath<Workflow> | `${NodePath<Workflow>}.${"output" | "finalize" | "compensate"}` | "onEnd";

/** The storage name of a node. @throws if there is no such node, naming the nearest. */
export function nodeNamed(
  { name: workflow, stored }: WorkflowReference<never>,
  path: string,
  { onTop }: { onTop: boolean },
): string {
  const nodes = allNodes(stored.nodes).filter(({ node }) => !kindOf(node).isAfterEnd);
  const all = nodes.map((each) => each.path).filter((each) => !onTop || !each.includes("."));
  const paths = all.map((each) => placeOf(stored, each).called);
  const found = all[paths.indexOf(path)];
  if (found !== undefined) return found;
  const where = onTop ? " on its top level" : "";
  throw new Error(`Workflow "${workflow}" has no node "${path}"${where}${suggestion(path, paths)}`);
}

/** The stages whose records tell that a run is at a node. No run is at two of them at once. */
export function stagesAt(definition: AnyDefinition, path: string): string[] {
  const stages = stageNames(placeOf(definition, path).node, path);
  return stages.slice(0, stages.indexOf(path) + 1);
}

/** The present name of the events of a storage name. */
export function named(definition: AnyDefinition, stored: string): string {
  const all = receiversOf(definition);
  return all.find((one) => storedEvent(all, one.name) === stored)?.name ?? stored;
}

interface Shown {
  state: string;
  called?: string;
  chosen?: string;
  events?: string[];
  came?: string | null;
}

/** A record by the present names of its node, case and events. */
export function asCalled<Fields>(
  definition: AnyDefinition,
  stage: string,
  { called = stage, chosen, events, came, ...fields }: Fields & Shown,
) {
  const { node, called: now } = placeOf(definition, stage);
  const isRenamed = events !== undefined && node !== undefined;
  const taken = eventsOf(definition, stage);
  const names = [...new Set(taken.values())];
  // A record does not name the one event that its node takes.
  const only = fields.state === "completed" && names.length === 1 ? names[0] : undefined;
  return {
    ...fields,
    node: node === undefined ? called : now,
    chosen: chosen && presentKey(insideOf(node)[0]?.among ?? {}, chosen),
    events: isRenamed ? names : events,
    event: typeof came === "string" ? (taken.get(came) ?? came) : came === null ? undefined : only,
    isTimedOut: came === null || undefined,
  };
}
