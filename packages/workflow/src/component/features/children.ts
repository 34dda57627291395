import {
  ROOM_TO_COMPLETE,
  defaultMaxParallelism,
  hasRoom,
  isCrowded,
  readGate,
} from "@stepwise/workpool/core";
import { getConvexSize, v, type Value } from "convex/values";
import type { Doc, Id } from "../_generated/dataModel.js";
import { internalMutation, type MutationCtx } from "../_generated/server.js";
import { pool } from "../core/pool.js";
import { isCanceledLater } from "../core/runs.js";
import { beginRun, insertRun } from "../engine/begin.js";
import { ASLEEP, newRecord, type RunOf } from "../engine/records.js";
import type { Beginning, NewChild, NewChildren, Stage } from "../validators.js";
import { insertLater } from "./childPages.js";
import { MAX_STARTED_AT_ONCE, fillLater, fillSeats } from "./concurrency.js";
import { noteRefused } from "./failing.js";

/**
 * Inserts a page of children; one whose input was refused has failed already.
 * @param runningBelow those before this place are inserted as running: the caller has them begin in the same transaction. @returns these.
 */
export async function insertPage(
  ctx: MutationCtx,
  id: Id<"steps">,
  page: { from: number; begins: readonly Beginning[]; children: readonly NewChild[] },
  runningBelow = 0,
): Promise<{ run: Id<"runs">; first: Stage }[]> {
  const running: { run: Id<"runs">; first: Stage }[] = [];
  const parent = await ctx.db.get("steps", id);
  const above = parent === null ? null : await ctx.db.get("runs", parent.run);
  if (parent === null || above === null || parent.joined === true) return running;
  const now = Date.now();
  for (const [offset, { begin, key, input, error }] of page.children.entries()) {
    const beginning = page.begins[begin];
    if (beginning === undefined) throw new Error(`A child of "${parent.stage}" has no workflow`);
    const { workflow, plan, resume, first, timeoutMs } = beginning;
    const index = page.from + offset;
    const state = error !== undefined ? "failed" : index < runningBelow ? "running" : "pending";
    const child = {
      workflow,
      ...(plan === undefined ? {} : { plan }),
      resume,
      state,
      parentRun: above._id,
      parentStep: id,
      index,
      ...(key === undefined ? {} : { childKey: key }),
      root: above.root ?? above._id,
      startedAt: now,
      ...(state === "pending" ? { first } : {}),
      ...(error === undefined ? {} : { error, endedAt: now }),
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
    } as const;
    const run = await insertRun(ctx, child, input);
    if (state === "running") running.push({ run, first });
  }
  const refused = page.children.filter(({ error }) => error !== undefined);
  await noteRefused(ctx, parent, refused.length);
  return running;
}

/** What a child writes beside its input: its run, with the entries of its indexes. */
const BYTES_BESIDE_INPUT = 2 * 1024;

/** What is written as these children are inserted. */
export function bytesOf(pages: readonly (readonly NewChild[])[]): number {
  const children = pages.flat();
  return getConvexSize(children as Value) + children.length * BYTES_BESIDE_INPUT;
}

/** Up to so many children, of so many bytes, are inserted by the transaction that arrives; of more, the first page only. */
const MAX_AT_ONCE = 1_000;

const MAX_BYTES_AT_ONCE = 3 << 20;

/** While more works wait than the pool runs, children of so many bytes come within the next seconds: many parents may insert theirs now. */
const MIN_BYTES_PUT_OFF = 32 << 10;
const MAX_PUT_OFF_MS = 3_000;

/** Inserts the children of a parent and starts as many as may run at once. `arrived` is the parent's record if it has one already. */
export async function startChildren(
  ctx: MutationCtx,
  of: RunOf & Pick<Doc<"steps">, "held">,
  arrived: Doc<"steps"> | null,
  children: NewChildren,
): Promise<void> {
  const { begins, pages, keyed, tolerate } = children;
  const total = pages.reduce((sum, page) => sum + page.length, 0);
  // More than the pool runs at once would only wait in its line, and others behind them. One that is paused now will run some.
  const concurrency =
    children.concurrency ??
    ((await readGate(ctx))?.maxParallelism || (await defaultMaxParallelism(ctx)));
  const bytes = bytesOf(pages);
  const areFew = total <= MAX_AT_ONCE && bytes <= MAX_BYTES_AT_ONCE;
  const isPutOff = bytes >= MIN_BYTES_PUT_OFF && (await isCrowded(ctx, pool));
  const pagesAtOnce = isPutOff ? 0 : areFew ? pages.length : 1;
  const record = {
    ...ASLEEP,
    kind: "children" as const,
    state: "waiting" as const,
    total,
    keyed,
    seats: Math.min(concurrency, total),
    ...(tolerate === undefined ? {} : { tolerate }),
    ...(children.single === true ? { single: true } : {}),
    ...(children.sensitive === true ? { sensitive: true } : {}),
    ...(begins.some(({ undoable }) => undoable) ? { undoableBelow: true } : {}),
    ...(pagesAtOnce < pages.length ? { inserting: true } : {}),
  };
  const fresh = {
    ...newRecord(of, children),
    ...(of.held === true ? { held: true } : {}),
    ...record,
  };
  const step = arrived?._id ?? (await ctx.db.insert("steps", fresh));
  if (arrived !== null) await ctx.db.patch("steps", step, record);
  const now = pages.slice(0, pagesAtOnce);
  const isRefused = now.some((page) => page.some(({ error }) => error !== undefined));
  const atOnce = of.held || isRefused ? 0 : Math.min(record.seats, MAX_STARTED_AT_ONCE);
  const running: Awaited<ReturnType<typeof insertPage>> = [];
  let from = 0;
  for (const [number, page] of pages.entries()) {
    if (number < pagesAtOnce)
      running.push(...(await insertPage(ctx, step, { from, begins, children: page }, atOnce)));
    else await ctx.db.insert("childPages", { step, from, begins, children: page });
    from += page.length;
  }
  if (isPutOff) await insertLater(ctx, step, 0, Math.random() * MAX_PUT_OFF_MS);
  else if (!areFew) await insertLater(ctx, step, bytesOf(now) + getConvexSize(pages as Value));
  const ofMany = isCanceledLater(record) ? step : undefined;
  if (running.length === 0 || !(await beginInserted(ctx, step, running, ofMany)))
    await fillSeats(ctx, step);
  else if (running.length < record.seats) await fillLater(ctx, step);
}

/** Begins children that were inserted as running. Those that cannot wait for their turn after all. @returns whether there are none. */
async function beginInserted(
  ctx: MutationCtx,
  parent: Id<"steps">,
  inserted: Awaited<ReturnType<typeof insertPage>>,
  childOf: Id<"steps"> | undefined,
): Promise<boolean> {
  let goesOn = true;
  for (const { run: id, first } of inserted) {
    const run = await ctx.db.get("runs", id);
    // One that could not begin may have ended its siblings.
    if (run?.state !== "running") continue;
    if (!goesOn || !(await hasRoom(ctx, ROOM_TO_COMPLETE))) {
      goesOn = false;
      await ctx.db.patch("runs", id, { state: "pending", first });
    } else if (!(await beginRun(ctx, run, first, { childOf })))
      goesOn = (await ctx.db.get("steps", parent))?.joined !== true;
  }
  return goesOn;
}

/** Inserts the next page of children that are to be. */
export const insertNext = internalMutation({
  args: { step: v.id("steps") },
  returns: v.null(),
  handler: async (ctx, { step }) => {
    await insertNextPage(ctx, step);
    return null;
  },
});

async function insertNextPage(ctx: MutationCtx, step: Id<"steps">): Promise<void> {
  const parent = await ctx.db.get("steps", step);
  if (parent === null || parent.state !== "waiting" || parent.joined === true) return;
  const [page, following] = await ctx.db
    .query("childPages")
    .withIndex("by_step", (q) => q.eq("step", step))
    .take(2);
  if (page !== undefined) {
    await insertPage(ctx, step, page);
    await ctx.db.delete("childPages", page._id);
  }
  if (following !== undefined) await insertLater(ctx, step, bytesOf([page?.children ?? []]));
  else await ctx.db.patch("steps", step, { ...ASLEEP, inserting: undefined });
  await fillSeats(ctx, step);
}
