import type { Chain } from "./chain-definitions.js";

/** The same chain in both engines. A scene that is to be added goes into the list below. */
export interface ChainScene {
  readonly title: string;
  /** One of `src/chain-definitions.ts`. */
  readonly ours: Chain["kind"];
  /** An export of `apps/peer/convex/chains.ts`. */
  readonly peer: string;
  readonly lengths: readonly number[];
  /** How long each step is busy, in virtual ms. Default: 0. */
  readonly ms?: number;
}

const lengths = [10, 50, 200];

export const CHAIN_SCENES: readonly ChainScene[] = [
  { title: "action, inline", ours: "inlineAction", peer: "action", lengths },
  { title: "action, by reference", ours: "referencedAction", peer: "action", lengths },
  { title: "mutation, fused", ours: "mutation", peer: "mutation", lengths },
  { title: "… the peer's `inline`", ours: "mutation", peer: "inlineMutation", lengths },
  { title: "mutation, `isolate`", ours: "isolatedMutation", peer: "mutation", lengths },
  { title: "query, fused", ours: "query", peer: "query", lengths },
  { title: "… the peer's `inline`", ours: "query", peer: "inlineQuery", lengths },
  ...[7, 250, 730, 10_000].map((ms) => ({
    title: `action of ${ms} ms`,
    ours: "busyAction" as const,
    peer: "busyAction",
    lengths: [50],
    ms,
  })),
];

/** Runs whose end is looked beyond. */
export const AFTERWARDS_SCENES = [
  { title: "10 actions", ours: "inlineAction", peer: "action", n: 10 },
  { title: "10 mutations", ours: "mutation", peer: "mutation", n: 10 },
] as const;

/** Works enqueued at once, into a pool of 10 in which nothing runs. */
export interface PoolScene {
  readonly title: string;
  readonly kind: "action" | "mutation";
  readonly works: number;
}

export const POOL_SCENES: readonly PoolScene[] = [
  { title: "one action, idle pool", kind: "action", works: 1 },
  { title: "one mutation, idle pool", kind: "mutation", works: 1 },
  { title: "100 actions, pool of 10", kind: "action", works: 100 },
];
