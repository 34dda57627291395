import type { AnyDefinition, CompiledNode } from "../definition/definition.js";

const known = new WeakMap<AnyDefinition, boolean>();

/**
 * Whether a run of the workflow may wait without holding a slot of the pool: for a time, for an event, or for runs under it. Of the children
 * of a parent, which are known when they are made, that they may is taken for granted.
 */
export function canWait(definition: AnyDefinition): boolean {
  let can = known.get(definition);
  if (can === undefined) {
    can = some(definition.nodes as Readonly<Record<string, CompiledNode>>);
    known.set(definition, can);
  }
  return can;
}

function some(nodes: Readonly<Record<string, CompiledNode>>): boolean {
  return Object.values(nodes).some(
    (node) =>
      node.duration !== undefined ||
      isEvent(node) ||
      node.children !== undefined ||
      (node.workflow !== undefined && canWait(node.workflow)) ||
      (node.body !== undefined && some(node.body)) ||
      (node.cases !== undefined && Object.values<CompiledNode>(node.cases).some(some)),
  );
}

function isEvent(node: CompiledNode): boolean {
  return node.anyOf !== undefined || (node.schema !== undefined && node.initial === undefined);
}
