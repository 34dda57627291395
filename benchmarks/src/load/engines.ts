import { Deployment, type DeploymentClass } from "@stepwise/testing";
import { type App, loadOurs, loadPeer } from "../apps.js";
import type { Chain } from "../chain-definitions.js";

export type Engine = "ours" | "peer";

/** The workflows that loads are made of. */
const CHAINS: readonly Chain[] = [
  { kind: "busyAction", length: 10 },
  { kind: "busyFanOut", length: 50 },
  { kind: "busyFanOut", length: 600 },
  { kind: "failingFanOut", length: 600 },
  { kind: "busyFanOut", length: 10_000 },
  { kind: "wakes", length: 1 },
  { kind: "answered", length: 1 },
  { kind: "mutation", length: 1 },
  { kind: "collected", length: 1 },
];

const OF_POOL = /^workpool(?=\/|$)/;

const loaded = new Map<string, Promise<App>>();

/** @param pool the parallelism of the workflows' pool, which ours is compiled with. */
async function appOf(engine: Engine, pool: number, conditions: readonly string[]): Promise<App> {
  const key = engine === "peer" ? engine : `${engine} ${pool}`;
  const known = loaded.get(key);
  if (known !== undefined) return await known;
  const loading = engine === "peer" ? loadPeer() : loadOurs(CHAINS, conditions, pool);
  loaded.set(key, loading);
  return await loading;
}

/** Where loads run. */
export interface Ground {
  readonly class: DeploymentClass;
  /** How many works run at once in each pool, and how many steps of workflows. */
  readonly pool: number;
  /** How many pools the app has: `workpool`, `workpool2` and so on. */
  readonly pools: number;
}

/** A deployment of an engine's app. */
export async function deployed(
  engine: Engine,
  { class: of, pool, pools }: Ground,
  seed: number,
  conditions: readonly string[] = [],
): Promise<Deployment> {
  const { parts } = await appOf(engine, pool, conditions);
  const paths = Array.from({ length: pools }, (_, n) => poolName(n));
  // Each pool has tables of its own, and so has what it is made of.
  const all = parts.flatMap((part) =>
    OF_POOL.test(part.path)
      ? paths.map((path) => ({ ...part, path: part.path.replace(OF_POOL, path) }))
      : [part],
  );
  // The peers cancel what may be themselves, which their version of `convex` ignores.
  const selfCancelFails = engine === "ours";
  const deployment = await Deployment.of(all, { class: { ...of, selfCancelFails }, seed });
  if (engine === "peer") {
    // What their options would write at the first start.
    deployment.plant("workflow", "config", { maxParallelism: pool });
    for (const path of ["workflow/workpool", ...paths])
      deployment.plant(path, "globals", { maxParallelism: pool, logLevel: "WARN" });
  }
  return deployment;
}

/** The name of an app's pool. */
export function poolName(n: number): string {
  return n === 0 ? "workpool" : `workpool${n + 1}`;
}
