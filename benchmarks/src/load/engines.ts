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
];

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

/** A deployment of an engine's app, with pools of that size. */
export async function deployed(
  engine: Engine,
  pool: number,
  of: DeploymentClass,
  seed: number,
  conditions: readonly string[] = [],
): Promise<Deployment> {
  const { parts } = await appOf(engine, pool, conditions);
  // The peers cancel what may be themselves, which their version of `convex` ignores.
  const selfCancelFails = engine === "ours";
  const deployment = await Deployment.of(parts, { class: { ...of, selfCancelFails }, seed });
  if (engine === "peer") {
    // What their options would write at the first start.
    deployment.plant("workflow", "config", { maxParallelism: pool });
    deployment.plant("workflow/workpool", "globals", { maxParallelism: pool, logLevel: "WARN" });
    deployment.plant("workpool", "globals", { maxParallelism: pool, logLevel: "WARN" });
  }
  return deployment;
}
