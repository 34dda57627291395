import { Workpool } from "@stepwise/workpool";
import { componentsGeneric, internalMutationGeneric } from "convex/server";
import { v } from "convex/values";
import { steps } from "../../references.js";

type Component = ConstructorParameters<typeof Workpool>[0];

// Untyped where no app has generated its types; what is mounted there is a pool.
const component = componentsGeneric()["workpool"] as unknown as Component;

/** All limits of the pool, in each scene. */
const limits = {
  tenant: { perKey: 1 },
  team: { perKey: 10 },
  model: { total: 10 },
} as const;

const vNamed = v.object({
  tenant: v.optional(v.string()),
  team: v.optional(v.string()),
  model: v.optional(v.boolean()),
  /** Has no limit: whose the works are, where slots are shared. */
  owner: v.optional(v.string()),
});

/** Enqueues works with these limits. */
export const enqueue = internalMutationGeneric({
  args: { count: v.number(), maxParallelism: v.number(), ms: v.number(), named: vNamed },
  returns: v.null(),
  handler: async (ctx, { count, maxParallelism, ms, named: { model, owner, ...keys } }) => {
    const pool = new Workpool(component, { maxParallelism, limits });
    const args = Array.from({ length: count }, (_, n) => ({ n, ms }));
    const named = { ...keys, ...(model === true ? { model: true as const } : {}) };
    const fairness = owner === undefined ? undefined : { key: owner };
    await pool.enqueueActionBatch(ctx, steps.actFor, args, { limits: named, fairness });
    return null;
  },
});

/** What an operator does to the limit `model`. */
export const steer = internalMutationGeneric({
  args: { total: v.optional(v.number()), pauses: v.optional(v.boolean()) },
  returns: v.null(),
  handler: async (ctx, { total, pauses }) => {
    const pool = new Workpool(component, { limits });
    if (total !== undefined) await pool.limits.override(ctx, "model", { total });
    if (pauses === true) await pool.limits.pause(ctx, "model");
    if (pauses === false) await pool.limits.resume(ctx, "model");
    return null;
  },
});
