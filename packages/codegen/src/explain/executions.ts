import type { StagePlan } from "../plan/schema.js";

/**
 * Root executions of a stage when nothing fails, as DESIGN counts them ("What it may cost"): functions that are scheduled, called
 * from outside, or called by an action. A mutation or query is fused into the transaction before it, of which one holds many.
 */
export function rootExecutions(stage: StagePlan): number {
  return byKind[stage.kind](stage);
}

const inTransaction = (stage: StagePlan): number =>
  stage.policy.values["isolate"] === true ? 1 : 0.1;

const byKind: Readonly<Record<StagePlan["kind"], (stage: StagePlan) => number>> = {
  // The action and its completion; a referenced one is called by the generated one.
  action: ({ reference }) => (reference === undefined ? 2 : 3),
  mutation: inTransaction,
  query: inTransaction,
  // Started by the transaction that arrives.
  children: () => 0,
  // The wake-up.
  sleep: () => 1,
  // It goes on in the transaction of whoever sends the event.
  event: () => 0,
  // Decided in the transaction that arrives.
  branch: () => 0,
  loop: () => 0,
  child: () => 0,
};

/** What a child adds to its own run: its part of starting and counting the children of a parent. */
export const childExecutions = {
  each: 0.2,
  has: ({ kind }: StagePlan): boolean => kind === "children" || kind === "child",
};
