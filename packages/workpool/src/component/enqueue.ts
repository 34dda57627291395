import type { Infer, Value } from "convex/values";
import { v } from "convex/values";
import {
  checkRetryBehavior,
  enqueueWork,
  enqueueWorks,
  vResultKind,
  vRetryBehavior,
} from "../core/index.js";
import { internal } from "./_generated/api.js";
import type { Doc, Id } from "./_generated/dataModel.js";
import type { MutationCtx } from "./_generated/server.js";
import { keepValue } from "./largeValues.js";
import { vWorkKind } from "./schema.js";
import { startTime } from "./startTime.js";
import { workOf } from "./work.js";

/** What works that are enqueued together have in common: all but their arguments. */
export const enqueueFields = {
  kind: vWorkKind,
  /** The handle of the function to run. */
  fn: v.string(),
  /** Names the work in messages. */
  name: v.optional(v.string()),
  /** When to start, in ms since the epoch. Default: at once. */
  runAt: v.optional(v.number()),
  /** Default: a failure is not tried again. */
  retry: v.optional(vRetryBehavior),
  /** The handle of the mutation to call at the end, what to hand it, and the kinds of results to leave it out for. */
  onComplete: v.optional(
    v.object({
      fn: v.string(),
      context: v.optional(v.any()),
      excludeKinds: v.optional(v.array(vResultKind)),
    }),
  ),
  /** The class's own `maxParallelism`: applied where it differs from the one that the class gave last. */
  maxParallelism: v.optional(v.number()),
};
const vEnqueue = v.object(enqueueFields);
export type Enqueue = Infer<typeof vEnqueue>;

/** Enqueues one work for each of `argsList`, in their order. */
export async function enqueueAll(
  ctx: MutationCtx,
  enqueue: Enqueue,
  argsList: readonly Record<string, Value>[],
): Promise<Id<"works">[]> {
  const at = startTime(enqueue.runAt, enqueue.name);
  if (enqueue.retry !== undefined) checkRetryBehavior(enqueue.retry);
  const works: Doc<"works">[] = [];
  for (const args of argsList) works.push(await insertWork(ctx, enqueue, args));
  if (at !== null) {
    for (const { _id } of works) await delayWork(ctx, _id, at);
  } else if (works.length === 1 && works[0] !== undefined) {
    await enqueueWork(ctx, await workOf(works[0], argsList[0]));
  } else {
    await enqueueWorks(
      ctx,
      await Promise.all(works.map((work, index) => workOf(work, argsList[index]))),
    );
  }
  return works.map((work) => work._id);
}

/** Has a work started later: it holds no slot till then, and one scheduled function. */
export async function delayWork(
  ctx: MutationCtx,
  workId: Id<"works">,
  at: number,
  attempts = 0,
): Promise<void> {
  const attempt = attempts + 1;
  const job = await ctx.scheduler.runAt(at, internal.worker.startDue, { workId, attempt });
  await ctx.db.patch("works", workId, { attempts, due: { job, at } });
}

async function insertWork(
  ctx: MutationCtx,
  { kind, fn, name, retry, onComplete }: Enqueue,
  args: Record<string, Value>,
): Promise<Doc<"works">> {
  const label = `"${name ?? fn}"`;
  const keptArgs = await keepValue(ctx, args, `argument object for ${label}`);
  const work = {
    kind,
    fn,
    name,
    args: keptArgs.inline,
    largeArgs: keptArgs.large,
    attempts: 0,
    retry,
    onComplete: await keepCallback(ctx, onComplete, label),
  };
  const _id = await ctx.db.insert("works", work);
  return { ...work, _id, _creationTime: Date.now() };
}

async function keepCallback(
  ctx: MutationCtx,
  onComplete: Enqueue["onComplete"],
  label: string,
): Promise<Doc<"works">["onComplete"]> {
  if (onComplete === undefined) return undefined;
  const { context, ...callback } = onComplete;
  if (context === undefined) return callback;
  const kept = await keepValue(ctx, context, `onComplete context for ${label}`);
  return { ...callback, context: kept.inline, largeContext: kept.large };
}
