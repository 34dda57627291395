import { v } from "convex/values";
import { type RunResult, setAside, type Work } from "../core/index.js";
import { internal } from "./_generated/api.js";
import type { Doc, Id } from "./_generated/dataModel.js";
import { internalQuery, type MutationCtx } from "./_generated/server.js";
import { argsOfWork, workOf } from "./work.js";

/** How many siblings a member that ends looks at, from a stale snapshot. */
const LOOK = 4;

/** What follows from the end of a member. */
export interface MemberEnd {
  /** The sibling that gets its seat: to be given its slot too. */
  readonly successor?: Work;
  /** The group whose other members are to be canceled before the slot goes on; and which is to be looked at last of all. */
  readonly cancels?: Id<"groups">;
  /** The group, if this was its last member: to be finished last of all. */
  readonly last?: Doc<"groups">;
}

/**
 * A work has ended, and its record is gone. If it was a member of a group: its seat goes to a sibling that has none; if it failed, and
 * no failure more is tolerated, the rest is canceled; if it was the last, the group is done.
 *
 * A member writes no document that another one writes, and nobody counts. That it is not the last it proves by a point read of a sibling
 * that still has a seat, found without a dependency in a stale snapshot: two members that end at once and prove it by each other conflict,
 * and one of them runs again. Only the last ones, who find nobody, read the index.
 */
export async function memberEnded(
  ctx: MutationCtx,
  work: Doc<"works">,
  result: RunResult,
): Promise<MemberEnd> {
  if (work.group === undefined) return {};
  const group = await ctx.db.get("groups", work.group);
  if (group === null) return {};
  if (result.kind !== "success") {
    const error = result.kind === "failed" ? { error: result.error } : {};
    await ctx.db.insert("groupFailures", { group: group._id, kind: result.kind, ...error });
    if (group.verdict === undefined && (await isTooMuch(ctx, group))) {
      await ctx.db.patch("groups", group._id, {
        verdict: { kind: "failed", error: error.error ?? "A member was canceled" },
        // It is not to be finished by those that are canceled now, before this member's own callback.
        finishing: true,
      });
      return { cancels: group._id };
    }
  }
  const siblings = await ctx.runQuery(
    internal.members.look,
    { group: group._id, after: work.place ?? 0 },
    { useStaleSnapshot: true },
  );
  if (group.verdict === undefined && work.seated === true && group.concurrency !== undefined) {
    const successor = await takeSeat(ctx, group._id, siblings.standing);
    if (successor !== null) return { successor };
  }
  for (const id of siblings.seated) {
    const sibling = id === work._id ? null : await ctx.db.get("works", id);
    if (sibling !== null) return {};
  }
  const last = await ctx.db.get("groups", group._id);
  if (last === null || last.filling || last.finishing === true) return {};
  return (await anyMember(ctx, group._id)) === null ? { last } : {};
}

/** Whether more members have failed, or were canceled, than may. Only those read and write what tells it. */
async function isTooMuch(ctx: MutationCtx, { _id, tolerate }: Doc<"groups">): Promise<boolean> {
  if (tolerate === undefined) return false;
  const failures = await ctx.db
    .query("groupFailures")
    .withIndex("by_group", (q) => q.eq("group", _id))
    .take(tolerate + 1);
  return failures.length > tolerate;
}

/** Gives a seat to a member that has none. @returns its work, or null if all have one, concluded from a serializable read. */
async function takeSeat(
  ctx: MutationCtx,
  group: Id<"groups">,
  candidates: readonly Id<"works">[],
): Promise<Work | null> {
  for (const id of candidates) {
    const candidate = await ctx.db.get("works", id);
    const work = candidate?.seated === false ? await seat(ctx, candidate) : null;
    if (work !== null) return work;
  }
  for (;;) {
    const first = await ctx.db
      .query("works")
      .withIndex("by_group", (q) => q.eq("group", group).eq("seated", false))
      .first();
    if (first === null) return null;
    const work = await seat(ctx, first);
    if (work !== null) return work;
  }
}

/** Gives a seat to a member. @returns its work, or null if it cannot be started and is set aside: with the seat, as it may be retried. */
async function seat(ctx: MutationCtx, member: Doc<"works">): Promise<Work | null> {
  await ctx.db.patch("works", member._id, { seated: true });
  try {
    return await workOf(member, await argsOfWork(ctx, member));
  } catch (error) {
    await setAside(ctx, member._id, error);
    return null;
  }
}

/** A member that has not ended, or null: from the index. */
export async function anyMember(
  ctx: MutationCtx,
  group: Id<"groups">,
): Promise<Doc<"works"> | null> {
  return await ctx.db
    .query("works")
    .withIndex("by_group", (q) => q.eq("group", group))
    .first();
}

/** Some members with a seat, and some without. Those that follow `after` come first, so that siblings look at different ones. */
export const look = internalQuery({
  args: { group: v.id("groups"), after: v.number() },
  returns: v.object({ standing: v.array(v.id("works")), seated: v.array(v.id("works")) }),
  handler: async (ctx, { group, after }) => {
    const some = async (seated: boolean): Promise<Id<"works">[]> => {
      const following = await ctx.db
        .query("works")
        .withIndex("by_group", (q) => q.eq("group", group).eq("seated", seated).gt("place", after))
        .take(LOOK);
      if (following.length > 0) return following.map((work) => work._id);
      const first = await ctx.db
        .query("works")
        .withIndex("by_group", (q) => q.eq("group", group).eq("seated", seated))
        .take(LOOK);
      return first.map((work) => work._id);
    };
    return { standing: await some(false), seated: await some(true) };
  },
});
