/** The name of a workflow's `onEnd`, and its kind, among its nodes in the plan. It is the last. */
export const ON_END = "onEnd";

interface Kind {
  readonly kind: string;
}

/** Says whether it is not on the way of a run through its nodes, but runs when that has ended. */
export const isOnEnd = ({ kind }: Kind): boolean => kind === ON_END;

export const withoutOnEnd = <Node extends Kind>(nodes: readonly Node[]): readonly Node[] =>
  nodes.some(isOnEnd) ? nodes.filter((node) => !isOnEnd(node)) : nodes;
