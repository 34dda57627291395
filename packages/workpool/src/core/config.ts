import { type Infer, v } from "convex/values";
import type { HostMutationCtx, PoolHost } from "./context.js";
import { ensureGate, setLogLevel } from "./gate.js";
import { logs } from "./log.js";
import { vLogLevel } from "./log-level.js";
import { setMaxParallelism } from "./parallelism.js";
import { placesOf } from "./places.js";

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
  if (maxParallelism !== undefined) {
    await setMaxParallelism(ctx, host, maxParallelism);
    await warnOfMuch(ctx, maxParallelism);
  }
  if (logLevel !== undefined) await setLogLevel(ctx, logLevel);
}

/** Sets what the app's class asks for, where that is something else than it asked for last: what was set since then stays. */
export async function applyConfig(
  ctx: HostMutationCtx,
  host: PoolHost,
  { maxParallelism, logLevel }: Config,
): Promise<void> {
  if (maxParallelism === undefined && logLevel === undefined) return;
  const { _id, asked = {} } = await ensureGate(ctx, maxParallelism);
  const changed: Config = {};
  if (maxParallelism !== undefined && maxParallelism !== asked.maxParallelism)
    changed.maxParallelism = maxParallelism;
  if (logLevel !== undefined && logLevel !== asked.logLevel) changed.logLevel = logLevel;
  if (Object.keys(changed).length === 0) return;
  await setConfig(ctx, host, changed);
  await ctx.db.patch("gate", _id, { asked: { ...asked, ...changed } });
}

async function warnOfMuch(ctx: HostMutationCtx, maxParallelism: number): Promise<void> {
  const places = await placesOf(ctx);
  if (maxParallelism > places && (await logs(ctx, "WARN")))
    console.warn(
      `maxParallelism is ${maxParallelism}: above ${places} works wait in this deployment's scheduler, and delay what else is scheduled`,
    );
}
