import type { Node, Nodes } from "./definition.js";

/** The events that nodes wait for, and nodes inside them. */
export function eventsIn(nodes: Nodes): string[] {
  return Object.entries(nodes).flatMap(([name, node]: [string, Node]) => [
    ...(node.anyOf !== undefined ? Object.keys(node.anyOf) : []),
    ...(node.schema !== undefined && node.initial === undefined ? [name] : []),
    ...(node.body === undefined ? [] : eventsIn(node.body)),
    ...Object.values<Nodes>(node.cases ?? node.branches ?? {}).flatMap(eventsIn),
  ]);
}
