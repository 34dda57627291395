import type { FunctionHandle } from "convex/server";
import { type Infer, type Value, v } from "convex/values";
import { hasRoom, leaveRoom, messageOf, ROOM_TO_COMPLETE, ROOM_TO_RECORD } from "../core/index.js";
import { internal } from "./_generated/api.js";
import type { Doc, Id } from "./_generated/dataModel.js";
import { internalMutation, mutation, type MutationCtx, query } from "./_generated/server.js";
import { cancelMany } from "./cancelMany.js";
import { applyClassConfig } from "./config.js";
import { continuationArgs, goOn, goOnWith } from "./continuations.js";
import { enqueueMembers } from "./enqueue.js";
import { enqueueFields } from "./enqueueFields.js";
import { dropValue, keepValue, keptValue } from "./largeValues.js";
import { anyMember } from "./members.js";
import { vGroupCounts } from "./schema.js";

/** More failures than that are either tolerated all, or not at all: a member that fails reads those before it. */
const MOST_TOLERATED = 500;
/** How many members one transaction cancels, and how many failures one deletes. */
const CANCEL_PAGE = 100;
const FAILURES_PAGE = 1_000;
/** How many the last member's own transaction deletes: it may have little left. */
const FEW_FAILURES = 20;

const { onComplete: _, runAt: __, ...memberFields } = enqueueFields;

/** Begins a group, with its first members. @returns its id. */
export const start = mutation({
  args: {
    ...memberFields,
    settles: v.optional(v.boolean()),
    timeoutMs: v.optional(v.number()),
    /** How many members run at once at most. Default: as many as the pool lets run. */
    concurrency: v.optional(v.number()),
    /** How many members may fail, or be canceled, before the rest is canceled; null: all of them. Default: 0. */
    tolerate: v.optional(v.union(v.number(), v.null())),
    /** The callback of the group, and what to hand it. */
    onDone: v.optional(v.object({ fn: v.string(), context: v.optional(v.any()) })),
    /** The callback of each member, and what to hand it. */
    onComplete: enqueueFields.onComplete,
    argsList: v.array(v.any()),
    /** Whether these are all members. If not, `add` adds more, and says which are the last. */
    last: v.boolean(),
  },
  returns: v.string(),
  handler: async (ctx, { argsList, last, ...given }): Promise<string> => {
    const { concurrency, tolerate = 0, onDone, settles, timeoutMs, ...enqueued } = given;
    if (concurrency !== undefined && !(Number.isInteger(concurrency) && concurrency > 0))
      throw new Error(`concurrency is ${concurrency}: it must be a whole number from 1`);
    if (
      tolerate !== null &&
      !(Number.isInteger(tolerate) && tolerate >= 0 && tolerate <= MOST_TOLERATED)
    )
      throw new Error(
        `tolerate is ${tolerate}: it must be a whole number from 0 to ${MOST_TOLERATED}, or null for all`,
      );
    const { maxParallelism, logLevel, ...member } = enqueued;
    await applyClassConfig(ctx, {
      ...(maxParallelism === undefined ? {} : { maxParallelism }),
      ...(logLevel === undefined ? {} : { logLevel }),
    });
    const context =
      onDone?.context === undefined
        ? {}
        : await keepValue(ctx, onDone.context, "context of the group's callback");
    const group = await ctx.db.insert("groups", {
      total: 0,
      filling: true,
      concurrency,
      ...(tolerate === null ? {} : { tolerate }),
      member: { ...member, special: { settles, timeoutMs } },
      onDone: onDone && { fn: onDone.fn, context: context.inline, largeContext: context.large },
    });
    await addMembers(ctx, group, argsList, last);
    return group;
  },
});

/** Adds members to a group that waits for more of them. */
export const add = mutation({
  args: { group: v.string(), argsList: v.array(v.any()), last: v.boolean() },
  returns: v.null(),
  handler: async (ctx, { group, argsList, last }): Promise<null> => {
    const id = ctx.db.normalizeId("groups", group);
    if (id === null) throw new Error(`"${group}" is not the id of a group`);
    await addMembers(ctx, id, argsList, last);
    return null;
  },
});

async function addMembers(
  ctx: MutationCtx,
  id: Id<"groups">,
  argsList: Record<string, any>[],
  last: boolean,
): Promise<void> {
  const group = await ctx.db.get("groups", id);
  if (group === null) throw new Error("The group does not exist any more");
  if (!group.filling) throw new Error("The last members of the group were added already");
  await ctx.db.patch("groups", id, { total: group.total + argsList.length, filling: !last });
  await enqueueMembers(ctx, group, argsList);
  if (group.verdict !== undefined) await cancelRest(ctx, id);
  const filled = await ctx.db.get("groups", id);
  if (last && filled !== null && (await anyMember(ctx, id)) === null)
    await finishGroup(ctx, filled);
}

/** Cancels a group: members that have not begun never start, those that run go on. One that is done, or unknown, is left alone. */
export const cancel = mutation({
  args: { group: v.string() },
  returns: v.null(),
  handler: async (ctx, { group }): Promise<null> => {
    const id = ctx.db.normalizeId("groups", group);
    const found = id === null ? null : await ctx.db.get("groups", id);
    if (found === null || found.verdict !== undefined) return null;
    await ctx.db.patch("groups", found._id, { verdict: { kind: "canceled" }, filling: false });
    await cancelRest(ctx, found._id);
    // It may have no member at all by now.
    const left = await ctx.db.get("groups", found._id);
    if (left !== null && left.finishing !== true && (await anyMember(ctx, found._id)) === null)
      await finishGroup(ctx, left);
    return null;
  },
});

export const vGroupStatus = v.union(
  v.object({ state: v.literal("running"), total: v.number(), canceling: v.boolean() }),
  v.object({ state: v.literal("finished") }),
);

/** The state of a group. One that is unknown is finished. */
export const status = query({
  args: { group: v.string() },
  returns: vGroupStatus,
  handler: async (ctx, { group }): Promise<Infer<typeof vGroupStatus>> => {
    const id = ctx.db.normalizeId("groups", group);
    const found = id === null ? null : await ctx.db.get("groups", id);
    if (found === null) return { state: "finished" };
    return { state: "running", total: found.total, canceling: found.verdict !== undefined };
  },
});

/** Cancels the members of a group that is over, those without a seat first: once this has committed, no seat is given any more. */
export async function cancelRest(ctx: MutationCtx, group: Id<"groups">): Promise<void> {
  const next = await cancelPage(ctx, { group, after: -1 });
  if (next !== null) await goOn(ctx, internal.groups.cancelMore, next);
}

/** Cancels the next page of them. */
export const cancelMore = internalMutation({
  args: continuationArgs,
  returns: v.null(),
  handler: async (ctx, { continuation }): Promise<null> =>
    await goOnWith<Page>(ctx, continuation, (page, failures) => cancelPage(ctx, page, failures)),
});

/* A continuation keeps it as a value, and an interface is none: so this is a type. */
type Page = {
  readonly group: Id<"groups">;
  /** The place of the last member with a seat that was canceled, or goes on. */
  readonly after: number;
};

/** @returns where the next page begins, or null after the last. */
async function cancelPage(
  ctx: MutationCtx,
  { group, after }: Page,
  failures = 0,
): Promise<Page | null> {
  const size = failures === 0 ? CANCEL_PAGE : 1;
  const standing = await ctx.db
    .query("works")
    .withIndex("by_group", (q) => q.eq("group", group).eq("seated", false))
    .take(size);
  if ((await cancelMany(ctx, standing, failures)) < standing.length || standing.length === size)
    return { group, after };
  const seated = await ctx.db
    .query("works")
    .withIndex("by_group", (q) => q.eq("group", group).eq("seated", true).gt("place", after))
    .take(size - standing.length);
  const done = await cancelMany(ctx, seated, failures);
  if (done === seated.length && standing.length + seated.length < size) return null;
  return { group, after: seated[done - 1]?.place ?? after };
}

/** To be called last by the end of the member that had the rest canceled: nobody else may be left to finish the group. */
export async function finishIfOver(ctx: MutationCtx, id: Id<"groups">): Promise<void> {
  const group = await ctx.db.get("groups", id);
  if (group === null) return;
  if ((await anyMember(ctx, id)) === null && !group.filling) await finishGroup(ctx, group);
  else await ctx.db.patch("groups", id, { finishing: undefined });
}

type Counts = Infer<typeof vGroupCounts>;
const NOTHING_COUNTED: Counts = { failed: 0, canceled: 0 };

/** Counts what became of the members of a group that has none left, and calls its callback. */
export async function finishGroup(ctx: MutationCtx, group: Doc<"groups">): Promise<void> {
  const next = await finishPage(ctx, group, NOTHING_COUNTED, FEW_FAILURES);
  if (next === null) return;
  await ctx.db.patch("groups", group._id, { finishing: true });
  await goOn(ctx, internal.groups.finishMore, next);
}

/** The next page of that. */
export const finishMore = internalMutation({
  args: continuationArgs,
  returns: v.null(),
  handler: async (ctx, { continuation }): Promise<null> =>
    await goOnWith<Counted>(ctx, continuation, async ({ group, counts }, failures) => {
      const found = await ctx.db.get("groups", group);
      if (found === null) return null;
      const page = failures === 0 ? FAILURES_PAGE : FEW_FAILURES;
      return await finishPage(ctx, found, counts, page, failures < 2);
    }),
});

/* As `Page` a type. */
type Counted = { readonly group: Id<"groups">; readonly counts: Counts };

/**
 * Counts up to so many failures, and calls back if these were the last.
 * @param calls whether to call back: not where that has failed again and again so that nobody could catch it.
 * @returns where to go on, or null where the group is done.
 */
async function finishPage(
  ctx: MutationCtx,
  group: Doc<"groups">,
  before: Counts,
  page: number,
  calls = true,
): Promise<Counted | null> {
  const counts = { ...before };
  const isLast =
    (await hasRoom(ctx, ROOM_TO_COMPLETE)) && (await countFailures(ctx, group._id, counts, page));
  if (!isLast) return { group: group._id, counts };
  const { onDone } = group;
  const kept = { inline: onDone?.context, large: onDone?.largeContext };
  const context = await keptValue(ctx, kept);
  await dropValue(ctx, kept);
  await ctx.db.delete("groups", group._id);
  if (onDone !== undefined) await callBack(ctx, group, onDone.fn, context, counts, calls);
  return null;
}

async function callBack(
  ctx: MutationCtx,
  { _id, total, verdict, member }: Doc<"groups">,
  fn: string,
  context: Value | undefined,
  { failed, canceled }: Counts,
  calls: boolean,
): Promise<void> {
  const counts = { total, succeeded: total - failed - canceled, failed, canceled };
  const result = { ...(verdict ?? { kind: "success" as const }), ...counts };
  const args = { groupId: _id, result, ...(context === undefined ? {} : { context }) };
  try {
    if (!calls) throw new Error("Its transaction has failed again and again");
    await ctx.runMutation(fn as FunctionHandle<"mutation">, args, {
      transactionLimits: await leaveRoom(ctx, ROOM_TO_RECORD),
    });
  } catch (error) {
    const message = messageOf(error);
    console.error(`The callback of a group threw; its writes are rolled back. ${message}`);
    await ctx.db.insert("failedCallbacks", {
      workId: _id,
      name: member.name,
      fn,
      resultKind: result.kind,
      error: message,
    });
  }
}

/** Counts and deletes a page of failures. @returns whether it was the last one. */
async function countFailures(
  ctx: MutationCtx,
  group: Id<"groups">,
  counts: Counts,
  page: number,
): Promise<boolean> {
  const failures = await ctx.db
    .query("groupFailures")
    .withIndex("by_group", (q) => q.eq("group", group))
    .take(page);
  for (const { _id, kind } of failures) {
    counts[kind] += 1;
    await ctx.db.delete("groupFailures", _id);
  }
  return failures.length < page;
}
