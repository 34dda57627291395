import type { Doc, Gate, Host, HostCtx, MutationCtx, Work } from "../context.js";
import { MAX_PARALLELISM_LIMIT } from "../gate.js";
import { mayStart } from "../hand-over.js";
import { joinQueue } from "../queue.js";
import { poolTx } from "../transaction.js";
import { keepOfBuckets, type KeptBack, seenKeptBack, spentBy } from "./buckets.js";
import { type Full, leaveLine, seeLine } from "./lines.js";
import { freePermits, limitedBy, takePermits } from "./permits.js";

/* How a work of a line goes on. */

interface First {
  readonly row: Doc<"limited">;
  readonly numbers: ReadonlyMap<string, number>;
  readonly full?: undefined;
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
