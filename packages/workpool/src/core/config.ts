import { compareValues, type Infer, v } from "convex/values";
import type { Host, HostCtx } from "./context.js";
import { ensureGate, placesOf, readGate, setLogLevel } from "./gate.js";
import { checkLimits, type Limits, vLimits } from "./limits/limits.js";
import { ringAllLines } from "./limits/lines.js";
import { POOL } from "./limits/overrides.js";
import { logs, vLogLevel } from "./log.js";
import { isOverridden, setMaxParallelism } from "./parallelism.js";

/** What an app may say of a pool. */
export const vConfig = v.object({
  /** How many works run at once, 0 to 200. */
  maxParallelism: v.optional(v.number()),
  logLevel: v.optional(vLogLevel),
  /** By name: how many works that name it run at once. All that there are. */
  limits: v.optional(vLimits),
});
export type Config = Infer<typeof vConfig>;

/**
 * Sets what is given, for an operator.
 * @throws if `maxParallelism` is not a whole number from 0 to 200, or is overridden.
 */
export async function setConfig(ctx: HostCtx, host: Host, config: Config): Promise<void> {
  if (config.maxParallelism !== undefined && isOverridden(await readGate(ctx)))
    throw new Error(
      `maxParallelism is paused or overridden: change that with limits.override, limits.resume and limits.reset of "${POOL}"`,
    );
  await set(ctx, host, config);
}

async function set(ctx: HostCtx, host: Host, config: Config): Promise<void> {
  const { maxParallelism, logLevel, limits } = config;
  if (logLevel !== undefined) await setLogLevel(ctx, logLevel);
  if (maxParallelism !== undefined) {
    await setMaxParallelism(ctx, host, maxParallelism);
    const places = await placesOf(ctx);
    if (maxParallelism > places && (await logs(ctx, "WARN")))
      console.warn(
        `maxParallelism is ${maxParallelism}: this deployment runs ${places} scheduled functions at once, so several actions share one, and other scheduled functions may wait`,
      );
  }
  if (limits !== undefined) await setLimits(ctx, host, limits);
}

/** Works that wait for a limit that is raised or removed go on; those that run, run on. */
async function setLimits(ctx: HostCtx, host: Host, limits: Limits): Promise<void> {
  checkLimits(limits);
  const gate = await ensureGate(ctx);
  if (isSame(limits, gate.limits)) return;
  await ctx.db.patch("gate", gate._id, { limits });
  await readGate(ctx);
  await ringAllLines(ctx, host);
}

/** Says whether they are alike, in whatever order their fields are. */
function isSame(limits: Limits, before: Limits = {}): boolean {
  return compareValues(limits, before) === 0;
}

/**
 * Sets what the app's class asks for, if that has changed: what others have set since stays.
 * @returns the gate, if it was read.
 */
export async function applyConfig(ctx: HostCtx, host: Host, config: Config) {
  const { maxParallelism, logLevel, limits } = config;
  if (maxParallelism === undefined && logLevel === undefined && limits === undefined)
    return undefined;
  const gate = await ensureGate(ctx, maxParallelism);
  const { _id, asked = {} } = gate;
  const changed: Config = {};
  if (maxParallelism !== undefined && maxParallelism !== asked.maxParallelism)
    changed.maxParallelism = maxParallelism;
  if (logLevel !== undefined && logLevel !== asked.logLevel) changed.logLevel = logLevel;
  if (limits !== undefined && !isSame(limits, asked.limits)) changed.limits = limits;
  if (Object.keys(changed).length === 0) return gate;
  await set(ctx, host, changed);
  await ctx.db.patch("gate", _id, { asked: { ...asked, ...changed } });
  return await ensureGate(ctx);
}
