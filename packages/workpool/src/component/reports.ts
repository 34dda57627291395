import { getConvexSize, type Infer, v } from "convex/values";
import {
  type Counted,
  type Counts,
  countsSince,
  hasRoom,
  isIdle,
  isSeat,
  messageOf,
  MIB,
  readGate,
  NOTHING_COUNTED,
  poolTx,
  type SlotCounts,
  sumOf,
  vCounts,
} from "../core/index.js";
import { internal } from "./_generated/api.js";
import type { Doc } from "./_generated/dataModel.js";
import { internalQuery, type MutationCtx, type QueryCtx } from "./_generated/server.js";
import { logEvent, warn } from "./events.js";

/**
 * In how many documents works are counted that end without a slot, so that cancels rarely conflict.
 */
const SHARDS = 8;

/** Counts works that ended without a slot: canceled in time, or without a function. */
export async function countWithoutSlot(ctx: MutationCtx, what: Counted, howMany = 1) {
  if (howMany === 0) return;
  const shard = Math.floor(Math.random() * SHARDS);
  const row = await ctx.db
    .query("counts")
    .withIndex("by_shard", (q) => q.eq("shard", shard))
    .first();
  if (row === null) await ctx.db.insert("counts", { shard, ...NOTHING_COUNTED, [what]: howMany });
  else await ctx.db.patch("counts", row._id, { [what]: row[what] + howMany });
}

const REPORT_EVERY_MS = 60_000;

/** The pool is stalled if nothing starts for this long while works wait. */
const NO_PROGRESS_MS = 2 * 60_000;

/** What reading the figures takes at most. A completion does it, and may have little left. */
const ROOM_TO_REPORT = {
  bytesRead: 3 << 20,
  bytesWritten: 64 * 1024,
  databaseQueries: 16,
  documentsRead: 2_000,
  documentsWritten: 4,
};

/** Counts an end in its slot, which asks once a minute whether a report is due: nothing polls. */
export function countEnd(what: Counted) {
  let due = false;
  return {
    /** Adds it to the counts of its slot; for `completeWork`. */
    count: (before: SlotCounts | undefined): SlotCounts => {
      const now = Date.now();
      const { askedAt, ...counts } = before ?? { ...NOTHING_COUNTED, askedAt: now };
      due = now - askedAt >= REPORT_EVERY_MS;
      return { ...counts, [what]: counts[what] + 1, askedAt: due ? now : askedAt };
    },
    /** Call it last: makes a report, if this slot has not asked for a minute, and one is due. */
    report: async (ctx: MutationCtx) => {
      if (due) await reportIfDue(ctx);
    },
  };
}

/** Makes a report if the last one is a minute old. It never fails its caller. */
async function reportIfDue(ctx: MutationCtx): Promise<void> {
  if (!(await hasRoom(ctx, ROOM_TO_REPORT))) return;
  const last = await ctx.db.query("reports").first();
  if (last !== null && isRecent(last.at)) return;
  const figures = await seenFigures(ctx);
  if (figures !== null) await report(ctx, figures, last);
}

/** Makes a report for the watchdog if one is due, or if something ended and nothing runs. */
export async function reportAlong(ctx: MutationCtx, idle: boolean): Promise<void> {
  if (!(await hasRoom(ctx, ROOM_TO_REPORT))) return;
  const atRest = idle && (await isIdle(ctx)) && poolTx(ctx).gate?.open === true;
  // An idle pool has nobody to conflict with, and what ended in this transaction counts too.
  const figures = atRest ? await readFigures(ctx) : await seenFigures(ctx);
  if (figures === null) return;
  await report(ctx, figures, await ctx.db.query("reports").first(), atRest);
  await warnOfStall(ctx, figures);
}

async function report(
  ctx: MutationCtx,
  figures: Figures,
  last: Doc<"reports"> | null,
  atRest = false,
): Promise<void> {
  const now = Date.now();
  const since = last?.at ?? figures.madeAt ?? now;
  const counts = countsSince(last?.totals ?? NOTHING_COUNTED, figures.totals);
  const anyEnded = Object.values(counts).some((count) => count > 0);
  if (isRecent(since) && !(atRest && anyEnded)) return;
  const made = { at: now, since, totals: figures.totals, counts };
  if (last === null) await ctx.db.insert("reports", made);
  else await ctx.db.replace("reports", last._id, made);
  const told = { since: Math.floor(since), at: now, ...ratesOf(counts), ...loadOf(figures, now) };
  await logEvent(ctx, "REPORT", "report", told);
}

function isRecent(at: number): boolean {
  return Date.now() - at < REPORT_EVERY_MS;
}

/** Warns if a work waits, and none has started for 2 minutes, unless the pool is paused. */
async function warnOfStall(ctx: MutationCtx, figures: Figures): Promise<void> {
  if (figures.maxParallelism === 0 || figures.waiting === 0) return;
  const now = Date.now();
  // A pool that was idle had its last start long ago.
  const since = Math.max(figures.lastStartAt, figures.oldestWaitingSince ?? now);
  if (now - since < NO_PROGRESS_MS) return;
  await logEvent(ctx, "WARN", "stalled", { since: Math.floor(since), ...loadOf(figures, now) });
}

async function seenFigures(ctx: MutationCtx): Promise<Figures | null> {
  try {
    return await ctx.runQuery(internal.reports.figures, {}, { useStaleSnapshot: true });
  } catch (error) {
    await warn(ctx, `The pool's report could not be made: ${messageOf(error)}`);
    return null;
  }
}

function ratesOf({ succeeded, failed, retries, canceled }: Counts) {
  const share = (part: number) => (part === 0 ? 0 : part / (part + succeeded));
  return {
    completed: succeeded + failed + canceled,
    succeeded,
    failed,
    retries,
    canceled,
    failureRate: share(failed + retries),
    permanentFailureRate: share(failed),
  };
}

function loadOf(figures: Figures, now: number) {
  const { running, waiting, waitingIsAtLeast, maxParallelism } = figures;
  const age = (since: number | null) => (since === null ? 0 : Math.floor(now - since));
  return {
    running,
    backlog: waiting,
    backlogIsAtLeast: waitingIsAtLeast || undefined,
    oldestWaitMs: age(figures.oldestWaitingSince),
    longestRunMs: age(figures.oldestRunningSince),
    maxParallelism,
  };
}

/** How many rows of the queue are read to count it; or a MiB of them. */
const MOST_COUNTED = 1_000;

/** What an operator is shown of the pool. Times are in ms since the epoch; null if none. */
export const loadFields = {
  maxParallelism: v.number(),
  running: v.number(),
  /** Works in the queue; at least so many, if `waitingIsAtLeast`. */
  waiting: v.number(),
  waitingIsAtLeast: v.boolean(),
  /** Since when the first work waits, and the longest running one runs. */
  oldestWaitingSince: v.union(v.number(), v.null()),
  oldestRunningSince: v.union(v.number(), v.null()),
};
const vFigures = v.object({
  ...loadFields,
  totals: vCounts,
  /** When it was made; null if nothing was ever enqueued. */
  madeAt: v.union(v.number(), v.null()),
  lastStartAt: v.number(),
});
type Figures = Infer<typeof vFigures>;

/** The pool at a glance. It reads the slots, and a bounded part of the queue. */
export async function readFigures(ctx: QueryCtx): Promise<Figures> {
  const gate = await readGate(ctx);
  const slots = await ctx.db.query("slots").withIndex("by_number").collect();
  const shards = await ctx.db.query("counts").withIndex("by_shard").collect();
  const held = slots.filter((slot) => slot.work !== undefined);
  const ahead = held.filter(isSeat).length;
  const since = held.map((slot) => slot.startedAt);
  const queue = await countQueue(ctx);
  const all = [...shards, ...slots.map((slot) => slot.counts ?? NOTHING_COUNTED)];
  return {
    totals: all.reduce(sumOf, NOTHING_COUNTED),
    madeAt: gate?._creationTime ?? null,
    maxParallelism: gate?.maxParallelism ?? 0,
    running: held.length - ahead,
    lastStartAt: Math.max(0, ...slots.map((slot) => slot.startedAt)),
    oldestRunningSince: held.length === 0 ? null : Math.min(...since),
    ...queue,
    waiting: queue.waiting + ahead,
  };
}

async function countQueue(ctx: QueryCtx) {
  let waiting = 0;
  let bytes = 0;
  let oldestWaitingSince: number | null = null;
  for await (const row of ctx.db.query("waiting").withIndex("by_commit")) {
    if (waiting === MOST_COUNTED || bytes > MIB)
      return { waiting, waitingIsAtLeast: true, oldestWaitingSince };
    waiting += 1;
    bytes += getConvexSize(row.args);
    oldestWaitingSince ??= row._creationTime;
  }
  return { waiting, waitingIsAtLeast: false, oldestWaitingSince };
}

/** Reads the figures. Call it stale, so that a report depends on nothing that others write. */
export const figures = internalQuery({ args: {}, returns: vFigures, handler: readFigures });
