import type { FunctionHandle } from "convex/server";
import { type Infer, v } from "convex/values";
import { hasRoom, leaveRoom, messageOf, ROOM_TO_COMPLETE, ROOM_TO_RECORD } from "../core/index.js";
import { internal } from "./_generated/api.js";
import type { Doc, Id } from "./_generated/dataModel.js";
import { internalMutation, mutation, type MutationCtx, query } from "./_generated/server.js";
import { cancelWork } from "./cancel.js";
import { endWork } from "./complete.js";
import { applyClassConfig } from "./config.js";
import { enqueueMembers } from "./enqueue.js";
import { enqueueFields } from "./enqueueFields.js";
import { dropValue, keepValue, keptValue } from "./largeValues.js";
import { anyMember } from "./members.js";
import { vGroupCounts } from "./schema.js";
import { countWithoutSlot } from "./tallies.js";

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
export async function cancelRest(
  ctx: MutationCtx,
  group: Id<"groups">,
  after: number = -1,
): Promise<void> {
  const standing = await ctx.db
    .query("works")
    .withIndex("by_group", (q) => q.eq("group", group).eq("seated", false))
    .take(CANCEL_PAGE);
  for (const member of standing) await endWork(ctx, member, undefined, { kind: "canceled" });
  await countWithoutSlot(ctx, "canceled", standing.length);
  const seated = await ctx.db
    .query("works")
    .withIndex("by_group", (q) => q.eq("group", group).eq("seated", true).gt("place", after))
    .take(CANCEL_PAGE - standing.length);
  let ended = 0;
  for (const member of seated) if (await cancelWork(ctx, member)) ended += 1;
  await countWithoutSlot(ctx, "canceled", ended);
  if (standing.length + seated.length < CANCEL_PAGE) return;
  const next = { group, after: seated.at(-1)?.place ?? after };
  await ctx.scheduler.runAfter(0, internal.groups.cancelMore, next);
}

/** To be called last by the end of the member that had the rest canceled: nobody else may be left to finish the group. */
export async function finishIfOver(ctx: MutationCtx, id: Id<"groups">): Promise<void> {
  const group = await ctx.db.get("groups", id);
  if (group === null) return;
  if ((await anyMember(ctx, id)) === null && !group.filling) await finishGroup(ctx, group);
  else await ctx.db.patch("groups", id, { finishing: undefined });
}

/** The next page of {@link cancelRest}. */
export const cancelMore = internalMutation({
  args: { group: v.id("groups"), after: v.number() },
  returns: v.null(),
  handler: async (ctx, { group, after }): Promise<null> => {
    await cancelRest(ctx, group, after);
    return null;
  },
});

type Counts = Infer<typeof vGroupCounts>;
const NOTHING_COUNTED: Counts = { failed: 0, canceled: 0 };

/** Counts what became of the members of a group that has none left, and calls its callback. */
export async function finishGroup(
  ctx: MutationCtx,
  group: Doc<"groups">,
  before: Counts = NOTHING_COUNTED,
  page = FEW_FAILURES,
): Promise<void> {
  const counts = { ...before };
  const isLast =
    (await hasRoom(ctx, ROOM_TO_COMPLETE)) && (await countFailures(ctx, group._id, counts, page));
  if (!isLast) {
    await ctx.db.patch("groups", group._id, { finishing: true });
    await ctx.scheduler.runAfter(0, internal.groups.finishMore, { group: group._id, counts });
    return;
  }
  const { onDone, total, verdict } = group;
  const { failed, canceled } = counts;
  const kept = { inline: onDone?.context, large: onDone?.largeContext };
  const context = await keptValue(ctx, kept);
  await dropValue(ctx, kept);
  await ctx.db.delete("groups", group._id);
  if (onDone === undefined) return;
  const result = {
    ...(verdict ?? { kind: "success" }),
    total,
    succeeded: total - failed - canceled,
    failed,
    canceled,
  };
  const args = { groupId: group._id, result, ...(context === undefined ? {} : { context }) };
  try {
    await ctx.runMutation(onDone.fn as FunctionHandle<"mutation">, args, {
      transactionLimits: await leaveRoom(ctx, ROOM_TO_RECORD),
    });
  } catch (error) {
    const message = messageOf(error);
    console.error(`The callback of a group threw; its writes are rolled back. ${message}`);
    await ctx.db.insert("failedCallbacks", {
      workId: group._id,
      name: group.member.name,
      fn: onDone.fn,
      resultKind: result.kind as "success" | "failed" | "canceled",
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

/** The next page of {@link finishGroup}. */
export const finishMore = internalMutation({
  args: { group: v.id("groups"), counts: vGroupCounts },
  returns: v.null(),
  handler: async (ctx, { group, counts }): Promise<null> => {
    const found = await ctx.db.get("groups", group);
    if (found !== null) await finishGroup(ctx, found, counts, FAILURES_PAGE);
    return null;
  },
});
