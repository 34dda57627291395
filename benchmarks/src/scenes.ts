import { SENT_EVERY_MS } from "./back-end.js";
import type { Chain } from "./chain-definitions.js";
import { type Given, LONG_MS } from "./measure-pool.js";

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
  ...[7, 50, 250, 730, 10_000, 30_000].map((ms) => ({
    title: `action of ${ms} ms`,
    ours: "busyAction" as const,
    peer: "busyAction",
    lengths: [50],
    ms,
  })),
];

/** Nodes of other kinds, each N times in a run, or N runs. */
export const SHAPE_SCENES: readonly ShapeScene[] = [
  ...[10, 100, 1_000].map((n) => ({
    title: "a child of a fan-out of N",
    ours: "fanOut" as const,
    peer: "fanOut",
    n,
  })),
  ...[10, 100].map((n) => ({
    title: "a branch of a `.parallel` of N",
    ours: "branches" as const,
    peer: "fanOut",
    n,
  })),
  { title: "… that is a query", ours: "queryBranches", peer: "queryBranches", n: 10 },
  {
    title: "… that is a query and then an action",
    ours: "mixedBranches",
    peer: "mixedBranches",
    n: 10,
  },
  { title: "a `.parallel` of two queries", ours: "pairs", peer: "pairs", n: 5 },
  { title: "a case of a `.race` of N, which loses", ours: "cases", peer: "race", n: 10 },
  ...[10, 100, 1_000].map((n) => ({
    title: "an item of an `.each` of N",
    ours: "items" as const,
    peer: "fanOut",
    n,
  })),
  { title: "a sleep", ours: "sleeps", peer: "sleeps", n: 10, ms: 1_000 },
  {
    title: "an event, with its sender's call",
    ours: "events",
    peer: "events",
    n: 10,
    ms: SENT_EVERY_MS,
    sends: true,
  },
];

export interface ShapeScene {
  readonly title: string;
  readonly ours: Chain["kind"];
  readonly peer: string;
  readonly n: number;
  /** How long each of the N is to take, in virtual ms. Default: 0. */
  readonly ms?: number;
  /** Says whether each of the N waits for an event. Default: false. */
  readonly sends?: boolean;
}

/** Runs that are started at once. */
export const CROWD = { runs: 50, ours: "inlineAction", peer: "action", length: 10 } as const;

/** Runs whose end is looked beyond. */
export const AFTERWARDS_SCENES = [
  { title: "10 actions", ours: "inlineAction", peer: "action", n: 10 },
  { title: "10 mutations", ours: "mutation", peer: "mutation", n: 10 },
] as const;

/** Works enqueued at once, and what each of them takes. */
export interface PoolScene {
  readonly title: string;
  readonly works: Given;
}

export const POOL_SCENES: readonly PoolScene[] = [
  { title: "one action, idle pool", works: {} },
  { title: "… that settles itself", works: { kind: "settlingAction" } },
  { title: "one mutation, idle pool", works: { kind: "mutation" } },
  ...[10, 1].map((maxParallelism) => ({
    title: `an action of 9 minutes, pool of ${maxParallelism}`,
    works: { kind: "busyAction" as const, ms: LONG_MS, maxParallelism },
  })),
  ...[10, 100].flatMap((maxParallelism) => [
    {
      title: `100 actions at once, pool of ${maxParallelism}`,
      works: { count: 100, maxParallelism },
    },
    {
      title: "… that settle themselves",
      works: { kind: "settlingAction" as const, count: 100, maxParallelism },
    },
  ]),
  {
    title: "100 actions of 250 ms, pool of 10",
    works: { kind: "busyAction", ms: 250, count: 100 },
  },
  {
    title: "20 mutations at once, pool of 1",
    works: { kind: "mutation", count: 20, maxParallelism: 1 },
  },
];

/** What some works take beyond an action that starts at once and succeeds. */
export const MORE_SCENES: readonly PoolScene[] = [
  { title: "a retry, with its attempt", works: { kind: "failingAction" } },
  { title: "a start delayed by 10 s", works: { runAfter: 10_000 } },
];

/** Pools in which nothing can start. */
export const STUCK_SCENES = [
  { title: "saturated pool of 10, 5 minutes", maxParallelism: 10 },
  { title: "saturated pool of 1, 5 minutes", maxParallelism: 1 },
  { title: "paused pool, 5 minutes", maxParallelism: 0 },
] as const;
