import type { QueryInitializer } from "convex/server";
import { type ObjectType, v } from "convex/values";
import type { Doc, Gate, Host, HostCtx, MutationCtx, PoolDataModel, Work } from "../context.js";
import { knownGate, MAX_PARALLELISM_LIMIT } from "../gate.js";
import { mayStart } from "../hand-over.js";
import { isAsking, OF_LIMITS, ownerOf } from "../owners.js";
import { joinQueue, LOOK, TURN_MS } from "../queue.js";
import { HALF_OF_A_TRANSACTION, hasRoom, MOST_TRIED, ROOM_TO_COMPLETE } from "../room.js";
import { startWoken } from "../starts.js";
import { poolTx } from "../transaction.js";
import { queueable } from "./admission.js";
import { keepOfBuckets, type KeptBack, seenKeptBack, spentBy } from "./buckets.js";
import {
  blockLine,
  endLine,
  findLine,
  firstOf,
  type Full,
  leaveLine,
  passesOn,
  permitsIn,
  ringLines,
  seeLine,
  someBlockedBy,
  someFrom,
} from "./lines.js";
import { limitOf, whichOf } from "./limits.js";
import { freePermits, limitedBy, takePermits } from "./permits.js";

/** Permits that were given back, each as often, and the turn of the line that had them last. */
export interface GivenBack {
  readonly permits: readonly string[];
  /** Default: any turn. */
  readonly after?: number | undefined;
  /** So many works run that end in no other transaction of this moment. Default: none. */
  readonly running?: number;
}

/**
 * Takes as many works off the lines that wait for permits which were given back as may go on: of the
 * lines whose turns are after that of the work which has ended. Limits of many keys come first, as
 * who waits for them has waited for others.
 * @param room so many of them start here, with their permits; others join the queue. Default: all,
 * but none with the gate closed, or if an executor comes for them to the queue.
 */
export async function wakeLines(
  ctx: HostCtx,
  host: Host,
  { permits, ...how }: GivenBack,
  room?: number,
): Promise<Work[]> {
  const counts = new Map<string, number>();
  for (const name of permits.toSorted((a, b) => Number(isOfKey(a)) - Number(isOfKey(b))))
    counts.set(name, (counts.get(name) ?? 0) + 1);
  const woken: Work[] = [];
  // If each end took the first of a line, those of one moment would lose 1.5 times each (the load
  // "moved" of scenes.test.ts).
  for (const [name, count] of counts)
    await wakeLine(ctx, host, name, { count, ...how, room }, woken);
  return woken;
}

const isOfKey = (permit: string) => permit.includes(":");

async function wakeLine(
  ctx: HostCtx,
  host: Host,
  name: string,
  {
    count,
    after,
    running = 0,
    room,
  }: Omit<GivenBack, "permits"> & { count: number; room: number | undefined },
  woken: Work[],
): Promise<void> {
  let left = count;
  let begin = after;
  const ring = async () => await ringLines(ctx, host, Array<string>(left).fill(name));
  for (let tried = 0; tried < MOST_TRIED;) {
    const lines = await someBlockedBy(ctx, name, left, begin);
    const [first] = lines;
    if (first === undefined) return;
    if (left === 1 && begin === after && passesOn(first)) {
      begin = first.hash;
      continue;
    }
    const all = lines.reduce((sum, { weight = 1 }) => sum + weight, 0);
    const due = left;
    const shareOf = ({ weight = 1 }) => Math.min(Math.ceil((due * weight) / all), left);
    const most = room ?? (await roomOf(ctx));
    for (const line of lines) {
      const gate = await knownGate(ctx);
      const known = left + running;
      const rows = await someFirst(ctx, host, gate, line, shareOf(line), known);
      if (rows.length === 0) await endLine(ctx, line);
      tried += 1;
      for (const row of rows) {
        if (!(await hasRoom(ctx, ROOM_TO_COMPLETE))) return await ring();
        const next = await startable(ctx, host, gate, line, row, { known });
        if (next.full === name) return;
        if (next.full !== undefined) {
          await blockLine(ctx, host, line.line, next);
          break;
        }
        const work = await goOn(ctx, host, gate, next, woken.length < most);
        if (work === null) continue;
        left -= 1;
        if (work !== "queued") woken.push(work);
      }
      if (left === 0) return;
    }
  }
  await ring();
}

/** None if they are left to the executor of limits, or the gate is closed; else all. */
async function roomOf(ctx: HostCtx): Promise<number> {
  return (await knownGate(ctx)).open && !isAsking(await ownerOf(ctx, OF_LIMITS)) ? Infinity : 0;
}

/** Ends of one moment have given back different numbers: none keeps its place for long. */
function placeFor(ctx: MutationCtx, names: readonly string[]): number {
  const { givenBack } = poolTx(ctx);
  const [number = 0] = names.flatMap((name) => givenBack.get(name) ?? []);
  return number + Math.floor(Date.now() / TURN_MS);
}

/**
 * How many works with these permits may end at this moment, or more than are looked at.
 * @param known how many have ended here, or end later. The others may end at this moment too.
 */
function mayEndNow(gate: Gate, names: readonly string[], known: number): number {
  return Math.min(LOOK, ...names.map((name) => limitOf(gate, name) - known + 1));
}

/** So many of the first works of a line, or fewer: from one on of as many as may end now. */
async function someFirst(
  ctx: MutationCtx,
  host: Host,
  gate: Gate,
  line: Doc<"lines">,
  count: number,
  known: number,
): Promise<Doc<"limited">[]> {
  const permits = permitsIn(line);
  const names = limitedBy(gate, permits);
  const among = mayEndNow(gate, names, known);
  // Those that wait for a rate are released by one function, in their order.
  const isChosen = among > 1 && spentBy(gate, { permits }).length === 0;
  const place = isChosen ? placeFor(ctx, names) % among : 0;
  const chosen = place === 0 ? [] : await someFrom(ctx, host, line, place, count);
  return chosen.length > 0 ? chosen : await firstOf(ctx, line, count);
}

interface First {
  readonly row: Doc<"limited">;
  readonly numbers: ReadonlyMap<string, number>;
  readonly full?: undefined;
}

/** So few ends of one moment seldom want a bucket at once. More leave it to its releaser. */
const MOST_WRITERS = 4;

/**
 * Says whether more may end at this moment that then want a bucket. Only the bucket's own limit
 * tells: another one, or its key, does not count all those that take of it.
 */
function areMany(gate: Gate, { permits = [] }: Doc<"limited">, bucket: string, known: number) {
  const own = permits.filter((name) => whichOf(name).name === whichOf(bucket).name);
  return mayEndNow(gate, limitedBy(gate, own), known) > MOST_WRITERS;
}

/**
 * A work of a line with what it takes to start; or what keeps it back.
 * @param how `known`: how many works that hold its permits do not end elsewhere now; default: many
 *   may. `believes`: a permit of which a stale snapshot shows none keeps it back.
 */
export async function startable(
  ctx: MutationCtx,
  host: Host,
  gate: Gate,
  { line }: Pick<Doc<"lines">, "line">,
  row: Doc<"limited">,
  { known, believes }: { readonly known?: number; readonly believes?: boolean } = {},
): Promise<First | Full> {
  const free = await freePermits(ctx, gate, limitedBy(gate, row.permits), { host, believes });
  if ("full" in free) return free;
  const keptBack = await keptBackOf(ctx, host, gate, line, row, known);
  return keptBack ?? { row, numbers: free.numbers };
}

/** The bucket that keeps a work back; null if none does. */
async function keptBackOf(
  ctx: MutationCtx,
  host: Host,
  gate: Gate,
  line: string,
  row: Doc<"limited">,
  known: number | undefined,
): Promise<KeptBack | null> {
  const spent = spentBy(gate, row);
  const { releasing } = poolTx(ctx);
  // Of what it releases it reads the bucket itself; those in the queue will take of it too.
  if (gate.open && spent.every(({ name }) => releasing.has(name)))
    return await keepOfBuckets(ctx, gate, row);
  const most = gate.open ? 0 : MAX_PARALLELISM_LIMIT;
  const { buckets, queued } = await seeLine(ctx, host, line, { spent, most });
  const isWanted = (bucket: string) => known === undefined || areMany(gate, row, bucket, known);
  return (
    seenKeptBack(ctx, spent, buckets, queued, isWanted) ?? (await keepOfBuckets(ctx, gate, row))
  );
}

/**
 * Takes a work off its line, with its permits, or queues it. @returns null if it cannot start.
 */
export async function goOn(
  ctx: HostCtx,
  host: Host,
  gate: Gate,
  { row, numbers }: First,
  starts = gate.open,
): Promise<Work | "queued" | null> {
  const work = await leaveLine(ctx, row);
  if (work === null) return null;
  if (!starts) {
    await joinQueue(ctx, host, gate, { ...work, at: row.at });
    return "queued";
  }
  if (!(await mayStart(ctx, host, work))) return null;
  return { ...work, at: row.at, held: await takePermits(ctx, row.work, numbers) };
}

export const wakeArgs = {
  /** There may be some of these. Default: of all. */
  permits: v.optional(v.array(v.string())),
  /** This one alone is looked at. */
  line: v.optional(v.string()),
  /** Lines up to this one, in the order of their names, have been looked at. */
  from: v.optional(v.string()),
};

/** Looks at lines though no work has ended: some permits may be free, or limits have changed. */
export async function wakeSome(
  ctx: HostCtx,
  host: Host,
  { permits, line: only, from = "" }: ObjectType<typeof wakeArgs>,
): Promise<void> {
  if (permits !== undefined)
    return await startWoken(ctx, host, await wakeLines(ctx, host, { permits }));
  const woken: Work[] = [];
  if (only !== undefined) {
    const line = await findLine(ctx, only);
    if (line !== null && !(await wakeWhole(ctx, host, line, woken)))
      await ctx.scheduler.runAfter(0, host.functions.wakeLines, { line: only });
    return await startWoken(ctx, host, woken);
  }
  let after = from;
  const lines = ctx.db.query("lines") as QueryInitializer<PoolDataModel["lines"]>;
  for (;;) {
    // After the clock was put back, many have the same creation time.
    const line = await lines.withIndex("by_line", (q) => q.gt("line", after)).first();
    if (line === null) break;
    if (!(await wakeWhole(ctx, host, line, woken))) {
      await ctx.scheduler.runAfter(0, host.functions.wakeLines, { from: after });
      break;
    }
    after = line.line;
  }
  await startWoken(ctx, host, woken);
}

/** No more start in one transaction, as there are no more slots. */
const MOST_WOKEN = MAX_PARALLELISM_LIMIT;

/** Has as many works of a line go on as may. @returns false if the transaction is used up. */
async function wakeWhole(
  ctx: HostCtx,
  host: Host,
  line: Doc<"lines">,
  woken: Work[],
): Promise<boolean> {
  while (woken.length < MOST_WOKEN && (await hasRoom(ctx, HALF_OF_A_TRANSACTION))) {
    const [row] = await firstOf(ctx, line, 1);
    if (row === undefined) {
      await endLine(ctx, line);
      return true;
    }
    const gate = await knownGate(ctx);
    const next = await startable(ctx, host, gate, line, row);
    const full =
      next.full === undefined
        ? await queueable(ctx, gate, line.line, limitedBy(gate, next.row.permits))
        : next;
    if (full !== null) await blockLine(ctx, host, line.line, full);
    if (full !== null || next.full !== undefined) return true;
    const work = await goOn(ctx, host, gate, next);
    if (work !== null && work !== "queued") woken.push(work);
  }
  return false;
}
