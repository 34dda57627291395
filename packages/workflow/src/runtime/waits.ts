import type { AnyDefinition } from "../definition/definition.js";
import { isEvent } from "./nodes/event.js";
import { someNode } from "./some-node.js";

/**
 * Whether a run of the workflow may wait without holding a slot of the pool: for a time, for an event, or for runs under it. Of the children
 * of a parent, which are known when they are made, that they may is taken for granted.
 */
export const canWait: (definition: AnyDefinition) => boolean = someNode(
  (node) =>
    node.duration !== undefined ||
    isEvent(node) ||
    node.children !== undefined ||
    (node.workflow !== undefined && canWait(node.workflow)),
);
