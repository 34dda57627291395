import type { AnyDefinition, CompiledNode } from "../definition/definition.js";

/**
 * A question about workflows: whether some node is so, also inside loops and branches. It is answered once for each workflow.
 * @param is whether a node itself is so.
 */
export function someNode(
  is: (node: CompiledNode) => boolean,
): (definition: AnyDefinition) => boolean {
  const known = new WeakMap<AnyDefinition, boolean>();
  const some = (nodes: Readonly<Record<string, CompiledNode>>): boolean =>
    Object.values(nodes).some(
      (node) =>
        is(node) ||
        (node.body !== undefined && some(node.body)) ||
        (node.cases !== undefined && Object.values<CompiledNode>(node.cases).some(some)),
    );
  return (definition) => {
    const answer = known.get(definition) ?? some(definition.nodes);
    known.set(definition, answer);
    return answer;
  };
}
