import { keepLooking } from "@stepwise/workpool/core";
import { createFunctionHandle, type FunctionHandle, type FunctionReference } from "convex/server";
import type { Value } from "convex/values";
import type { Doc, Id } from "./_generated/dataModel.js";
import type { MutationCtx } from "./_generated/server.js";
import { pool } from "./line.js";
import { seeInTurn } from "./looking.js";
import { cancelPending, isLost } from "./scheduled.js";

/** How long after a look there is another, in ms, while something goes on. */
const LOOK_AGAIN_MS = 60_000;

type GoesOn = FunctionReference<
  "mutation",
  "internal",
  { continuation: Id<"continuations"> },
  null
>;

/**
 * Has something go on in a transaction of its own that is too much for this one. It is watched: where its scheduled function is lost or
 * fails, it is scheduled again.
 * @param fn calls {@link goOnWith}.
 * @param page what to go on with.
 * @param afterMs in how many ms. Default: at once.
 */
export async function goOn(
  ctx: MutationCtx,
  fn: GoesOn,
  page: Value,
  afterMs = 0,
): Promise<Id<"continuations">> {
  const handle = await createFunctionHandle(fn);
  const id = await ctx.db.insert("continuations", { fn: handle, page, at: ctx.db.vars.commitTs });
  await schedule(ctx, id, { fn: handle, page }, afterMs);
  await keepLooking(ctx, pool);
  return id;
}

/** Has nothing go on. To be called outside the function that does it; one that runs right now finds that there is nothing to do. */
export async function callOff(ctx: MutationCtx, id: Id<"continuations">): Promise<void> {
  const continuation = await ctx.db.get("continuations", id);
  if (continuation === null) return;
  if (continuation.job !== undefined) await cancelPending(ctx, continuation.job);
  await ctx.db.delete("continuations", id);
}

/**
 * Does the next page of something, and has the one after it scheduled.
 * @param doPage does it; `at` is when it was begun, in the order of commits. @returns what is left to do, or null at the end.
 */
export async function goOnWith<Page extends Value>(
  ctx: MutationCtx,
  id: Id<"continuations">,
  doPage: (page: Page, at: bigint | undefined) => Promise<Page | null>,
): Promise<null> {
  const continuation = await ctx.db.get("continuations", id);
  if (continuation === null) return null;
  // What was kept is what the same function gave; and another transaction has committed it.
  const next = await doPage(continuation.page as Page, continuation.at as bigint | undefined);
  if (next === null) await ctx.db.delete("continuations", id);
  else await schedule(ctx, id, { fn: continuation.fn, page: next });
  return null;
}

async function schedule(
  ctx: MutationCtx,
  id: Id<"continuations">,
  { fn, page }: Pick<Doc<"continuations">, "fn" | "page">,
  afterMs = 0,
): Promise<void> {
  const job = await ctx.scheduler.runAfter(afterMs, fn as FunctionHandle<"mutation">, {
    continuation: id,
  });
  await ctx.db.patch("continuations", id, { job, page });
}

/**
 * Has those go on whose scheduled function was lost. For the pool's watchdog, and for a repair.
 * @returns when to look again, in ms since the epoch; null where nothing goes on.
 */
export async function lookAfterContinuations(
  ctx: MutationCtx,
  idle: boolean,
): Promise<number | null> {
  const found = await seeInTurn(ctx, "continuations", async (each) => {
    if (await isLost(ctx, each)) await schedule(ctx, each._id, each);
  });
  if (found === "more") return Date.now();
  // That there is none is concluded from the table itself.
  const any = found === "all" || (idle && (await ctx.db.query("continuations").first()) !== null);
  return any ? Date.now() + LOOK_AGAIN_MS : null;
}
