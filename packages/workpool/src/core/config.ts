import { compareValues, type Infer, v } from "convex/values";
import type { Host, HostCtx } from "./context.js";
import { readDrain, ringDrain } from "./drain.js";
import {
  addSlots,
  checkMaxParallelism,
  ensureGate,
  placesOf,
  readGate,
  setLogLevel,
} from "./gate.js";
import { checkLimits, type Limits, vLimits } from "./limits/limits.js";
import { ringAllLines } from "./limits/lines.js";
import { anyWaits, lanesOf } from "./queue.js";
import { logs, vLogLevel } from "./log.js";
import { keepSweeping, reviveWatch } from "./watch.js";

/** What an app may say of a pool. */
export const vConfig = v.object({
  /** How many works run at once, 0 to 200. */
  maxParallelism: v.optional(v.number()),
  logLevel: v.optional(vLogLevel),
  /** By name: how many works that name it run at once. All that there are. */
  limits: v.optional(vLimits),
});
export type Config = Infer<typeof vConfig>;

/** Sets what is given. @throws if `maxParallelism` is not a whole number from 0 to 200. */
export async function setConfig(ctx: HostCtx, host: Host, config: Config): Promise<void> {
  const { maxParallelism, logLevel, limits } = config;
  if (maxParallelism !== undefined) {
    await setMaxParallelism(ctx, host, maxParallelism);
    const places = await placesOf(ctx);
    if (maxParallelism > places && (await logs(ctx, "WARN")))
      console.warn(
        `maxParallelism is ${maxParallelism}: this deployment runs ${places} scheduled functions at once, so several actions share one, and other scheduled functions may wait`,
      );
  }
  if (logLevel !== undefined) await setLogLevel(ctx, logLevel);
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
  await setConfig(ctx, host, changed);
  await ctx.db.patch("gate", _id, { asked: { ...asked, ...changed } });
  return await ensureGate(ctx);
}

/** Fills new slots at once; surplus ones disappear as their works end. @throws if out of range. */
export async function setMaxParallelism(ctx: HostCtx, host: Host, maxParallelism: number) {
  checkMaxParallelism(maxParallelism);
  const gate = await ensureGate(ctx, maxParallelism);
  if (gate.maxParallelism === maxParallelism) return;
  const slots = await ctx.db.query("slots").withIndex("by_number").collect();
  for (const { _id, number, work } of slots)
    if (number >= maxParallelism && work === undefined) await ctx.db.delete("slots", _id);
  const present = new Set(slots.map((slot) => slot.number));
  for (let number = 0; number < maxParallelism; number++)
    if (!present.has(number)) await addSlots(ctx, number, number + 1);
  const waits = await anyWaits(ctx);
  const open = maxParallelism > 0 && !waits;
  // Works that come during a pause are spread as before it.
  const lanes = waits || maxParallelism === 0 ? lanesOf(gate) : undefined;
  await ctx.db.patch("gate", gate._id, { maxParallelism, open, closedAt: undefined, lanes });
  if (!waits || maxParallelism === 0) return await reviveWatch(ctx, host);
  await ringDrain(ctx, host, await readDrain(ctx));
  await keepSweeping(ctx, host);
}
