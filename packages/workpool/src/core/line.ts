import { getConvexSize, type GenericId, type Value } from "convex/values";
import type {
  Doc,
  HostMutationCtx,
  HostQueryCtx,
  PoolHost,
  PoolMutationCtx,
  PoolQueryCtx,
  Work,
} from "./context.js";
import { setAside } from "./set-aside.js";

/** From this size on, arguments are kept in a table of their own. */
export const INLINE_ARGS_BYTES = 8_000;

/** Puts a work at the end of the line. */
export async function joinLine(
  ctx: PoolMutationCtx,
  { work, fn, args, argsInRecord = false, timeoutMs, brief }: Work,
): Promise<void> {
  const large = !argsInRecord && getConvexSize(args as Value) >= INLINE_ARGS_BYTES;
  await ctx.db.insert("waiting", {
    work,
    fn,
    args: large || argsInRecord ? null : args,
    ...(large ? { largeArgs: await ctx.db.insert("largeArgs", { args }) } : {}),
    timeoutMs,
    brief,
    at: ctx.db.vars.commitTs,
  });
}

/** The oldest waiting works. Read by {@link leaveLineNearFirst} from a stale snapshot, through the host's registration of it. */
export async function lineHead(
  ctx: HostQueryCtx,
  { count }: { count: number },
): Promise<GenericId<"waiting">[]> {
  const head = await ctx.db.query("waiting").withIndex("by_commit").take(count);
  return head.map((row) => row._id);
}

/**
 * Takes one of the oldest waiting works off the line, or gives null when nothing waits.
 *
 * Completions that run at the same time would all want the very first and conflict over it. So each looks at the head of the line
 * without a dependency, begins at a random place in it, and confirms its pick by a point read. Random, and not fixed by the slot:
 * places that no slot begins at would never be served while the line is long, and a conflict would meet again when it is repeated.
 * That nothing waits is only concluded from a serializable read.
 */
export async function leaveLineNearFirst(
  ctx: PoolMutationCtx,
  host: PoolHost,
  window: number,
): Promise<Work | null> {
  const count = Math.max(1, window);
  const head = await ctx.runQuery(host.lineHead, { count }, { useStaleSnapshot: true });
  const start = Math.floor(Math.random() * head.length);
  for (let i = 0; i < head.length; i++) {
    const id = head[(start + i) % head.length];
    const row = id === undefined ? null : await ctx.db.get("waiting", id);
    const work = row === null ? null : await leaveLine(ctx, row);
    if (work !== null) return work;
  }
  return await leaveLineFirst(ctx);
}

/** Takes the oldest waiting work off the line, or gives null when nothing waits. For one that has no rivals. */
export async function leaveLineFirst(ctx: PoolMutationCtx): Promise<Work | null> {
  for (;;) {
    const first = await ctx.db.query("waiting").withIndex("by_commit").first();
    if (first === null) return null;
    const work = await leaveLine(ctx, first);
    if (work !== null) return work;
  }
}

/** Takes a work off the line that shall not run any more. @returns whether it was waiting. */
export async function leaveLineCanceled(ctx: HostMutationCtx, work: string): Promise<boolean> {
  const row = await waitingRow(ctx, work);
  if (row === null) return false;
  await leaveLine(ctx, row);
  return true;
}

/** Whether the work stands in the line. */
export async function isWaiting(ctx: HostQueryCtx, work: string): Promise<boolean> {
  return (await waitingRow(ctx, work)) !== null;
}

async function waitingRow(ctx: PoolQueryCtx, work: string): Promise<Doc<"waiting"> | null> {
  return await ctx.db
    .query("waiting")
    .withIndex("by_work", (q) => q.eq("work", work))
    .first();
}

/** Takes the row off the line. @returns its work, or null if it had to be set aside. */
async function leaveLine(ctx: PoolMutationCtx, row: Doc<"waiting">): Promise<Work | null> {
  await ctx.db.delete("waiting", row._id);
  const { work, fn, timeoutMs, brief } = row;
  const rest = {
    work,
    fn,
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(brief === undefined ? {} : { brief }),
  };
  if (row.largeArgs === undefined) {
    // Arguments are never null, but for those that the host keeps.
    const argsInRecord = row.args === null;
    return { ...rest, args: argsInRecord ? {} : row.args, argsInRecord };
  }
  const large = await ctx.db.get("largeArgs", row.largeArgs);
  if (large === null) {
    await setAside(ctx, work, `The arguments of the waiting work "${work}" are gone`);
    return null;
  }
  await ctx.db.delete("largeArgs", row.largeArgs);
  return { ...rest, args: large.args };
}
