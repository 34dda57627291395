import { someNode } from "./some-node.js";

/** Whether a run of the workflow can have done something that has a compensation: in a step of its own, or in a child. */
export const hasUndoables = someNode(
  ({ compensate, children, workflow }) =>
    compensate !== undefined || children !== undefined || workflow !== undefined,
);
