import { RetryAfter, Workpool } from "@stepwise/workpool";
import {
  componentsGeneric,
  internalActionGeneric,
  internalMutationGeneric,
  makeFunctionReference,
} from "convex/server";
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
  api: { rate: { limit: 10, per: "1s" } },
  fast: { rate: { limit: 1_000, per: "1s", burst: 50 } },
  tokens: { rate: { limit: 4_000, per: "1s" }, unit: "tokens" },
  service: { total: 200 },
} as const;

const vNamed = v.object({
  tenant: v.optional(v.string()),
  team: v.optional(v.string()),
  model: v.optional(v.boolean()),
  /** Has no limit: whose the works are, where slots are shared. */
  owner: v.optional(v.string()),
  api: v.optional(v.boolean()),
  fast: v.optional(v.boolean()),
});

/** The limits that take no key, of those that are named. */
const flags = (named: { readonly [name: string]: boolean | undefined }) =>
  Object.fromEntries(Object.entries(named).filter(([, is]) => is === true)) as Record<string, true>;

/** Enqueues works with these limits. */
export const enqueue = internalMutationGeneric({
  args: { count: v.number(), maxParallelism: v.number(), ms: v.number(), named: vNamed },
  returns: v.null(),
  handler: async (ctx, { count, maxParallelism, ms, named: { tenant, team, owner, ...named } }) => {
    const pool = new Workpool(component, { maxParallelism, limits });
    const args = Array.from({ length: count }, (_, n) => ({ n, ms }));
    const keys = { tenant, team, ...flags(named) };
    const fairness = owner === undefined ? undefined : { key: owner };
    await pool.enqueueActionBatch(ctx, steps.actFor, args, { limits: keys, fairness });
    return null;
  },
});

const using = { ms: v.number(), used: v.number() };
const usingRef = makeFunctionReference<"action", { ms: number; used: number }, object>(
  "limited:actUsing",
);

/** An action that says how many tokens it has used. */
export const actUsing = internalActionGeneric({
  args: using,
  returns: v.object({ usage: v.object({ tokens: v.number() }) }),
  handler: async (_ctx, { ms, used }) => {
    await new Promise((resolve) => setTimeout(resolve, ms));
    return { usage: { tokens: used } };
  },
});

/** Enqueues a work that is estimated to use 500 tokens. */
export const enqueueUsing = internalMutationGeneric({
  args: { count: v.number(), maxParallelism: v.number(), ...using },
  returns: v.null(),
  handler: async (ctx, { maxParallelism, ms, used }) => {
    const pool = new Workpool(component, { maxParallelism, limits });
    const tokens = { estimate: 500, spend: "usage.tokens" };
    await pool.enqueueAction(ctx, usingRef, { ms, used }, { limits: { tokens } });
    return null;
  },
});

const refused = { ms: v.number(), until: v.number() };
const refusedRef = makeFunctionReference<"action", { ms: number; until: number }, null>(
  "limited:actRefused",
);

/** An action whose service answers 429 until some time, and says to come back 10 s later. */
export const actRefused = internalActionGeneric({
  args: refused,
  returns: v.null(),
  handler: async (_ctx, { ms, until }) => {
    await new Promise((resolve) => setTimeout(resolve, ms));
    if (Date.now() < until) throw new RetryAfter(10_000, { holds: "service" });
    return null;
  },
});

/** Enqueues works at once that are refused for a second. */
export const enqueueRefused = internalMutationGeneric({
  args: { count: v.number(), maxParallelism: v.number(), ms: v.number() },
  returns: v.null(),
  handler: async (ctx, { count, maxParallelism, ms }) => {
    const pool = new Workpool(component, { maxParallelism, limits });
    const args = Array.from({ length: count }, () => ({ ms, until: Date.now() + 1_000 }));
    await pool.enqueueActionBatch(ctx, refusedRef, args, { limits: { service: true } });
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
