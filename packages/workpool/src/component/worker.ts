import type { FunctionHandle } from "convex/server";
import { ConvexError, type Infer, type Value, v } from "convex/values";
import {
  askedBy,
  enqueueWorks,
  HALF_OF_A_TRANSACTION,
  hasRoom,
  isNonRetryableError,
  leaveRoom,
  LONGEST_MESSAGE,
  messageOf,
  PAGE,
  reportBy,
  ROOM_TO_COMPLETE,
  setAside,
  wholeMessageOf,
  withData,
  type Work,
} from "../core/index.js";
import { internal } from "./_generated/api.js";
import type { Doc, Id } from "./_generated/dataModel.js";
import {
  type ActionCtx,
  internalAction,
  internalQuery,
  type MutationCtx,
} from "./_generated/server.js";
import { dueAt } from "./delayed.js";
import { endWork, expectedAttempt, endRemovedWork, resultOf } from "./complete.js";
import { voidMutation } from "./continuations.js";
import { logStarted, logWaiting } from "./events.js";
import { type Outcome, vAttempt } from "./schema.js";
import { host } from "./host.js";
import { argsOfWork, goneValue, LARGEST_VALUE_BYTES, removeWork, workOf } from "./work.js";

export const vAction = v.object({
  ...vAttempt,
  fn: v.string(),
  /** Absent if they are large. */
  args: v.optional(v.any()),
  largeArgs: v.optional(v.id("largeValues")),
});
export type ActionAttempt = Infer<typeof vAction>;

/** Runs one attempt of an enqueued action, and reports how it ended. */
export const runAction = internalAction({
  args: vAction,
  returns: v.null(),
  handler: async (ctx, attempt): Promise<null> => {
    await performAttempt(ctx, attempt);
    return null;
  },
});

export async function performAttempt(
  ctx: ActionCtx,
  { fn, largeArgs, args, ...attempt }: ActionAttempt,
): Promise<void> {
  const since = Date.now();
  const call = (given: Given) => ctx.runAction(fn as FunctionHandle<"action">, given);
  const outcome = await outcomeWithArgs(ctx, { largeArgs, args }, call);
  await report(ctx, { ...attempt, outcome }, since);
}

type Given = Record<string, Value>;

/**
 * Returns what comes of a call, for which large arguments are loaded. @throws if that fails for
 * good.
 */
export async function outcomeWithArgs(
  ctx: ActionCtx,
  { largeArgs, args }: Pick<ActionAttempt, "largeArgs" | "args">,
  call: (args: Given) => Promise<unknown>,
): Promise<Outcome> {
  const given: Given | null = largeArgs === undefined ? args : await loadArgs(ctx, largeArgs);
  if (given === null) return { kind: "gone", error: goneValue(largeArgs) };
  return await outcomeOf(() => call(given));
}

async function loadArgs(ctx: ActionCtx, id: Id<"largeValues">) {
  let args: Record<string, Value> | null = null;
  const load = async () => {
    args = await ctx.runQuery(internal.worker.argsToLoad, { id });
  };
  await reportBy([load], Date.now(), load);
  return args;
}

/** Large arguments, for the action that runs the work; null if they are gone. */
export const argsToLoad = internalQuery({
  args: { id: v.id("largeValues") },
  returns: v.any(),
  handler: async (ctx, { id }): Promise<Record<string, Value> | null> =>
    (await ctx.db.get("largeValues", id))?.value ?? null,
});

/** Runs a mutation or query. Its record goes first: else it could cancel its work, and this job. */
export const runMutation = voidMutation(vAttempt, async (ctx, { workId, attempt, slot }) => {
  const work = await expectedAttempt(ctx, workId, attempt);
  if (work === null) return;
  const args = await argsOfWork(ctx, work);
  // guard: own-work, else undefined
  const context = await removeWork(ctx, work);
  const outcome = await outcomeOf(() => runNested(ctx, work, args));
  const how = { ranHere: true };
  await endRemovedWork(ctx, { work, context, slot, how }, resultOf(outcome), attempt);
});

/** One of the works that are due last in a time; null if none is due then. */
export const lastDueIn = internalQuery({
  args: { at: v.number(), upTo: v.number() },
  returns: v.union(v.id("works"), v.null()),
  handler: async (ctx, { at, upTo }): Promise<Id<"works"> | null> => {
    const last = await ctx.db
      .query("works")
      .withIndex("by_due", (q) => q.gte("due.at", at).lte("due.at", upTo))
      .order("desc")
      .first();
    return last?._id ?? null;
  },
});

/**
 * Starts the works and attempts that are due at one time. Without free slots, they join the queue.
 * An earlier version has scheduled it with the id of a work, and the attempt.
 */
export const startDue = voidMutation(
  {
    at: v.optional(v.number()),
    workId: v.optional(v.id("works")),
    attempt: v.optional(v.number()),
  },
  async (ctx, { at: given, workId, attempt = 0 }) => {
    const named = workId === undefined ? null : await expectedAttempt(ctx, workId, attempt);
    const at = given ?? named?.due?.at;
    if (at === undefined) return;
    await enqueueDue(ctx, await dueAt(ctx, at, PAGE));
    if ((await dueAt(ctx, at, 1)).length > 0)
      await ctx.scheduler.runAfter(0, internal.worker.startDue, { at });
  },
);

/** Enqueues works and attempts that are due, as many as there is room for. */
export async function enqueueDue(ctx: MutationCtx, due: readonly Doc<"works">[]): Promise<void> {
  const ready: Ready[] = [];
  for (const { due: { at: readyAt } = {}, ...rest } of due) {
    if (!(await hasRoom(ctx, HALF_OF_A_TRANSACTION))) break;
    const record = { ...rest, readyAt };
    await ctx.db.patch("works", rest._id, { due: undefined, readyAt });
    try {
      const one = { record, work: await workOf(ctx, record) };
      if (rest.settles !== true) ready.push(one);
      else await enqueueReady(ctx, [one]);
    } catch (error) {
      // Those that are due with it go on.
      if (rest.settles !== true) await setAside(ctx, rest._id, error);
      // The function of a work that settles itself is scheduled as it is, and may be gone by now.
      else await endWork(ctx, record, undefined, { kind: "failed", error: messageOf(error) });
    }
  }
  await enqueueReady(ctx, ready);
}

interface Ready {
  readonly record: Doc<"works">;
  readonly work: Work;
}

async function enqueueReady(ctx: MutationCtx, ready: readonly Ready[]): Promise<void> {
  const works = ready.map(({ work }) => work);
  const started = await enqueueWorks(ctx, works, host);
  const isStarted = new Set(started.map(({ work }) => work));
  for (const { record, work } of ready)
    await (isStarted.has(work.work) ? logStarted : logWaiting)(ctx, record);
}

/** Runs the function in a nested transaction, which cannot use up what the pool needs to go on. */
async function runNested(
  ctx: MutationCtx,
  { kind, fn }: Doc<"works">,
  args: Record<string, unknown>,
): Promise<unknown> {
  const options = { transactionLimits: await leaveRoom(ctx, ROOM_TO_COMPLETE) };
  if (kind === "query") return await ctx.runQuery(fn as FunctionHandle<"query">, args, options);
  return await ctx.runMutation(fn as FunctionHandle<"mutation">, args, options);
}

/** The data is passed along inside of a report, whose values are nested 64 deep at most. */
const MOST_OF_AN_ERROR = { message: LONGEST_MESSAGE, bytes: LARGEST_VALUE_BYTES, depth: 50 };

/** Returns what comes of a call. It can be reported, but for a result that is too large. */
export async function outcomeOf(run: () => Promise<unknown>): Promise<Outcome> {
  try {
    // A function that returns nothing has returned null to Convex.
    return { kind: "success", returnValue: (await run()) ?? null };
  } catch (error) {
    const { at, holds, message = wholeMessageOf(error) } = askedBy(error) ?? {};
    const asked = at === undefined ? undefined : { at, holds };
    const given: unknown = error instanceof ConvexError ? error.data : undefined;
    const told = withData(message, given, MOST_OF_AN_ERROR);
    const retryable = !isNonRetryableError(error);
    return { kind: "failed", error: told.message, errorData: told.data, retryable, asked };
  }
}

export interface EndedAttempt extends Omit<ActionAttempt, "fn" | "args" | "largeArgs"> {
  readonly outcome: Outcome;
}

/** The seats of an executor, as an argument that an older version is not given without any. */
export const seatsOf = (held: readonly Id<"slots">[]): { seats?: Id<"slots">[] } =>
  held.length === 0 ? {} : { seats: [...held] };

/**
 * Reports an end, or schedules that. Only if it cannot be stored, something else is reported.
 * @param held the seats of an executor: the work of one of them gets the slot.
 * @returns the seat of that work, if it is known.
 */
export async function report(
  ctx: ActionCtx,
  { outcome: own, ...attempt }: EndedAttempt,
  since: number,
  held: readonly Id<"slots">[] = [],
): Promise<Id<"slots"> | null> {
  const { complete, completeLater } = internal.complete;
  let moved: Id<"slots"> | null = null;
  const ended = { ...attempt, ...seatsOf(held) };
  const now = (outcome: Outcome, of: typeof ended) => async () => {
    moved = await ctx.runMutation(complete, { ...of, outcome, calledAt: Date.now() });
  };
  const soon = (outcome: Outcome, of: typeof ended) => () =>
    ctx.runMutation(completeLater, { ...of, outcome });
  const later = (outcome: Outcome) => () =>
    ctx.scheduler.runAfter(0, complete, { ...ended, outcome });
  // An older version does not know the seats.
  const known = held.length === 0 ? [ended] : [ended, attempt];
  try {
    // guard: completed-later, else await reportBy([now(own, ended)], since, later(own))
    await reportBy(
      known.flatMap((of) => [now(own, of), soon(own, of)]),
      since,
      later(own),
    );
  } catch (error) {
    const message = `It ran, but its result could not be recorded: ${messageOf(error)}. If the result is large, store it and return its id`;
    const outcome = { kind: "failed" as const, error: message, retryable: false };
    // That is little, so it can be stored.
    await reportBy(
      known.map((of) => now(outcome, of)),
      since,
      later(outcome),
    );
  }
  return moved;
}
