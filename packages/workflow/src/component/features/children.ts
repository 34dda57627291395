import * as core from "@stepwise/workpool/core";
import { getConvexSize, v, type Value } from "convex/values";
import { voidMutation } from "../core/continuations.js";
import type { MutationCtx, Run, Step, StepId } from "../core/documents.js";
import { pool } from "../core/poolHost.js";
import {
  BYTES_BESIDE_INPUT,
  hasManyChildren,
  isWaitingForChildren,
  RUNS_AT_ONCE,
} from "../core/childRuns.js";
import { marksOf, newRecord, NO_ENTRY, reachedAt, type RunOf } from "../core/steps.js";
import { beginRun, type EntersHere, insertRun } from "../engine/begin.js";
import type { Beginning, NewChild, NewChildren, Stage } from "../validators.js";
import { Starts } from "../engine/starting.js";
import { insertLater } from "./childPages.js";
import { allPlacesAreTaken, startWaiting, startWaitingLater } from "./concurrency.js";
import type { Started } from "./entering.js";
import { addRefused } from "./failing.js";

type Inserted = { run: Run; first: Stage }[];

/** Inserts a page of children. @returns those before `runningBelow`: the caller begins them. */
async function insertPage(
  ctx: MutationCtx,
  id: StepId,
  page: { from: number; begins: readonly Beginning[]; children: readonly NewChild[] },
  runningBelow = 0,
): Promise<Inserted> {
  const running: Inserted = [];
  const parent = await ctx.db.get("steps", id);
  const above = parent === null ? null : await ctx.db.get("runs", parent.run);
  if (parent === null || above === null || parent.settled === true) return running;
  const now = Date.now();
  for (const [
    offset,
    { begin, key, called, input, given, collected, one, standing, error },
  ] of page.children.entries()) {
    const beginning = page.begins[begin];
    if (beginning === undefined) throw new Error(`A child of "${parent.stage}" has no workflow`);
    const { workflow, workflowName, plan, entry, first, within } = beginning;
    const { timeoutMs, sensitive, onEnd } = beginning;
    const index = page.from + offset;
    const state = error !== undefined ? "failed" : index < runningBelow ? "running" : "pending";
    const root = above.root ?? above._id;
    const child = {
      workflow,
      workflowName,
      plan,
      entry,
      state,
      parentRun: above._id,
      parentStep: id,
      index,
      childKey: key,
      one,
      standing: (standing ?? parent.standing) && { ...parent.standing, ...standing },
      called,
      within,
      root,
      startedAt: now,
      first: state === "pending" ? first : undefined,
      error,
      endedAt: error === undefined ? undefined : now,
      timeoutMs,
      sensitive,
      // A child whose input was refused never runs.
      ...(onEnd === true && error === undefined ? { onEnd, ending: root } : {}),
    } as const;
    const run = await insertRun(ctx, child, { input, given, collected });
    if (state === "running") running.push({ run, first });
  }
  const refused = page.children.filter(({ error }) => error !== undefined);
  await addRefused(ctx, parent, refused.length);
  return running;
}

function bytesOf(pages: readonly (readonly NewChild[])[]): number {
  const children = pages.flat();
  return getConvexSize(children as Value) + children.length * BYTES_BESIDE_INPUT;
}

/** More children, or more bytes, are inserted page by page: the first page at once. */
const MAX_AT_ONCE = 1_000;
const MAX_BYTES_AT_ONCE = 3 << 20;
/** In a crowded pool, so many bytes are inserted within seconds: many parents may arrive now. */
const MIN_BYTES_PUT_OFF = 32 << 10;
const MAX_PUT_OFF_MS = 3_000;

/**
 * Inserts a parent's children, and starts some. @param arrived its record, if there is one.
 * @param own the scheduled function that this is, if some may be entered here.
 * @returns those that the caller enters.
 */
export async function startChildren(
  ctx: MutationCtx,
  of: RunOf & Pick<Step, "paused">,
  arrived: Step | null,
  children: NewChildren,
  own: Pick<EntersHere, "job"> | undefined,
): Promise<Started> {
  const { begins, pages, keyed, race } = children;
  const total = pages.reduce((sum, page) => sum + page.length, 0);
  // More than `maxParallelism` would only wait in the queue, ahead of others. 0 pauses the pool.
  const concurrency =
    children.concurrency ??
    ((await core.readGate(ctx))?.maxParallelism || (await core.defaultMaxParallelism(ctx)));
  const bytes = bytesOf(pages);
  const areFew = total <= MAX_AT_ONCE && bytes <= MAX_BYTES_AT_ONCE;
  const isPutOff = bytes >= MIN_BYTES_PUT_OFF && (await core.isCrowded(ctx, pool));
  const pagesAtOnce = isPutOff ? 0 : areFew ? pages.length : 1;
  const record = {
    ...NO_ENTRY,
    kind: "children" as const,
    state: "waiting" as const,
    total,
    keyed,
    concurrency: Math.min(concurrency, total),
    // A case that fails is out, and fails the race only if it is the last.
    tolerate: race === undefined ? children.tolerate : ("all" as const),
    race,
    single: children.single || undefined,
    ...marksOf({ sensitive: children.sensitive }),
    undoableBelow: begins.some(({ undoable }) => undoable) || undefined,
    inserting: pagesAtOnce < pages.length || undefined,
  };
  const fresh = () => ({ ...newRecord(of, children), paused: of.paused, ...record });
  const step = arrived?._id ?? (await ctx.db.insert("steps", fresh()));
  if (arrived !== null)
    await ctx.db.patch("steps", step, { ...record, startedAt: reachedAt(arrived) });
  const now = pages.slice(0, pagesAtOnce);
  const isRefused = now.some((page) => page.some(({ error }) => error !== undefined));
  const atOnce = of.paused || isRefused ? 0 : Math.min(record.concurrency, RUNS_AT_ONCE);
  const running: Inserted = [];
  let from = 0;
  for (const [number, page] of pages.entries()) {
    if (number < pagesAtOnce)
      running.push(...(await insertPage(ctx, step, { from, begins, children: page }, atOnce)));
    else await ctx.db.insert("childPages", { step, from, begins, children: page });
    from += page.length;
  }
  if (isPutOff) await insertLater(ctx, step, 0, Math.random() * MAX_PUT_OFF_MS);
  else if (!areFew) await insertLater(ctx, step, bytesOf(now) + getConvexSize(pages as Value));
  const isOfMany = hasManyChildren(record);
  const entersHere = isOfMany || own === undefined ? undefined : { ...own, runs: [] };
  const how = { parentOfMany: isOfMany ? step : undefined, entersHere };
  if (running.length === 0 || !(await beginInserted(ctx, step, running, how)))
    await startWaiting(ctx, step);
  else if (running.length < record.concurrency) await startWaitingLater(ctx, step);
  return { parent: step, children: entersHere?.runs ?? [] };
}

/** Begins children, as far as there is room; the others wait. @returns whether all began. */
async function beginInserted(
  ctx: MutationCtx,
  parent: StepId,
  inserted: Inserted,
  how: Parameters<typeof beginRun>[3],
): Promise<boolean> {
  let goesOn = true;
  const starts = new Starts(ctx);
  const mayEndOthers = inserted.some(({ run }) => run.one !== undefined);
  for (const { run, first } of inserted) {
    // One that could not begin, or that ends another run of its key, may have ended its siblings.
    if (
      (starts.hasFailed || mayEndOthers) &&
      (await ctx.db.get("runs", run._id))?.state !== "running"
    )
      continue;
    goesOn &&= await starts.hasRoom();
    if (starts.hasFailed) goesOn &&= (await ctx.db.get("steps", parent))?.settled !== true;
    if (goesOn) await beginRun(ctx, run, first, { ...how, start: starts.add });
    else await ctx.db.patch("runs", run._id, { state: "pending", first });
  }
  await starts.end();
  return goesOn;
}

export const insertNext = voidMutation({ step: v.id("steps") }, async (ctx, { step }) => {
  if (!isWaitingForChildren(await ctx.db.get("steps", step))) return;
  const [page, following] = await ctx.db
    .query("childPages")
    .withIndex("by_step", (q) => q.eq("step", step))
    .take(2);
  if (page !== undefined) {
    await insertPage(ctx, step, page);
    await ctx.db.delete("childPages", page._id);
  }
  if (following !== undefined) await insertLater(ctx, step, bytesOf([page?.children ?? []]));
  else await ctx.db.patch("steps", step, { ...NO_ENTRY, inserting: undefined });
  const isRefused = page?.children.some(({ error }) => error !== undefined) ?? true;
  if (isRefused || !(await allPlacesAreTaken(ctx, step))) await startWaiting(ctx, step);
});
