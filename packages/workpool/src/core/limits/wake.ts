import { type ObjectType, v } from "convex/values";
import type { Doc, Gate, Host, HostCtx, MutationCtx, Slot } from "../context.js";
import { readDrain, ringDrain } from "../drain.js";
import { closeGate, ensureGate, knownGate, MAX_PARALLELISM_LIMIT } from "../gate.js";
import { startQueued } from "../hand-over.js";
import { joinQueue, LOOK, TURN_MS } from "../queue.js";
import { HALF_OF_A_TRANSACTION, hasRoom, MOST_TRIED, ROOM_TO_COMPLETE } from "../room.js";
import { claimable, confirmFree, type HandOvers } from "../slots.js";
import { poolTx } from "../transaction.js";
import { queueable } from "./admission.js";
import { keepOfBuckets, type KeptBack, seenKeptBack, spentBy } from "./buckets.js";
import {
  blockLine,
  endLine,
  firstOf,
  type Full,
  leaveLine,
  lineBlockedBy,
  oneOfFirst,
  permitsIn,
  ringLines,
  seeLine,
} from "./lines.js";
import { limitOf } from "./limits.js";
import { freePermits, limitedBy, takePermits } from "./permits.js";

/** A slot in which a work may start, as another has ended there. */
interface Offer {
  readonly slot: Slot;
  readonly handOvers: HandOvers;
}

/**
 * Lets the first work of a line go on for each permit that was given back: of the line whose turn is
 * after that of the one that has ended. It goes on in the slot, in another one, or in the queue.
 * Limits of many keys come first, as who waits for them has waited for others.
 * @returns true if the slot was used.
 */
export async function wakeLines(
  ctx: HostCtx,
  host: Host,
  { permits, after }: { permits: readonly string[]; after: number | undefined },
  offer?: Offer,
): Promise<boolean> {
  const names = permits.toSorted((a, b) => Number(isOfKey(a)) - Number(isOfKey(b)));
  let left = offer;
  // Where each end took the first of a line, those of one moment lost 1.5 times each (the load
  // "moved" of scenes.test.ts).
  for (const name of names)
    if (await wakeLine(ctx, host, name, { most: LOOK, after, offer: left })) left = undefined;
  return left !== offer;
}

const isOfKey = (permit: string) => permit.includes(":");

async function wakeLine(
  ctx: HostCtx,
  host: Host,
  name: string,
  { most, after, offer }: { most: number; after?: number | undefined; offer?: Offer | undefined },
): Promise<boolean> {
  for (let tried = 0; tried < MOST_TRIED && (await hasRoom(ctx, ROOM_TO_COMPLETE)); tried++) {
    const line = await lineBlockedBy(ctx, name, after);
    if (line === null) return false;
    // Whoever offers a slot has just read it.
    const gate = await (offer === undefined ? ensureGate : knownGate)(ctx);
    const next = await firstFree(ctx, host, gate, line, most);
    if (next === "none") continue;
    if (next.full === name) return false;
    if (next.full !== undefined) {
      await blockLine(ctx, host, line.line, next);
      continue;
    }
    const took = await goOn(ctx, host, gate, next, offer);
    if (took !== "refused") return took === "in slot";
  }
  await ringLines(ctx, host, [name]);
  return false;
}

/** Ends of one moment have given back different numbers: none keeps its place for long. */
function placeFor(ctx: MutationCtx, names: readonly string[]): number {
  const { givenBack } = poolTx(ctx);
  const [number = 0] = names.flatMap((name) => givenBack.get(name) ?? []);
  return number + Math.floor(Date.now() / TURN_MS);
}

interface First {
  readonly row: Doc<"limited">;
  readonly numbers: ReadonlyMap<string, number>;
  readonly full?: undefined;
}

/**
 * The first work of a line, if its permits are free; the line ends if there is none.
 * @param most one of so many at its beginning, or of as many as may run at once. Default: the
 * first.
 */
export async function firstFree(
  ctx: MutationCtx,
  host: Host,
  gate: Gate,
  line: Doc<"lines">,
  most = 1,
): Promise<First | Full | "none"> {
  const permits = permitsIn(line);
  const names = limitedBy(gate, permits);
  const among = Math.min(most, ...names.map((name) => limitOf(gate, name)));
  // Those that wait for a rate are released by one function, in their order.
  const isChosen = among > 1 && spentBy(gate, { permits }).length === 0;
  const chosen = isChosen ? await oneOfFirst(ctx, host, line, placeFor(ctx, names) % among) : null;
  const row = chosen ?? (await firstOf(ctx, line));
  if (row === null) {
    await endLine(ctx, line);
    return "none";
  }
  return await startable(ctx, host, gate, line, row);
}

/** A work of a line with what it takes to start; or what keeps it back. */
export async function startable(
  ctx: MutationCtx,
  host: Host,
  gate: Gate,
  { line }: Pick<Doc<"lines">, "line">,
  row: Doc<"limited">,
): Promise<First | Full> {
  const free = await freePermits(ctx, gate, limitedBy(gate, row.permits), host);
  if ("full" in free) return free;
  const keptBack = await keptBackOf(ctx, host, gate, line, row);
  return keptBack ?? { row, numbers: free.numbers };
}

/** The bucket that keeps a work back; null if none does. */
async function keptBackOf(
  ctx: MutationCtx,
  host: Host,
  gate: Gate,
  line: string,
  row: Doc<"limited">,
): Promise<KeptBack | null> {
  const spent = spentBy(gate, row);
  const { releasing } = poolTx(ctx);
  // Of what it releases it reads the bucket itself; those in the queue will take of it too.
  if (gate.open && spent.every(({ name }) => releasing.has(name)))
    return await keepOfBuckets(ctx, gate, row);
  const most = gate.open ? 0 : MAX_PARALLELISM_LIMIT;
  const { buckets, queued } = await seeLine(ctx, host, line, { spent, most });
  return seenKeptBack(ctx, spent, buckets, queued) ?? (await keepOfBuckets(ctx, gate, row));
}

/**
 * Starts the first work of a line in the slot that is offered, or in another, or queues it.
 * @param most so many more may follow in this transaction. Default: one.
 */
export async function goOn(
  ctx: HostCtx,
  host: Host,
  gate: Gate,
  { row, numbers }: First,
  offer?: Offer,
  most = 1,
): Promise<"in slot" | "elsewhere" | "refused"> {
  const isOffered = offer !== undefined;
  const free = isOffered || !gate.open ? undefined : await oneFree(ctx, host, gate, most);
  const slot = offer?.slot ?? free;
  const work = await leaveLine(ctx, row);
  if (work === null) return "refused";
  if (slot === undefined) {
    await joinQueue(ctx, host, gate, { ...work, at: row.at });
    if (gate.open) {
      await closeGate(ctx, gate);
      await ringDrain(ctx, host, await readDrain(ctx));
    }
    return "elsewhere";
  }
  const held = await takePermits(ctx, row.work, numbers);
  if (!(await startQueued(ctx, host, slot, { ...work, held }, offer?.handOvers))) return "refused";
  return isOffered ? "in slot" : "elsewhere";
}

/** A free slot, of those that were seen for works before it. */
async function oneFree(ctx: MutationCtx, host: Host, gate: Gate, most: number) {
  const { seenFree } = poolTx(ctx);
  for (let id = seenFree.shift(); id !== undefined; id = seenFree.shift()) {
    const slot = await confirmFree(ctx, id);
    if (slot !== null) return slot;
  }
  const { slots, others } = await claimable(ctx, host, gate, 1, most);
  seenFree.push(...others);
  return slots[0];
}

export const wakeArgs = {
  /** There may be some of these. Default: of all. */
  permits: v.optional(v.array(v.string())),
  /** Lines that began before it have been looked at. */
  from: v.optional(v.number()),
};

/** Looks at lines though no work has ended: some permits may be free, or limits have changed. */
export async function wakeSome(
  ctx: HostCtx,
  host: Host,
  { permits, from = 0 }: ObjectType<typeof wakeArgs>,
): Promise<void> {
  for (const name of permits ?? []) await wakeLine(ctx, host, name, { most: 1 });
  let after = from;
  for (let line = await nextLine(ctx, permits, after); line !== null;) {
    if (!(await wakeWhole(ctx, host, line)))
      return void (await ctx.scheduler.runAfter(0, host.functions.wakeLines, { from: after }));
    after = line._creationTime;
    line = await nextLine(ctx, permits, after);
  }
}

/** The next line of all; none if only some permits were asked about. */
async function nextLine(
  ctx: MutationCtx,
  permits: readonly string[] | undefined,
  after: number,
): Promise<Doc<"lines"> | null> {
  if (permits !== undefined) return null;
  return await ctx.db
    .query("lines")
    .withIndex("by_creation_time", (q) => q.gt("_creationTime", after))
    .first();
}

/** Has as many works of a line go on as may. @returns false if the transaction is used up. */
async function wakeWhole(ctx: HostCtx, host: Host, line: Doc<"lines">): Promise<boolean> {
  while (await hasRoom(ctx, HALF_OF_A_TRANSACTION)) {
    const gate = await knownGate(ctx);
    const next = await firstFree(ctx, host, gate, line);
    if (next === "none") return true;
    const full =
      next.full === undefined
        ? await queueable(ctx, gate, line.line, limitedBy(gate, next.row.permits))
        : next;
    if (full !== null) await blockLine(ctx, host, line.line, full);
    if (full !== null || next.full !== undefined) return true;
    await goOn(ctx, host, gate, next);
  }
  return false;
}
