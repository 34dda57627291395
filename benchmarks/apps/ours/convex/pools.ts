import { enqueueSettling, type WorkId, Workpool } from "@stepwise/workpool";
import { componentsGeneric, internalMutationGeneric, internalQueryGeneric } from "convex/server";
import { v } from "convex/values";
import { steps } from "../../references.js";
import { largeText, retry, vWorks } from "../../works.js";
import { settlingAct } from "./settling.js";

type Component = ConstructorParameters<typeof Workpool>[0];

// Untyped where no app has generated its types; what is mounted there is a pool.
const pools = componentsGeneric() as unknown as Record<string, Component>;
const component = pools["workpool"]!;

/** Enqueues works at once. @returns their ids. */
export const enqueue = internalMutationGeneric({
  args: vWorks,
  returns: v.array(v.string()),
  handler: async (ctx, { kind, count, maxParallelism, ms, runAfter, ...of }): Promise<string[]> => {
    const pool = new Workpool(pools[of.pool ?? "workpool"]!, { maxParallelism });
    const args = Array.from({ length: count }, (_, n) => ({ n }));
    const options = runAfter === undefined ? {} : { runAfter };
    switch (kind) {
      case "action":
        return await pool.enqueueActionBatch(ctx, steps.act, args, options);
      case "settlingAction":
        return await enqueueSettling(
          component,
          ctx,
          "action",
          settlingAct,
          args.map(({ n }) => ({ n, ms })),
          { ...options, maxParallelism },
        );
      case "busyAction": {
        const busy = args.map(({ n }) => ({ n, ms }));
        return await pool.enqueueActionBatch(ctx, steps.actFor, busy, options);
      }
      case "largeAction": {
        const large = args.map(() => ({ ms, text: largeText }));
        return await pool.enqueueActionBatch(ctx, steps.actLarge, large, options);
      }
      case "failingAction":
        return await pool.enqueueActionBatch(ctx, steps.actAtSecond, args, { ...options, retry });
      case "mutation":
        return await pool.enqueueMutationBatch(ctx, steps.write, args, options);
      case "insertion":
        return await pool.enqueueMutationBatch(ctx, steps.insert, args, options);
    }
  },
});

/** Says whether a work has ended. */
export const finished = internalQueryGeneric({
  args: { id: v.string() },
  returns: v.boolean(),
  handler: async (ctx, { id }): Promise<boolean> => {
    // Which parallelism it is asked with does not matter: only an enqueue sets it.
    const status = await new Workpool(component, {}).status(ctx, id as WorkId);
    return status.state === "finished";
  },
});

/** Cancels all works. */
export const cancelAll = internalMutationGeneric({
  args: {},
  returns: v.null(),
  handler: async (ctx) => {
    await new Workpool(component, {}).cancelAll(ctx);
    return null;
  },
});
