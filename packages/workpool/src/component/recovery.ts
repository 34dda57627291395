import { paginator } from "convex-helpers/server/pagination";
import { v } from "convex/values";
import { continueLater, HALF_OF_A_TRANSACTION, hasRoom, PAGE, setAside } from "../core/index.js";
import { internal } from "./_generated/api.js";
import type { Doc } from "./_generated/dataModel.js";
import type { MutationCtx } from "./_generated/server.js";
import { endAttempt } from "./complete.js";
import { continuation, voidMutation } from "./continuations.js";
import { isStartLost } from "./delayed.js";
import { delayWork } from "./enqueue.js";
import { warn } from "./events.js";
import { host } from "./host.js";
import schema from "./schema.js";
import { enqueueDue } from "./worker.js";

export const loseAttempt = voidMutation(
  { id: v.id("works"), slot: v.id("slots"), why: v.string() },
  async (ctx, { id, slot, why }) => {
    const work = await ctx.db.get("works", id);
    if (work === null) return;
    const attempt = work.attempts + 1;
    await warn(ctx, `Attempt ${attempt} of "${work.name ?? work.fn}" (${id}) was lost: ${why}`);
    const error = `The attempt was lost: ${why}`;
    await endAttempt(ctx, work, slot, { kind: "failed", error, retryable: true });
  },
);

/** Starts delayed works, and next attempts, whose scheduled start was lost. */
export const startLost = voidMutation({ lost: v.array(v.id("works")) }, async (ctx, { lost }) => {
  // More than a page of them are all started in pages.
  const areMany = lost.length === PAGE;
  for (const id of lost) {
    if (areMany || !(await hasRoom(ctx, HALF_OF_A_TRANSACTION))) {
      await continueLater(ctx, host, internal.recovery.repairMore, allUpTo(Date.now()));
      return;
    }
    const work = await ctx.db.get("works", id);
    if (
      work !== null &&
      // guard: late-start
      (await isStartLost(ctx, work))
    )
      await rearm(ctx, work);
  }
});

/** Starts delayed works whose scheduled start was lost: some here, the others later. */
export async function repairDelayed(ctx: MutationCtx): Promise<void> {
  const next = await repairPage(ctx, allUpTo(Number.MAX_SAFE_INTEGER));
  if (next !== null) await continueLater(ctx, host, internal.recovery.repairMore, next);
}

export const repairMore = continuation<Page>(repairPage);

/* A type and not an interface, as a continuation keeps it as a Convex value. */
type Page = {
  readonly cursor: string | null;
  /** The time in which works are due. */
  readonly from: number;
  readonly upTo: number;
};

function allUpTo(upTo: number): Page {
  return { cursor: null, from: 0, upTo };
}

/** @returns where the next page begins, or null after the last. */
async function repairPage(
  ctx: MutationCtx,
  { cursor, from, upTo }: Page,
  { failures } = { failures: 0 },
): Promise<Page | null> {
  const found = await paginator(ctx.db, schema)
    .query("works")
    .withIndex("by_due", (q) => q.gte("due.at", from).lte("due.at", upTo))
    .paginate({ cursor, numItems: failures === 0 ? PAGE : 1 });
  for (const work of found.page) {
    // Those before it are done, so beginning at the same place again is cheap.
    if (!(await hasRoom(ctx, HALF_OF_A_TRANSACTION))) return { cursor, from, upTo };
    if (!(await isStartLost(ctx, work))) continue;
    if (failures < 2) await rearm(ctx, work);
    else {
      await ctx.db.patch("works", work._id, { due: undefined });
      await setAside(ctx, work._id, "It could not be started: that has failed again and again");
    }
  }
  return found.isDone ? null : { cursor: found.continueCursor, from, upTo };
}

/** Starts a work again, now or when it is due. One that cannot start is set aside. */
async function rearm(ctx: MutationCtx, work: Doc<"works">): Promise<void> {
  const { _id, due, name, fn } = work;
  if (due === undefined) return;
  if (due.at > Date.now()) return await delayWork(ctx, _id, due.at);
  if (due.job !== undefined)
    await warn(ctx, `The start of "${name ?? fn}" (${_id}) did not come: it starts now`);
  await enqueueDue(ctx, [work]);
}
