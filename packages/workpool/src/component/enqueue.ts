import type { Value } from "convex/values";
import * as core from "../core/index.js";
import type { Doc, Id } from "./_generated/dataModel.js";
import type { MutationCtx } from "./_generated/server.js";
import { scheduleStart, shareStart } from "./delayed.js";
import { logEnqueued, logStarted, logWaiting, warn } from "./events.js";
import type { Enqueue } from "./schema.js";
import { host } from "./host.js";
import { storeValue, workOf } from "./work.js";

/** What the record of a work has that settles itself, or is delayed. */
type Special = Pick<Doc<"works">, "settles" | "timeoutMs" | "due">;

export async function enqueueAll(
  ctx: MutationCtx,
  enqueue: Enqueue,
  argsList: readonly Record<string, Value>[],
  special: Special = {},
): Promise<Id<"works">[]> {
  const gate = await core.applyConfig(ctx, host, enqueue);
  const at = await startTime(ctx, enqueue);
  if (enqueue.retry !== undefined) core.checkRetryBehavior(enqueue.retry);
  const works: Doc<"works">[] = [];
  const due = at === null || argsList.length === 0 ? undefined : await shareStart(ctx, at);
  const fields = due === undefined ? special : { ...special, due };
  for (const args of argsList) works.push(await insertWork(ctx, enqueue, args, fields));
  if (at !== null) {
    await logEnqueued(ctx, works, due?.at ?? at);
  } else {
    const ready = works.map((work, index) => workOf(ctx, work, argsList[index]));
    const all = await Promise.all(ready);
    const started = await core.enqueueWorks(ctx, all, host, gate);
    await core.refuseIfTooManyWait(ctx, host, all, started);
    const isStarted = new Set(started.map(({ work }) => work));
    await logEnqueued(ctx, works, at);
    for (const work of works.slice(0, core.MOST_LOGGED_AT_ONCE))
      await (isStarted.has(work._id) ? logStarted : logWaiting)(ctx, work);
  }
  return works.map((work) => work._id);
}

/**
 * Starts a work again later. Until then it holds no slot, and one scheduled function.
 * @param isShared others are probably due at that moment: one function starts them. Default: alone.
 */
export async function delayWork(
  ctx: MutationCtx,
  workId: Id<"works">,
  at: number,
  fields: Partial<Pick<Doc<"works">, "attempts" | "uncounted" | "cameAt">> = {},
  isShared = false,
): Promise<void> {
  const due = await (isShared ? shareStart : scheduleStart)(ctx, at);
  await ctx.db.patch("works", workId, { ...fields, due });
}

async function insertWork(
  ctx: MutationCtx,
  {
    kind,
    fn,
    name,
    retry,
    permits,
    spends,
    waitAtMostMs,
    priorityMs,
    fairness,
    onComplete,
  }: Enqueue,
  args: Record<string, Value>,
  special: Special,
): Promise<Doc<"works">> {
  const label = `"${name ?? fn}"`;
  const storedArgs = await storeValue(ctx, args, `argument object for ${label}`);
  const work = {
    kind,
    fn,
    name,
    args: storedArgs.inline,
    largeArgs: storedArgs.large,
    largeArgsBytes: storedArgs.large && storedArgs.bytes,
    attempts: 0,
    retry,
    permits,
    waitAtMostMs,
    priorityMs,
    fairness,
    spends,
    onComplete: await storeCallback(ctx, onComplete, label),
    ...special,
  };
  const _id = await ctx.db.insert("works", work);
  return { ...work, _id, _creationTime: Date.now() };
}

async function storeCallback(ctx: MutationCtx, onComplete: Enqueue["onComplete"], label: string) {
  if (onComplete === undefined) return undefined;
  const { context, ...callback } = onComplete;
  if (context === undefined) return callback;
  const stored = await storeValue(ctx, context, `onComplete context for ${label}`);
  return { ...callback, context: stored.inline, largeContext: stored.large };
}

/** Returns when to start a work, in ms since the epoch; null: now. @throws if it is not a time. */
async function startTime(ctx: MutationCtx, { runAt, name = "a work" }: Enqueue) {
  if (runAt === undefined) return null;
  const enqueueing = `Enqueueing ${name}`;
  if (!Number.isFinite(runAt))
    throw new Error(
      `${enqueueing}: the time to start it at is ${runAt}, and must be ms since the epoch`,
    );
  const now = Date.now();
  if (runAt < now - core.YEAR_MS)
    await warn(ctx, `${enqueueing}: its time, ${runAt}, is more than a year past; it starts now`);
  if (runAt <= now) return null;
  if (runAt <= now + 4 * core.YEAR_MS) return runAt;
  await warn(
    ctx,
    `${enqueueing}: its time, ${runAt}, is more than 4 years ahead; it starts in a year`,
  );
  return now + core.YEAR_MS;
}
