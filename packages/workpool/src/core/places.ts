import type { HostQueryCtx } from "./context.js";

/** How many scheduled functions a deployment runs at once, by its class. A scheduled action holds its place while it runs. */
const PLACES: Readonly<Record<string, number>> = { s256: 256, d1024: 512, d2048: 1_024 };
const FEWEST_PLACES = 8;
/** So many are left by default to the app's own scheduled functions, and to timers. */
const LEFT_TO_THE_APP = 2;
const MOST_BY_DEFAULT = 10;

/** How many scheduled functions this deployment runs at once. */
export async function placesOf(ctx: HostQueryCtx): Promise<number> {
  return PLACES[(await ctx.meta.getDeploymentMetadata()).class] ?? FEWEST_PLACES;
}

/** How many works run at once where nothing else is said: 10, or 6 on the smallest class. */
export async function defaultMaxParallelism(ctx: HostQueryCtx): Promise<number> {
  return Math.min(MOST_BY_DEFAULT, (await placesOf(ctx)) - LEFT_TO_THE_APP);
}
