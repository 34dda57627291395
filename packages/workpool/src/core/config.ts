import { type Infer, v } from "convex/values";
import type { HostMutationCtx, PoolHost } from "./context.js";
import { setLogLevel } from "./gate.js";
import { vLogLevel } from "./log-level.js";
import { setMaxParallelism } from "./parallelism.js";

/** What an app may say of a pool. */
export const vConfig = v.object({
  /** How many works run at once, 0 to 200. */
  maxParallelism: v.optional(v.number()),
  /** How much is logged. */
  logLevel: v.optional(vLogLevel),
});
export type Config = Infer<typeof vConfig>;

/** Sets what is given. @throws where `maxParallelism` is no whole number from 0 to 200. */
export async function setConfig(
  ctx: HostMutationCtx,
  host: PoolHost,
  { maxParallelism, logLevel }: Config,
): Promise<void> {
  if (maxParallelism !== undefined) await setMaxParallelism(ctx, host, maxParallelism);
  if (logLevel !== undefined) await setLogLevel(ctx, logLevel);
}

/** What of the things asked for is something else than was asked for last; null where nothing is. */
export function changedConfig(
  { maxParallelism, logLevel }: Config,
  last: Config | null,
): Config | null {
  const changed: Config = {};
  if (maxParallelism !== undefined && maxParallelism !== last?.maxParallelism)
    changed.maxParallelism = maxParallelism;
  if (logLevel !== undefined && logLevel !== last?.logLevel) changed.logLevel = logLevel;
  return Object.keys(changed).length === 0 ? null : changed;
}
