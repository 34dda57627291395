import type { Doc, HostQueryCtx, PoolMutationCtx } from "./context.js";

/** How many works run at once where nothing else is said. */
export const DEFAULT_MAX_PARALLELISM = 10;
/** The most that may be asked for: more would need more scheduled functions at once than a deployment runs. */
export const MAX_PARALLELISM_LIMIT = 200;

/** The gate, or null in a pool that nothing was ever enqueued to. */
export async function readGate(ctx: HostQueryCtx): Promise<Doc<"gate"> | null> {
  return await ctx.db.query("gate").first();
}

/** The gate; a new pool gets its gate and its slots here. */
export async function ensureGate(
  ctx: PoolMutationCtx,
  maxParallelism: number = DEFAULT_MAX_PARALLELISM,
): Promise<Doc<"gate">> {
  const gate = await readGate(ctx);
  if (gate !== null) return gate;
  checkMaxParallelism(maxParallelism);
  await addSlots(ctx, 0, maxParallelism);
  const id = await ctx.db.insert("gate", { open: maxParallelism > 0, maxParallelism });
  const created = await ctx.db.get("gate", id);
  if (created === null) throw new Error("The gate that was just inserted is not there");
  return created;
}

/** Inserts the free slots numbered `from` up to, but without, `to`. */
export async function addSlots(ctx: PoolMutationCtx, from: number, to: number): Promise<void> {
  for (let number = from; number < to; number++) {
    await ctx.db.insert("slots", { number, startedAt: 0, handOvers: 0, heldSince: 0 });
  }
}

/** @throws where it is not a whole number from 0 to {@link MAX_PARALLELISM_LIMIT}. */
export function checkMaxParallelism(maxParallelism: number): void {
  if (
    Number.isInteger(maxParallelism) &&
    maxParallelism >= 0 &&
    maxParallelism <= MAX_PARALLELISM_LIMIT
  )
    return;
  throw new Error(
    `maxParallelism is ${maxParallelism}: it must be a whole number from 0 (paused) to ${MAX_PARALLELISM_LIMIT}`,
  );
}
