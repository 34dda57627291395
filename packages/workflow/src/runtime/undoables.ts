import type { AnyDefinition, CompiledNode } from "../definition/definition.js";

const known = new WeakMap<AnyDefinition, boolean>();

/** Whether a run of the workflow can have done something that has a compensation: in a step of its own, or in a child. */
export function hasUndoables(definition: AnyDefinition): boolean {
  let has = known.get(definition);
  if (has === undefined) {
    has = some(definition.nodes as Readonly<Record<string, CompiledNode>>);
    known.set(definition, has);
  }
  return has;
}

function some(nodes: Readonly<Record<string, CompiledNode>>): boolean {
  return Object.values(nodes).some(
    (node) =>
      node.compensate !== undefined ||
      node.children !== undefined ||
      node.workflow !== undefined ||
      (node.body !== undefined && some(node.body)) ||
      (node.cases !== undefined && Object.values<CompiledNode>(node.cases).some(some)),
  );
}
