import { cancelPending, leaveRoom, ROOM_TO_COMPLETE } from "@stepwise/workpool/core";
import type { FunctionHandle } from "convex/server";
import { getConvexSize, type ObjectType, v, type Value } from "convex/values";
import { describeThrown } from "../../errors/failure.js";
import { MOST_ITEMS } from "../../rules.js";
import { MAX_VALUE_BYTES } from "../../values.js";
import { internal } from "../_generated/api.js";
import { internalMutation, internalQuery } from "../_generated/server.js";
import {
  type Collector,
  collectorOf,
  counted,
  lastOf,
  rowsOf,
  sourceOf,
} from "../core/collected.js";
import { continueLater, deleteInPage, untilDone } from "../core/continuations.js";
import type { Doc, MutationCtx, Run, RunId, Step } from "../core/documents.js";
import type { Input } from "../core/input.js";
import { hasNotEnded, marksOf, newRecord, tokenOf } from "../core/steps.js";
import { insertTags, removeTags } from "../core/tags.js";
import { beginStage, replaceInput } from "../engine/begin.js";
import { failStep, scheduleEntry } from "../engine/entry.js";
import {
  type Beginning,
  type Collect,
  type Collects,
  type Counted,
  type Gathering,
  type Tags,
  vCounted,
  vOne,
  vStanding,
  vTags,
} from "../validators.js";

/* Starts of one key are collected into a run, which is pending until they are quiet. */

/** What others have collected for a run, and what this transaction has itself. */
interface Seen {
  readonly before: Counted | undefined;
  items: number;
  bytes: number;
}
/** What a transaction knows of the runs that it has collected for. */
export type AllSeen = Map<RunId, Seen>;

interface Start extends Input {
  collect: Collect;
  tags?: Tags | undefined;
}

const sizeOf = ({ input, given }: Input): number =>
  getConvexSize(input as Value) + getConvexSize(given?.value as Value | undefined);

/** Adds a start to the run that collects those of its key, or opens one. */
export async function collectStart(
  ctx: MutationCtx,
  start: Start,
  begin: Beginning,
  all: AllSeen,
): Promise<{ run: RunId; isNew: boolean }> {
  const { collect, tags: _tags, ...input } = start;
  const open = await collectorOf(ctx, begin.workflow, collect.key);
  const before = open && (await seenOf(ctx, open.run, collect, all));
  const joins = before !== null && !isFull(before, collect, sizeOf(input));
  if (open !== null && !joins) await close(ctx, open);
  const collector = open !== null && joins ? open : await openFor(ctx, start, begin);
  const { run } = collector;
  const seen = joins ? before : { before: undefined, items: 0, bytes: 0 };
  all.set(run, seen);
  const bytes = joins && collect.keep === "first" ? 0 : sizeOf(input);
  const kept = bytes === 0 ? {} : input;
  const at = ctx.db.vars.commitTs;
  await ctx.db.insert("collected", { run, at, ...kept, bytes, counted: seen.before });
  seen.items += 1;
  seen.bytes += bytes;
  if (isFull(seen, collect)) await close(ctx, collector);
  return { run, isNew: !joins };
}

/** Counts what is collected, if that matters. It is stale: who reads it would conflict. */
async function seenOf(ctx: MutationCtx, run: RunId, { size }: Collect, all: AllSeen) {
  const known = all.get(run);
  if (known !== undefined) return known;
  const { count } = internal.features.collecting;
  const stale = { useStaleSnapshot: true } as const;
  const before = size === undefined ? undefined : await ctx.runQuery(count, { run }, stale);
  return { before, items: 0, bytes: 0 };
}

/** Says whether a run has as many starts as it may, or would have with some bytes more. */
function isFull({ before, items, bytes }: Seen, { size, keep }: Collect, more = 0): boolean {
  if (size !== undefined && (before?.items ?? 0) + items >= size) return true;
  return keep === "all" && (before?.bytes ?? 0) + bytes + more > MAX_VALUE_BYTES;
}

/** What has been collected for a run. */
export const count = internalQuery({
  args: { run: v.id("runs") },
  returns: vCounted,
  handler: async (ctx, { run }) => await counted(ctx, run),
});

/** When the last start was collected. */
export const lastAt = internalQuery({
  args: { run: v.id("runs") },
  returns: v.number(),
  handler: async (ctx, { run }) => (await lastOf(ctx, run))?._creationTime ?? 0,
});

async function openFor(
  ctx: MutationCtx,
  { collect, tags }: Start,
  { first, undoable: _undoable, ...ofRun }: Beginning,
): Promise<Pick<Collector, "_id" | "run" | "step">> {
  const { workflow, plan } = ofRun;
  const { atMostMs, ...how } = collect;
  const now = Date.now();
  const collects = { ...how, until: now + atMostMs };
  const fresh = { state: "pending" as const, index: 0, startedAt: now, tagged: tags && true };
  const run = await ctx.db.insert("runs", { ...ofRun, ...fresh, collects });
  const { _creationTime: createdAt = now } = (await ctx.db.get("runs", run)) ?? {};
  if (tags !== undefined) await insertTags(ctx, run, tags, Math.floor(createdAt));
  const record = { ...newRecord({ run, plan, createdAt }, first), ...marksOf(first) };
  const waits = { kind: "collect", state: "waiting", dueAt: collects.until } as const;
  const step = await ctx.db.insert("steps", { ...record, ...waits });
  const at = now + Math.min(collect.quietMs, atMostMs);
  await scheduleEntry(ctx, { ...record, _id: step }, { at });
  const of = { workflow, key: collect.key, run, step };
  return { ...of, _id: await ctx.db.insert("collectors", of) };
}

/** No start comes to a run any more: it begins as soon as this transaction has committed. */
async function close(ctx: MutationCtx, { _id, run: id, step: first }: Closed): Promise<void> {
  await ctx.db.delete("collectors", _id);
  const run = await ctx.db.get("runs", id);
  const step = await ctx.db.get("steps", first);
  if (run?.collects === undefined || step === null || !hasNotEnded(step)) return;
  if (step.job !== undefined) await cancelPending(ctx, step.job);
  await closeRun(ctx, run, step);
}
type Closed = Pick<Collector, "_id" | "run" | "step">;

async function closeRun(ctx: MutationCtx, { _id, collects }: Run, step: Step): Promise<void> {
  await ctx.db.patch("runs", _id, { collects: collects && { ...collects, isClosed: true } });
  const fields = { kind: "entry", state: "pending", dueAt: undefined } as const;
  await scheduleEntry(ctx, step, { isGuarded: true }, fields);
}

/**
 * The time of a run that collects has come. It begins if it takes no more starts; else it is closed
 * in this transaction, which reads no rows, and takes them in the next.
 * @returns whether it begins.
 */
export const due = internalMutation({
  args: { step: v.id("steps") },
  returns: v.boolean(),
  handler: async (ctx, { step: id }) => {
    const step = await ctx.db.get("steps", id);
    const run = step === null ? null : await ctx.db.get("runs", step.run);
    if (step === null || run?.collects === undefined) return true;
    if (run.collects.isClosed === true) return await takeItems(ctx, run, step);
    const { quietMs, until, key } = run.collects;
    const { lastAt } = internal.features.collecting;
    const last = await ctx.runQuery(lastAt, { run: run._id }, { useStaleSnapshot: true });
    const at = Math.min(Math.floor(last) + quietMs, until);
    if (at > Date.now()) {
      await scheduleEntry(ctx, step, { at });
      return false;
    }
    await endCollector(ctx, run, key);
    await closeRun(ctx, run, step);
    return false;
  },
});

async function endCollector(ctx: MutationCtx, { _id, workflow }: Run, key: string): Promise<void> {
  const collector = await collectorOf(ctx, workflow, key);
  if (collector?.run === _id) await ctx.db.delete("collectors", collector._id);
}

/** What must be left to fail a run that has to keep what it has collected. */
const ROOM_TO_KEEP = {
  ...ROOM_TO_COMPLETE,
  bytesWritten: 4 * ROOM_TO_COMPLETE.bytesWritten,
  documentsRead: 4 * MOST_ITEMS,
  documentsWritten: 4 * MOST_ITEMS,
};

/** The app says what a run gets, and what follows from that. @returns false if that fails. */
async function takeItems(ctx: MutationCtx, run: Run, step: Step): Promise<boolean> {
  const { stage } = step;
  const event = { kind: "collected" } as const;
  const args = { token: tokenOf(step), stage, event, scope: null, fuse: false, nested: true };
  try {
    await ctx.runMutation(run.entry as FunctionHandle<"mutation">, args, {
      transactionLimits: await leaveRoom(ctx, ROOM_TO_KEEP),
    });
    return true;
  } catch (failure) {
    await failStep(ctx, step._id, describeThrown(failure));
    return false;
  }
}

/** A run that has not begun fails for good. With what it has collected it can be restarted. */
export async function keepCollected(ctx: MutationCtx, run: Run, step: Step): Promise<void> {
  if (run.collects === undefined) return;
  await endCollector(ctx, run, run.collects.key);
  await gather(ctx, run, step);
}

/**
 * Gives a run its items. @param given how, by its workflow as it is now: without `keep` it collects
 * no more, and each of the items that were all kept is for a run of its own. @returns its input.
 */
export async function gather(
  ctx: MutationCtx,
  run: Run,
  step: Step,
  given: Gathering | undefined = run.collects,
): Promise<Input> {
  const source = sourceOf(run);
  const { collects } = run;
  const isOver = given?.keep === undefined && collects?.keep !== "all";
  const { keep, size } = (isOver ? collects : given) ?? {};
  const { input, isMore } =
    keep === "last" || keep === "first"
      ? await oneOf(ctx, source, keep)
      : await several(ctx, source, { keep, size: keep === undefined ? 1 : size });
  const fields = await replaceInput(ctx, run._id, input);
  await ctx.db.patch("runs", run._id, { ...fields, collects: undefined });
  if (isMore && collects !== undefined) {
    const rest = { ...ofRest(run, step), collects, source };
    const { beginRestLater } = internal.features.collecting;
    if (!(await beginRest(ctx, rest))) await continueLater(ctx, beginRestLater, rest);
  }
  return input;
}

async function oneOf(ctx: MutationCtx, source: RunId, keep: "last" | "first") {
  const rows = (order: "asc" | "desc") => rowsOf(ctx, source).order(order);
  const last = keep === "last" ? await rows("desc").first() : null;
  // While it was opened it may have kept the first.
  const row = last?.input === undefined ? await rows("asc").first() : last;
  const input = inputOf(row);
  await drop(ctx, source);
  return { input, isMore: false };
}

const inputOf = (row: Doc<"collected"> | null): Input => ({
  input: row?.input ?? null,
  ...(row?.given && { given: row.given }),
  ...(row?.collected !== undefined && { collected: row.collected }),
});

/**
 * How many rows of starts that are not kept go in one transaction, in addition to those that are.
 */
const MOST_UNKEPT = 500;

/** The first items, as many as one run may have. Without `keep` one is its whole input. */
async function several(ctx: MutationCtx, source: RunId, { keep, size = Infinity }: Gathering) {
  const taken: Input[] = [];
  let [bytes, unkept] = [0, 0];
  let isMore = false;
  for await (const row of rowsOf(ctx, source)) {
    const isKept = row.input !== undefined;
    if (!isKept) unkept += 1;
    const isFull =
      taken.length >= size || (taken.length > 0 && bytes + row.bytes > MAX_VALUE_BYTES);
    isMore = isKept ? isFull : unkept > MOST_UNKEPT;
    if (isMore) break;
    if (isKept) taken.push(inputOf(row));
    bytes += row.bytes;
    await ctx.db.delete("collected", row._id);
  }
  const input = keep === undefined ? (taken[0] ?? inputOf(null)) : together(taken);
  return { input, isMore };
}

function together(items: readonly Input[]): Input {
  const input = { items: items.map(({ input }) => input as Value) };
  if (items.every(({ given }) => given === undefined)) return { input, collected: true };
  const isWhole = items.every(({ given }) => given === undefined || given.value !== undefined);
  const raw = items.map(({ input, given }) => (given?.value ?? input) as Value);
  return { input, given: isWhole ? { value: { items: raw } } : {}, collected: true };
}

/** Returns the workflow of the run that takes what another may not have, and where it begins. */
function ofRest(run: Run, step: Step) {
  const { workflow, workflowName, entry, plan, timeoutMs, retentionMs, sensitive, onEnd } = run;
  const of = { workflow, workflowName, entry, plan, timeoutMs, retentionMs, sensitive, onEnd };
  const { stage, called, part, iterations } = step;
  return { of, first: { stage, called, part, iterations, reads: [], ...marksOf(step) } };
}
type Rest = ReturnType<typeof ofRest> & { collects: Collects; source: RunId };

/**
 * Gives what one run may not have to another, which begins at once. Starts that are not kept are
 * removed before that, in pages: there may be none behind them. @returns false if there are more.
 */
async function beginRest(ctx: MutationCtx, rest: Rest): Promise<boolean> {
  let unkept = 0;
  for await (const row of rowsOf(ctx, rest.source)) {
    if (row.input !== undefined) {
      await insertRest(ctx, rest);
      return true;
    }
    if (++unkept > MOST_UNKEPT) return false;
    await ctx.db.delete("collected", row._id);
  }
  return true;
}

export const beginRestLater = untilDone<Rest>(beginRest);

async function insertRest(ctx: MutationCtx, { of, first, collects, source }: Rest) {
  const fresh = { state: "pending" as const, index: 0, startedAt: Date.now() };
  const taken = { ...collects, isClosed: true, rest: source };
  const rest = await ctx.db.insert("runs", { ...of, ...fresh, collects: taken });
  const { _creationTime: createdAt = Date.now() } = (await ctx.db.get("runs", rest)) ?? {};
  await beginStage(ctx, { run: rest, plan: of.plan, createdAt }, first, new Map());
}

/** What is made of the input of a run, once. */
export const madeFields = {
  tags: v.optional(vTags),
  one: v.optional(vOne),
  standing: v.optional(vStanding),
};

/** Stores what is made of the items of a run that begins. */
export async function noteMade(
  ctx: MutationCtx,
  { _id: step, run: id }: Pick<Step, "_id" | "run">,
  { tags, one, standing }: ObjectType<typeof madeFields>,
): Promise<void> {
  const run = await ctx.db.get("runs", id);
  if (run === null) return;
  await removeTags(ctx, run);
  await ctx.db.patch("runs", id, { one, standing, tagged: tags && true });
  if (standing !== undefined) await ctx.db.patch("steps", step, { standing });
  if (tags !== undefined) await insertTags(ctx, id, tags, Math.floor(run._creationTime));
}

/** A run that collects has ended: what it has collected is dropped. */
export async function dropCollected(ctx: MutationCtx, run: Run): Promise<void> {
  const { collects, workflow } = run;
  if (collects === undefined) return;
  const collector = await collectorOf(ctx, workflow, collects.key);
  if (collector?.run === run._id) await ctx.db.delete("collectors", collector._id);
  await drop(ctx, sourceOf(run));
}

async function drop(ctx: MutationCtx, source: RunId): Promise<void> {
  if (!(await dropSome(ctx, source)))
    await continueLater(ctx, internal.features.collecting.dropMore, source);
}

const dropSome = async (ctx: MutationCtx, source: RunId): Promise<boolean> =>
  await deleteInPage(ctx, "collected", rowsOf(ctx, source));

export const dropMore = untilDone(dropSome);

/** What a restore from a backup may have left. */
export async function repairCollector(ctx: MutationCtx, collector: Collector): Promise<void> {
  const run = await ctx.db.get("runs", collector.run);
  const collects = run !== null && run.endedAt === undefined && run.collects !== undefined;
  if (!collects) await ctx.db.delete("collectors", collector._id);
}
