import type { AnyDefinition, CompiledNode } from "../definition/definition.js";
import { hasHandler, placeOf } from "../runtime/place.js";
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

/** @throws where there is no such node, naming the nearest. */
export function checkNode(
  workflow: string,
  { nodes }: AnyDefinition,
  path: string,
  { onTop }: { onTop: boolean },
): void {
  const paths = onTop ? Object.keys(nodes) : pathsOf(nodes);
  if (paths.includes(path)) return;
  const where = onTop ? " on its top level" : "";
  throw new Error(`Workflow "${workflow}" has no node "${path}"${where}${suggestion(path, paths)}`);
}

/** The stages whose records tell that a run is at a node. No run is at two of them at once. */
export function stagesAt(definition: AnyDefinition, path: string): string[] {
  const { node } = placeOf(definition, path);
  return node?.children !== undefined && hasHandler(node) ? [`${path}.output`, path] : [path];
}
