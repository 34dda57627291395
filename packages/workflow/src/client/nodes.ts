import type { AnyDefinition, CompiledNode } from "../definition/definition.js";
import { eventsOf } from "../runtime/nodes/event.js";
import { hasHandler, placeOf } from "../runtime/place.js";
import type { WorkflowReference } from "../runtime/reference.js";
import { presentKey } from "../runtime/storage-names.js";
import { suggestion } from "./nearest.js";

type Nodes = Readonly<Record<string, CompiledNode>>;

/** The names of a workflow's nodes of the top level. */
export type NodeName<Workflow> = Workflow extends { readonly "~definition": infer Definition }
  ? Definition extends { readonly nodes: infer N }
    ? keyof N & string
    : string
  : string;

/** The same and the paths of those inside, such as `"agent.think"` in a loop and `"route.big.x"` in a branch. */
export type NodePath<Workflow> = Workflow extends { readonly "~definition": infer Definition }
  ? Definition extends { readonly "~names"?: () => infer Name extends string }
    ? Name | NodeName<Workflow>
    : string
  : string;

/** The same and what nodes consist of: the `output` and `finalize` of a parent, the `compensate` of a step. */
export type StagePath<Workflow> =
  NodePath<Workflow> | `${NodePath<Workflow>}.${"output" | "finalize" | "compensate"}`;

/** The paths of all nodes, in their order; those inside follow the one in which they stand. */
export function pathsOf(nodes: Nodes, prefix = ""): string[] {
  return Object.entries(nodes).flatMap(([name, node]) => {
    const path = prefix + name;
    const inside = sequencesIn(node).flatMap(([key, sequence]) =>
      pathsOf(sequence, key === undefined ? `${path}.` : `${path}.${key}.`),
    );
    return [path, ...inside];
  });
}

/** The sequences inside a node: a loop's body, or the cases of a branch by their keys. */
function sequencesIn(node: CompiledNode): [string | undefined, Nodes][] {
  if (node.body !== undefined) return [[undefined, node.body]];
  return Object.entries<Nodes>(node.cases ?? {});
}

/** The storage name of a node. @throws where there is no such node, naming the nearest. */
export function nodeNamed(
  { name: workflow, stored }: WorkflowReference<never>,
  path: string,
  { onTop }: { onTop: boolean },
): string {
  const all = onTop ? Object.keys(stored.nodes) : pathsOf(stored.nodes);
  const paths = all.map((each) => placeOf(stored, each).called);
  const found = all[paths.indexOf(path)];
  if (found !== undefined) return found;
  const where = onTop ? " on its top level" : "";
  throw new Error(`Workflow "${workflow}" has no node "${path}"${where}${suggestion(path, paths)}`);
}

/** The stages whose records tell that a run is at a node. No run is at two of them at once. */
export function stagesAt(definition: AnyDefinition, path: string): string[] {
  const { node } = placeOf(definition, path);
  return node?.children !== undefined && hasHandler(node) ? [`${path}.output`, path] : [path];
}

/** A record as it is shown: by the names that its node, case and events have now; of a node that is gone, by those it had. */
export function asCalled<Fields>(
  definition: AnyDefinition,
  stage: string,
  {
    called = stage,
    chosen,
    events,
    ...fields
  }: Fields & { called?: string; chosen?: string; events?: string[] },
) {
  const { node, called: now } = placeOf(definition, stage);
  const isRenamed = events !== undefined && node !== undefined;
  const names = isRenamed ? [...new Set(eventsOf(definition, stage).values())] : events;
  return {
    ...fields,
    node: node === undefined ? called : now,
    ...(chosen === undefined ? {} : { chosen: presentKey(node?.cases ?? {}, chosen) }),
    ...(names === undefined ? {} : { events: names }),
  };
}
