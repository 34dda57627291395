import type { Event } from "../component/validators.js";
import type { AnyDefinition, CompiledNode } from "../definition/definition.js";
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

/** Whether a deploy has made a node of another kind of one since a run began to wait at it for what has come now. */
export function isOther(node: CompiledNode, event: Event): boolean {
  switch (event.kind) {
    case "joined":
      return (event.single === true ? node?.workflow : node?.children) === undefined;
    case "due":
      return event.of === "sleep" ? node?.duration === undefined : !isEvent(node);
    case "got":
      return !isEvent(node);
    default:
      return false;
  }
}
