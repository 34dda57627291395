import { DEFAULT_MAX_PARALLELISM, readGate } from "@stepwise/workpool/core";
import { v } from "convex/values";
import type { StepError } from "../definition/step-error.js";
import { internal } from "./_generated/api.js";
import type { Doc, Id } from "./_generated/dataModel.js";
import { internalQuery, type MutationCtx } from "./_generated/server.js";
import { cancelChildren } from "./ending.js";
import { beginRun, enter } from "./entering.js";
import type { Event, Next } from "./validators.js";

/**
 * How many children one parent may have. Each is inserted with its input by the one transaction that arrives, and read with its output
 * by the one that joins: two documents a child, of the 16,000 that a transaction may write.
 */
export const MAX_CHILDREN = 4_000;

/** How many siblings a child that ends looks at, from a stale snapshot. */
const LOOK = 4;

/** Inserts the children of a parent and starts as many as may run at once. `arrived` is the parent's record if it has one already. */
export async function startChildren(
  ctx: MutationCtx,
  run: Doc<"runs">,
  arrived: Doc<"steps"> | null,
  { stage, children, keyed, concurrency = Infinity }: Extract<Next, { kind: "children" }>,
): Promise<void> {
  const now = Date.now();
  const record = {
    kind: "children" as const,
    state: "waiting" as const,
    total: children.length,
    keyed,
  };
  const fresh = { run: run._id, stage, attempt: 1, startedAt: now, ...record };
  const step = arrived?._id ?? (await ctx.db.insert("steps", fresh));
  if (arrived !== null) await ctx.db.patch("steps", step, record);

  // More than the pool runs at once would only wait in its line.
  const parallelism = (await readGate(ctx))?.maxParallelism ?? DEFAULT_MAX_PARALLELISM;
  let seats = Math.min(concurrency, Math.max(1, parallelism));
  let refused: Doc<"runs"> | null = null;
  for (const [index, child] of children.entries()) {
    const begins = child.error === undefined && seats > 0;
    if (begins) seats--;
    const id = await ctx.db.insert("runs", {
      workflow: child.workflow,
      resume: child.resume,
      state: child.error !== undefined ? "failed" : begins ? "running" : "pending",
      parentRun: run._id,
      parentStep: step,
      index,
      childKey: child.key,
      root: run.root ?? run._id,
      startedAt: now,
      ...(child.error === undefined ? {} : { error: child.error, endedAt: now }),
      ...(begins ? {} : { first: child.first }),
    });
    await insertInput(ctx, id, child.input);
    if (!begins && child.error === undefined) continue;
    const inserted = await ctx.db.get("runs", id);
    if (inserted === null) continue;
    if (child.error !== undefined) refused ??= inserted;
    else await beginRun(ctx, inserted, child.first, new Map([["input", child.input]]));
  }
  if (refused !== null) await childEnded(ctx, refused);
  else if (children.length === 0) await join(ctx, step);
}

/** The record of a run's input. */
export async function insertInput(
  ctx: MutationCtx,
  run: Id<"runs">,
  input: unknown,
): Promise<void> {
  const now = Date.now();
  await ctx.db.insert("steps", {
    run,
    stage: "input",
    kind: "input",
    state: "completed",
    attempt: 1,
    startedAt: now,
    endedAt: now,
    output: input,
  });
}

/**
 * A child has ended: its seat goes to a sibling that waits; if it was the last, the parent goes on; if it ended badly, the parent fails.
 *
 * A child writes no document that another child writes. That it is not the last one it proves by a point read of one sibling that still
 * runs, found without a dependency in a stale snapshot; only the last ones read the index itself. So a thousand children neither fight
 * over a counter nor wait for somebody who counts.
 */
export async function childEnded(ctx: MutationCtx, child: Doc<"runs">): Promise<void> {
  const parent =
    child.parentStep === undefined ? null : await ctx.db.get("steps", child.parentStep);
  if (parent === null || parent.state !== "waiting" || parent.joined === true) return;
  if (child.state !== "completed") {
    await failParent(ctx, parent, child);
    return;
  }
  const siblings = await ctx.runQuery(
    internal.children.look,
    { parent: parent._id, after: child.index },
    { useStaleSnapshot: true },
  );
  for (const id of siblings.pending) if (await takeSeat(ctx, id)) return;
  const pending = await first(ctx, parent._id, "pending");
  if (pending !== null && (await takeSeat(ctx, pending._id))) return;
  for (const id of siblings.running)
    if (id !== child._id && (await ctx.db.get("runs", id))?.state === "running") return;
  if ((await first(ctx, parent._id, "running")) === null) await join(ctx, parent._id);
}

/**
 * Some of a parent's children, pending and running, to try in this order. Running ones are those that follow `after`; of those pending,
 * which all follow, `after` says at which to begin: so siblings that end together try different ones.
 */
export const look = internalQuery({
  args: { parent: v.id("steps"), after: v.number() },
  returns: v.object({ pending: v.array(v.id("runs")), running: v.array(v.id("runs")) }),
  handler: async (ctx, { parent, after }) => {
    const some = async (state: "pending" | "running") => {
      const following = await ctx.db
        .query("runs")
        .withIndex("by_parent_state", (q) =>
          q.eq("parentStep", parent).eq("state", state).gt("index", after),
        )
        .take(LOOK);
      if (following.length > 0) return following.map((run) => run._id);
      const fromStart = await ctx.db
        .query("runs")
        .withIndex("by_parent_state", (q) => q.eq("parentStep", parent).eq("state", state))
        .take(LOOK);
      return fromStart.map((run) => run._id);
    };
    const pending = await some("pending");
    const begin = after % Math.max(1, pending.length);
    return {
      pending: [...pending.slice(begin), ...pending.slice(0, begin)],
      running: await some("running"),
    };
  },
});

async function first(
  ctx: MutationCtx,
  parent: Id<"steps">,
  state: "pending" | "running",
): Promise<Doc<"runs"> | null> {
  return await ctx.db
    .query("runs")
    .withIndex("by_parent_state", (q) => q.eq("parentStep", parent).eq("state", state))
    .first();
}

/** Starts a child that waits for its turn. @returns whether it still did. */
async function takeSeat(ctx: MutationCtx, id: Id<"runs">): Promise<boolean> {
  const run = await ctx.db.get("runs", id);
  if (run === null || run.state !== "pending" || run.first === undefined) return false;
  await ctx.db.patch("runs", id, { state: "running", first: undefined, startedAt: Date.now() });
  await beginRun(ctx, run, run.first, new Map());
  return true;
}

async function join(ctx: MutationCtx, id: Id<"steps">): Promise<void> {
  await lastWord(ctx, id, () => ({ kind: "joined" }));
}

/** The first bad end decides: the error does not change when others end. */
async function failParent(ctx: MutationCtx, step: Doc<"steps">, child: Doc<"runs">): Promise<void> {
  const key = child.childKey ?? String(child.index);
  const cause: StepError = child.error ?? {
    message: `The child was ${child.state}`,
    kind: "canceled",
    workflow: child.workflow,
    node: "",
    attempt: 1,
  };
  await lastWord(ctx, step._id, (parent, run) => ({
    kind: "failed",
    error: {
      message: `Child ${key} of "${parent.stage}" (${child.workflow}) failed: ${cause.message}`,
      kind: "childFailed",
      workflow: run.workflow,
      node: parent.stage,
      attempt: 1,
      key,
      cause: withCauses(cause, MAX_CAUSES),
    },
  }));
  await cancelChildren(ctx, step._id);
}

/** How many causes stand inside each other: a document may be nested 16 deep, and the innermost has data. */
const MAX_CAUSES = 6;

/** The error with its causes; of a longer chain the innermost stands in the place of those between. */
function withCauses(error: StepError, most: number): StepError {
  if (error.cause === undefined) return error;
  if (most > 1) return { ...error, cause: withCauses(error.cause, most - 1) };
  let innermost = error.cause;
  while (innermost.cause !== undefined) innermost = innermost.cause;
  return innermost;
}

/** Has the parent go on, and marks its record: nothing that its children still do matters. */
async function lastWord(
  ctx: MutationCtx,
  id: Id<"steps">,
  eventOf: (parent: Doc<"steps">, run: Doc<"runs">) => Event,
): Promise<void> {
  const parent = await ctx.db.get("steps", id);
  const run = parent === null ? null : await ctx.db.get("runs", parent.run);
  if (parent === null || run === null) throw new Error(`The run of the parent "${id}" is gone`);
  const job = await enter(ctx, run, parent, eventOf(parent, run));
  await ctx.db.patch("steps", id, { joined: true, job });
}
