import { hasRoom, isIdle, messageOf, readGate, type Tally } from "../core/index.js";
import { internal } from "./_generated/api.js";
import type { Doc } from "./_generated/dataModel.js";
import type { MutationCtx } from "./_generated/server.js";
import { anythingIn, type Counted, type Counts, countsSince, NOTHING_COUNTED } from "./counts.js";
import { type Figures, readFigures } from "./figures.js";
import { logEvent, warn } from "./log.js";

/** How often there is a report at most, while works end. */
export const REPORT_EVERY_MS = 60_000;

/** While somebody waits, so long without a start is no progress. Long enough for works that take their time in a full pool. */
const NO_PROGRESS_MS = 2 * 60_000;

/** What reading the figures takes at most. It is done in the transaction of a completion, which may have little left. */
const ROOM_TO_REPORT = {
  bytesRead: 3 << 20,
  bytesWritten: 64 * 1024,
  databaseQueries: 16,
  documentsRead: 2_000,
  documentsWritten: 4,
  functionsScheduled: 0,
  scheduledFunctionArgsBytes: 0,
};

/** The counting of one end. */
export interface Counting {
  /** Counts it into what has ended in its slot so far; for `completeWork`. */
  readonly count: (before: Tally | undefined) => Tally;
  /** To be called last, when the work has ended: makes a report, if this slot has not looked for a minute, and one is due. */
  readonly report: (ctx: MutationCtx) => Promise<void>;
}

/**
 * Counts an end, in the slot that it writes anyway.
 *
 * Nobody polls for the minute to be over, and no document is shared: a slot looks when something ends in it and its own last look is a
 * minute old. Only then is the one document of the last report read, and only by the first to find it a minute old is it written.
 */
export function counting(what: Counted): Counting {
  let due = false;
  return {
    count: (before) => {
      const now = Date.now();
      const { lookedAt, ...counts } = before ?? { ...NOTHING_COUNTED, lookedAt: now };
      due = now - lookedAt >= REPORT_EVERY_MS;
      return { ...counts, [what]: counts[what] + 1, lookedAt: due ? now : lookedAt };
    },
    report: async (ctx) => {
      if (due) await reportIfDue(ctx);
    },
  };
}

/** Makes a report if the last one is a minute old. It never fails its caller, but for a conflict. */
export async function reportIfDue(ctx: MutationCtx): Promise<void> {
  // Whoever has used up the transaction leaves the report to the next.
  if (!(await hasRoom(ctx, ROOM_TO_REPORT))) return;
  const last = await ctx.db.query("reports").first();
  if (last !== null && isRecent(last.at)) return;
  const figures = await seenFigures(ctx);
  if (figures !== null) await report(ctx, figures, last);
}

/**
 * What the watchdog's look has to say of the pool: it makes a report if the last one is a minute old, or if something has ended since and
 * nothing runs any more; and it warns if there is no progress.
 */
export async function reportAlong(ctx: MutationCtx, idle: boolean): Promise<void> {
  if (!(await hasRoom(ctx, ROOM_TO_REPORT))) return;
  const atRest = idle && (await isIdle(ctx)) && (await readGate(ctx))?.open === true;
  // Where nothing runs and nothing waits there is nobody to conflict with; and what has ended in this very transaction is to be counted.
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
  if (isRecent(since) && !(atRest && anythingIn(counts))) return;
  const made = { at: now, since, totals: figures.totals, counts };
  if (last === null) await ctx.db.insert("reports", made);
  else await ctx.db.replace("reports", last._id, made);
  await logEvent(ctx, "REPORT", "report", {
    since: Math.floor(since),
    at: now,
    ...ratesOf(counts),
    ...loadOf(figures, now),
  });
}

function isRecent(at: number): boolean {
  return Date.now() - at < REPORT_EVERY_MS;
}

/** Warns if somebody waits, and nobody has got a slot for 2 minutes. A paused pool is meant to make no progress. */
async function warnOfStall(ctx: MutationCtx, figures: Figures): Promise<void> {
  if (figures.maxParallelism === 0 || figures.backlog === 0) return;
  const now = Date.now();
  // A pool that was idle has its last start long ago, and its first in line not.
  const since = Math.max(figures.lastStartAt, figures.oldestWaitingSince ?? now);
  if (now - since < NO_PROGRESS_MS) return;
  await logEvent(ctx, "WARN", "stalled", { since: Math.floor(since), ...loadOf(figures, now) });
}

async function seenFigures(ctx: MutationCtx): Promise<Figures | null> {
  try {
    return await ctx.runQuery(internal.figures.figures, {}, { useStaleSnapshot: true });
  } catch (error) {
    await warn(ctx, `The pool's report could not be made: ${messageOf(error)}`);
    return null;
  }
}

function ratesOf({ succeeded, failed, retries, canceled }: Counts) {
  const failures = failed + retries;
  return {
    completed: succeeded + failed + canceled,
    succeeded,
    failed,
    retries,
    canceled,
    failureRate: share(failures, failures + succeeded),
    permanentFailureRate: share(failed, failed + succeeded),
  };
}

function share(part: number, whole: number): number {
  return whole === 0 ? 0 : part / whole;
}

function loadOf(figures: Figures, now: number) {
  const { running, backlog, backlogIsAtLeast, oldestWaitingSince, oldestStartAt } = figures;
  const age = (since: number | null) => (since === null ? 0 : Math.floor(now - since));
  return {
    running,
    backlog,
    ...(backlogIsAtLeast ? { backlogIsAtLeast } : {}),
    oldestWaitMs: age(oldestWaitingSince),
    longestRunMs: age(oldestStartAt),
    maxParallelism: figures.maxParallelism,
  };
}
