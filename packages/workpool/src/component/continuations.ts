import { createFunctionHandle, type FunctionHandle, type FunctionReference } from "convex/server";
import { v, type Value } from "convex/values";
import { keepLooking } from "../core/index.js";
import { internal } from "./_generated/api.js";
import type { Doc, Id } from "./_generated/dataModel.js";
import { internalQuery, type MutationCtx, type QueryCtx } from "./_generated/server.js";
import { warn } from "./events.js";
import { host } from "./host.js";

/** A page ends early once less than this is left: half of the limits, for the callback of its last work. */
export const HALF_OF_A_TRANSACTION = {
  bytesRead: 8 << 20,
  bytesWritten: 8 << 20,
  databaseQueries: 2_048,
  documentsRead: 16_000,
  documentsWritten: 8_000,
  functionsScheduled: 500,
  scheduledFunctionArgsBytes: 8 << 20,
};

/** How many of them the watchdog checks at once. */
const MOST_CHECKED = 100;
/** How soon the watchdog checks again, while there is one. */
const CHECK_AGAIN_MS = 60_000;

/** Arguments of every function that goes on with something. */
export const continuationArgs = { continuation: v.id("continuations") };

type GoesOn = FunctionReference<"mutation", "internal", { continuation: Id<"continuations"> }>;

/**
 * Continues in a further transaction, which is watched: if its scheduled function is lost, it is scheduled
 * again. @param fn calls {@link goOnWith}. @param page where to go on.
 */
export async function goOn(ctx: MutationCtx, fn: GoesOn, page: Value): Promise<void> {
  const handle = await createFunctionHandle(fn);
  const id = await ctx.db.insert("continuations", { fn: handle, page, failures: 0 });
  await schedule(ctx, id, { fn: handle, page, failures: 0 });
  await keepLooking(ctx, host);
}

/**
 * Does the next page of something, and has the one after it scheduled.
 * @param doPage returns where to go on, or null at the end. `failures` says how often this page has failed
 * in a row, as by a timeout: it does less then, and from the second time on skips what it begins with.
 */
export async function goOnWith<Page extends Value>(
  ctx: MutationCtx,
  id: Id<"continuations">,
  doPage: (page: Page, failures: number) => Promise<Page | null>,
): Promise<null> {
  const continuation = await ctx.db.get("continuations", id);
  if (continuation === null) return null;
  const { fn, page, failures } = continuation;
  // What was kept is what the same function gave.
  const next = await doPage(page as Page, failures);
  if (next === null) await ctx.db.delete("continuations", id);
  else await schedule(ctx, id, { fn, page: next, failures: 0 });
  return null;
}

async function schedule(
  ctx: MutationCtx,
  id: Id<"continuations">,
  { fn, page, failures }: Pick<Doc<"continuations">, "fn" | "page" | "failures">,
): Promise<void> {
  const job = await ctx.scheduler.runAfter(0, fn as FunctionHandle<"mutation">, {
    continuation: id,
  });
  await ctx.db.patch("continuations", id, { job, page, failures });
}

/** Revives continuations whose scheduled function was lost. @returns when to check again, or null if there is none. */
export async function reviveContinuations(ctx: MutationCtx, idle: boolean): Promise<number | null> {
  const { any, lost } = await ctx.runQuery(
    internal.continuations.look,
    {},
    { useStaleSnapshot: true },
  );
  for (const id of lost) {
    const continuation = await ctx.db.get("continuations", id);
    const why = continuation === null ? null : await lossOf(ctx, continuation);
    if (continuation === null || why === null) continue;
    await warn(ctx, `What should have gone on did not, as ${why}: it goes on now`);
    const failures = continuation.failures + (why === FAILED ? 1 : 0);
    await schedule(ctx, id, { ...continuation, failures });
  }
  // That there is none is concluded from the table itself.
  const goesOn = any || (idle && (await ctx.db.query("continuations").first()) !== null);
  return goesOn ? Date.now() + CHECK_AGAIN_MS : null;
}

/** Which of them are lost. Read from a stale snapshot, as each page writes its document. */
export const look = internalQuery({
  args: {},
  returns: v.object({ any: v.boolean(), lost: v.array(v.id("continuations")) }),
  handler: async (ctx) => {
    const some = await ctx.db.query("continuations").take(MOST_CHECKED);
    const lost: Id<"continuations">[] = [];
    for (const each of some) if ((await lossOf(ctx, each)) !== null) lost.push(each._id);
    return { any: some.length > 0, lost };
  },
});

const FAILED = "its scheduled function failed";

async function lossOf(ctx: QueryCtx, { job }: Doc<"continuations">): Promise<string | null> {
  const scheduled = job === undefined ? null : await ctx.db.system.get("_scheduled_functions", job);
  if (scheduled === null) return "its scheduled function is gone";
  if (scheduled.state.kind === "failed") return FAILED;
  if (scheduled.state.kind === "canceled") return "its scheduled function was canceled";
  return null;
}
