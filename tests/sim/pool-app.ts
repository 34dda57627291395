import type { Part } from "@stepwise/testing";
import { LimitError, type Limits, RetryAfter, type WorkId, Workpool } from "@stepwise/workpool";
import { modules, schema } from "@stepwise/workpool/test";
import {
  componentsGeneric,
  defineSchema,
  defineTable,
  internalActionGeneric,
  internalMutationGeneric,
  internalQueryGeneric,
  makeFunctionReference,
} from "convex/server";
import { v } from "convex/values";
import type { ComponentApi } from "../../packages/workpool/src/component/_generated/component.js";
import {
  FIRST_LIMITS,
  type LimitSteering,
  type WorkLimits,
  type WorkOrder,
} from "./pool-limits.js";

/** A work: what it does, and what its callback does. */
export interface Work {
  readonly label: string;
  readonly kind: "action" | "mutation" | "query";
  /** How many attempts throw, and how many there may be. */
  readonly fails: number;
  readonly maxAttempts: number;
  readonly ms: number;
  readonly runAfter?: number;
  /** How many characters of arguments it has besides. */
  readonly more?: number;
  readonly cancelsItself?: boolean;
  readonly limits?: WorkLimits;
  readonly priority?: WorkOrder["priority"];
  readonly fairness?: WorkOrder["fairness"];
  /** How many ms it waits at most. */
  readonly waitAtMost?: number;
  /** How many attempts, before any other, are told to come again later, and hold this limit. */
  readonly held?: { readonly times: number; readonly ms: number; readonly limit: string };
  /** What its result says that it has used. */
  readonly uses?: number;
  /** `enqueues`: another work like it. */
  readonly callback?: "throws" | "greedy" | "enqueues";
}

/** A row of what was asked for, in the order of commits. */
export type Asked = { readonly _creationTime: number } & (
  | { readonly asks: "work"; readonly work: Work; readonly workId: string; readonly at: number }
  | { readonly asks: "cancel"; readonly label: string }
  | { readonly asks: "cancel all" }
  | { readonly asks: "in vain"; readonly work: Work }
);
/** A result, as far as it is looked at. */
interface Ended {
  readonly kind: "success" | "failed" | "canceled";
  readonly error?: string;
}
/** A row of what has happened. */
export interface Happened {
  readonly label: string;
  readonly what: "begins" | "ends" | "changes" | "success" | "failed" | "canceled";
  readonly at: number;
  /** Why it has failed. */
  readonly error?: string;
}

const components = componentsGeneric() as unknown as { workpool: ComponentApi };
const pool = new Workpool(components.workpool, { logLevel: "DEBUG" });
/** For works with limits: how much each lets through at first. */
const limited = new Workpool(components.workpool, {
  logLevel: "DEBUG",
  limits: FIRST_LIMITS,
});

const act = makeFunctionReference<"action", { work: Work; more: string }>("works:act");
const change = makeFunctionReference<"mutation", { work: Work; more: string }>("works:change");
const look = makeFunctionReference<"query", { work: Work; more: string }>("works:look");
const ended = makeFunctionReference<"mutation", any>("works:ended");
const log = makeFunctionReference<"mutation", Omit<Happened, "at">, number>("works:log");

const PAGE = { paginationOpts: { cursor: null, numItems: 100 } };

// The app has no schema, so its database is untyped.
async function enqueue(ctx: any, works: readonly Work[]): Promise<void> {
  const [first] = works;
  if (first === undefined) return;
  const { kind, maxAttempts, runAfter, limits, priority, fairness, waitAtMost } = first;
  const given = { runAfter, limits, priority, fairness, waitAtMost };
  const options = { onComplete: ended, context: first, ...given };
  const by = limits === undefined ? pool : limited;
  const retry = { maxAttempts, initialBackoffMs: 1_000, base: 2 };
  const args = works.map((work) => ({ work, more: "x".repeat(work.more ?? 0) }));
  const ids =
    kind === "action"
      ? await by.enqueueActionBatch(ctx, act, args, { ...options, retry } as any)
      : kind === "mutation"
        ? await by.enqueueMutationBatch(ctx, change, args, options as any)
        : await by.enqueueQueryBatch(ctx, look, args, options as any);
  for (const [index, work] of works.entries())
    await ctx.db.insert("asked", {
      asks: "work",
      label: work.label,
      work,
      workId: ids[index],
      at: Date.now(),
    });
}

/** What waits for a limit at most says so, and the others are enqueued all the same. */
async function tryEnqueue(ctx: any, work: Work): Promise<void> {
  try {
    await enqueue(ctx, [work]);
  } catch (error) {
    if (!(error instanceof LimitError)) throw error;
    await ctx.db.insert("asked", { asks: "in vain", work });
  }
}

const happens = async (ctx: any, label: string, what: Happened["what"], error?: string) =>
  await ctx.db.insert("happened", { label, what, at: Date.now(), ...(error && { error }) });

async function idOf(ctx: any, label: string): Promise<WorkId | undefined> {
  const found = await ctx.db
    .query("asked")
    .withIndex("by_label", (q: any) => q.eq("label", label).gt("workId", undefined))
    .first();
  return found?.workId;
}

const works = {
  /** Works that are alike share a batch; each has a callback of its own context only alone. */
  enqueue: internalMutationGeneric(async (ctx, { works: some }: { works: Work[] }) => {
    for (const work of some) await tryEnqueue(ctx, work);
  }),
  act: internalActionGeneric(async (ctx, { work }: { work: Work }) => {
    const attempt = await ctx.runMutation(log, { label: work.label, what: "begins" });
    if (work.ms > 0) await new Promise((resolve) => setTimeout(resolve, work.ms));
    const { times, ms, limit } = work.held ?? { times: 0, ms: 0, limit: "" };
    if (attempt <= times) throw new RetryAfter(ms, { holds: limit });
    if (attempt - times <= work.fails) throw new Error(`attempt ${attempt} fails`);
    await ctx.runMutation(log, { label: work.label, what: "ends" });
    return { used: { tokens: work.uses } };
  }),
  change: internalMutationGeneric(async (ctx, { work }: { work: Work }) => {
    await happens(ctx, work.label, "changes");
    if (work.cancelsItself === true) {
      const id = await idOf(ctx, work.label);
      if (id !== undefined) await pool.cancel(ctx, id);
    }
    if (work.fails > 0) throw new Error("it fails");
  }),
  look: internalQueryGeneric(async (_ctx, { work }: { work: Work }) => {
    if (work.fails > 0) throw new Error("it fails");
    return work.label;
  }),
  /** @returns how often it has begun. */
  log: internalMutationGeneric(async (ctx, { label, what }: Omit<Happened, "at">) => {
    await happens(ctx, label, what);
    const own = (ctx.db as any)
      .query("happened")
      .withIndex("by_label", (q: any) => q.eq("label", label).eq("what", "begins"));
    return (await own.collect()).length;
  }),
  ended: internalMutationGeneric(
    async (ctx, { context: work, result }: { context: Work; result: Ended }) => {
      await happens(ctx, work.label, result.kind, result.error);
      if (work.callback === "throws") throw new Error("the callback throws");
      if (work.callback === "greedy")
        for (;;)
          await ctx.db
            .query("large")
            .filter((q) => q.eq(1, 2))
            .first();
      const { callback: _, ...next } = work;
      if (work.callback === "enqueues") await tryEnqueue(ctx, { ...next, label: `${work.label}'` });
    },
  ),
  cancel: internalMutationGeneric(async (ctx, { label }: { label: string }) => {
    const id = await idOf(ctx, label);
    if (id === undefined) return;
    await ctx.db.insert("asked", { asks: "cancel", label });
    await pool.cancel(ctx, id);
  }),
  cancelAll: internalMutationGeneric(async (ctx, { limit }: { limit: number }) => {
    await ctx.db.insert("asked", { asks: "cancel all" });
    await pool.cancelAll(ctx, { limit });
  }),
  limit: internalMutationGeneric(
    async (ctx, config: { maxParallelism: number; limits?: Limits }) =>
      void (await ctx.runMutation(components.workpool.config.update, config)),
  ),
  // Which numbers fit is for the pool to say.
  steerLimit: internalMutationGeneric(
    async (ctx, { how, name, options }: LimitSteering) =>
      await limited.limits[how](ctx, name, options as never),
  ),
  repair: internalMutationGeneric(async (ctx) => {
    await pool.repair(ctx);
  }),
  status: internalQueryGeneric(async (ctx, { ids }: { ids: WorkId[] }) => ({
    works: await pool.statusBatch(ctx, ids),
    waiting: await ctx.runQuery(components.workpool.views.waiting, PAGE),
    running: await ctx.runQuery(components.workpool.views.running, PAGE),
    delayed: await ctx.runQuery(components.workpool.views.delayed, PAGE),
    failed: await ctx.runQuery(components.workpool.views.failedCallbacks, PAGE),
    aside: await ctx.runQuery(components.workpool.setAside.list, {}),
    summary: await ctx.runQuery(components.workpool.views.summary, {}),
    limits: await limited.limits.list(ctx),
    ofKey: await limited.limits.get(ctx, "tenant", { key: "a" }),
  })),
};

export const parts: readonly Part[] = [
  {
    path: "",
    schema: defineSchema({
      asked: defineTable(v.any()).index("by_label", ["label", "workId"] as never),
      large: defineTable(v.any()),
      happened: defineTable(v.any()).index("by_label", ["label", "what"] as never),
    }),
    modules: {
      "./convex/_generated/api.js": async () => ({}),
      "./convex/works.js": async () => works,
    },
  },
  { path: "workpool", schema, modules },
];
