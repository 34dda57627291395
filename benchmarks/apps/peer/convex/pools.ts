import { Workpool } from "@convex-dev/workpool";
import { componentsGeneric, internalMutationGeneric } from "convex/server";
import { v } from "convex/values";
import { steps } from "../../references.js";

type Component = ConstructorParameters<typeof Workpool>[0];

// Untyped where no app has generated its types; what is mounted there is the pool.
const component = componentsGeneric()["workpool"] as unknown as Component;
const pool = new Workpool(component, { maxParallelism: 10 });

/** Enqueues so many works at once. */
export const enqueue = internalMutationGeneric({
  args: { kind: v.union(v.literal("action"), v.literal("mutation")), count: v.number() },
  returns: v.null(),
  handler: async (ctx, { kind, count }) => {
    const args = Array.from({ length: count }, (_, n) => ({ n }));
    if (kind === "action") await pool.enqueueActionBatch(ctx, steps.act, args);
    else await pool.enqueueMutationBatch(ctx, steps.write, args);
    return null;
  },
});
