import { getConvexSize, type Value } from "convex/values";
import type { Doc, Host, MutationCtx, Work } from "./context.js";
import { setAside } from "./set-aside.js";
import { beginWait, endWait } from "./wait-timers.js";

/** Larger arguments are stored apart: a completion reads many rows of the queue. */
const QUEUED_ARGS_BYTES = 512;

/** What is kept of a work that waits; `at` is the order in which they have come. */
export type Queued = Omit<Doc<"waiting">, "_id" | "_creationTime" | "lane">;

/** Stores a work that is to wait. */
export async function queuedOf(
  ctx: MutationCtx,
  host: Host,
  {
    work,
    fn,
    args,
    argsInRecord = false,
    timeoutMs,
    isMutation,
    group,
    permits,
    fair,
    isAgain,
    at = ctx.db.vars.commitTs,
    until,
    waitAtMostMs,
  }: Work,
): Promise<Queued> {
  const large = !argsInRecord && getConvexSize(args as Value) >= QUEUED_ARGS_BYTES;
  return {
    work,
    fn,
    args: large || argsInRecord ? undefined : args,
    largeArgs: large ? await ctx.db.insert("largeArgs", { args }) : undefined,
    timeoutMs,
    isMutation,
    group,
    permits: permits === undefined ? undefined : [...permits],
    fair,
    wait: await beginWait(ctx, host, { work, until, waitAtMostMs }),
    isAgain: (permits !== undefined && isAgain) || undefined,
    at,
  };
}

/** The work of a row that is no more; null if it had to be set aside. */
export async function workOfQueued(ctx: MutationCtx, row: Queued): Promise<Work | null> {
  const { work, fn, timeoutMs, isMutation, group, permits, fair, isAgain } = row;
  const until = await endWait(ctx, row);
  const rest = { work, fn, timeoutMs, isMutation, group, permits, fair, isAgain, until };
  if (row.largeArgs === undefined) {
    const args = row.args ?? undefined;
    return { ...rest, args: args ?? {}, argsInRecord: args === undefined };
  }
  const large = await ctx.db.get("largeArgs", row.largeArgs);
  if (large === null) {
    await setAside(ctx, work, `The arguments of the waiting work "${work}" are gone`);
    return null;
  }
  await ctx.db.delete("largeArgs", row.largeArgs);
  return { ...rest, args: large.args };
}
