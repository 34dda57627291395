import { paginator } from "convex-helpers/server/pagination";
import { v } from "convex/values";
import { hasRoom, setAside } from "../core/index.js";
import { internal } from "./_generated/api.js";
import type { Doc, Id } from "./_generated/dataModel.js";
import {
  internalMutation,
  internalQuery,
  type MutationCtx,
  type QueryCtx,
} from "./_generated/server.js";
import { endAttempt } from "./complete.js";
import { continuationArgs, goOn, goOnWith, HALF_OF_A_TRANSACTION } from "./continuations.js";
import { delayWork } from "./enqueue.js";
import { warn } from "./events.js";
import schema from "./schema.js";
import { enqueueDue } from "./worker.js";

/** A delayed start that is so late was lost, or the scheduler is behind: its job tells which. */
const LATE_MS = 10_000;
/** How many late starts the watchdog reads at once … */
const LOOK_PAGE = 100;
/** … and how many it starts by itself. Others are started in pages. */
const FEW = 20;
/** How many delayed works a page of a repair reads. */
const REPAIR_PAGE = 100;
/** The watchdog stays on for works that are due this soon, and checks them this long after they are due. */
const SOON_MS = 510_000;
const LOOK_AFTER_MS = 30_000;

/** A running work was lost: an attempt of it has failed. */
export async function loseAttempt(
  ctx: MutationCtx,
  work: Doc<"works">,
  slot: Id<"slots">,
  why: string,
): Promise<void> {
  const attempt = work.attempts + 1;
  await warn(ctx, `Attempt ${attempt} of "${work.name ?? work.fn}" (${work._id}) was lost: ${why}`);
  const error = `The attempt was lost: ${why}`;
  await endAttempt(ctx, work, slot, { kind: "failed", error, retryable: true });
}

/**
 * Starts delayed works, and next attempts, whose scheduled start was lost: canceled, deleted or failed.
 * @returns when to check again, for works that are due soon; or null.
 */
export async function startLate(ctx: MutationCtx, idle: boolean): Promise<number | null> {
  const { lost, lastDue } = await ctx.runQuery(
    internal.recovery.lookAtDelayed,
    {},
    { useStaleSnapshot: true },
  );
  for (const [index, id] of lost.entries()) {
    if (index === FEW || !(await hasRoom(ctx, HALF_OF_A_TRANSACTION))) {
      await goOn(ctx, internal.recovery.repairMore, allUpTo(Date.now()));
      break;
    }
    const work = await ctx.db.get("works", id);
    if (work !== null && (await isStartLost(ctx, work))) await rearm(ctx, work);
  }
  // That there is none is concluded from the index itself.
  const last = lastDue ?? (idle ? await lastDueSoon(ctx) : null);
  return last === null ? null : last + LOOK_AFTER_MS;
}

/** When the last of the works is due that are due soon, or late. */
async function lastDueSoon(ctx: QueryCtx): Promise<number | null> {
  const soon = await ctx.db
    .query("works")
    .withIndex("by_due", (q) => q.gt("due.at", undefined).lte("due.at", Date.now() + SOON_MS))
    .order("desc")
    .first();
  return soon?.due?.at ?? null;
}

/** What the watchdog needs to know of delayed works; read from a stale snapshot, as their starts write them. */
export const lookAtDelayed = internalQuery({
  args: {},
  returns: v.object({
    /** Late ones that will not start by themselves. */
    lost: v.array(v.id("works")),
    /** See {@link lastDueSoon}. */
    lastDue: v.union(v.number(), v.null()),
  }),
  handler: async (ctx) => {
    const now = Date.now();
    const late = await ctx.db
      .query("works")
      .withIndex("by_due", (q) => q.gt("due.at", undefined).lte("due.at", now - LATE_MS))
      .take(LOOK_PAGE);
    const lost: Id<"works">[] = [];
    for (const work of late) if (await isStartLost(ctx, work)) lost.push(work._id);
    return { lost, lastDue: await lastDueSoon(ctx) };
  },
});

/** Whether a work that waits for its time, or for its next attempt, waits in vain. */
export async function isStartLost(ctx: QueryCtx, { due }: Doc<"works">): Promise<boolean> {
  if (due === undefined) return false;
  const job =
    due.job === undefined ? null : await ctx.db.system.get("_scheduled_functions", due.job);
  return job === null || !["pending", "inProgress"].includes(job.state.kind);
}

/** Starts all delayed works whose scheduled start was lost: a page in this transaction, the others later. */
export async function repairDelayed(ctx: MutationCtx): Promise<void> {
  const next = await repairPage(ctx, allUpTo(Number.MAX_SAFE_INTEGER));
  if (next !== null) await goOn(ctx, internal.recovery.repairMore, next);
}

/** The same for those alone that are due at one time. */
export async function repairDueAt(ctx: MutationCtx, at: number): Promise<void> {
  await goOn(ctx, internal.recovery.repairMore, { cursor: null, from: at, upTo: at });
}

/** The next page of that. */
export const repairMore = internalMutation({
  args: continuationArgs,
  returns: v.null(),
  handler: async (ctx, { continuation }): Promise<null> =>
    await goOnWith<Page>(ctx, continuation, (page, failures) => repairPage(ctx, page, failures)),
});

/* A type and not an interface, as a continuation keeps it as a Convex value. */
type Page = {
  /** Where the page before ended. */
  readonly cursor: string | null;
  /** Of works that are due in this time. */
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
  failures = 0,
): Promise<Page | null> {
  const found = await paginator(ctx.db, schema)
    .query("works")
    .withIndex("by_due", (q) => q.gte("due.at", from).lte("due.at", upTo))
    .paginate({ cursor, numItems: failures === 0 ? REPAIR_PAGE : 1 });
  for (const work of found.page) {
    // Those before it are done, so beginning at the same place again is cheap.
    if (!(await hasRoom(ctx, HALF_OF_A_TRANSACTION))) return { cursor, from, upTo };
    if (!(await isStartLost(ctx, work))) continue;
    if (failures < 2) await rearm(ctx, work);
    else await leaveDelayed(ctx, work, "It could not be started: that has failed again and again");
  }
  return found.isDone ? null : { cursor: found.continueCursor, from, upTo };
}

/** Starts a work whose own start was lost, now or when it is due. One that cannot start is set aside. */
async function rearm(ctx: MutationCtx, work: Doc<"works">): Promise<void> {
  const { _id, due, name, fn, attempts } = work;
  if (due === undefined) return;
  if (due.at > Date.now()) return await delayWork(ctx, _id, due.at, attempts);
  if (due.job !== undefined)
    await warn(ctx, `The start of "${name ?? fn}" (${_id}) did not come: it starts now`);
  try {
    await enqueueDue(ctx, work);
  } catch (error) {
    await leaveDelayed(ctx, work, error);
  }
}

async function leaveDelayed(ctx: MutationCtx, work: Doc<"works">, error: unknown): Promise<void> {
  await ctx.db.patch("works", work._id, { due: undefined });
  await setAside(ctx, work._id, error);
}
