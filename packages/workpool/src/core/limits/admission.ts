import type { Gate, Host, HostCtx, MutationCtx, Work } from "../context.js";
import { MAX_PARALLELISM_LIMIT } from "../gate.js";
import { comesFromOutside } from "../jobs.js";
import { poolTx } from "../transaction.js";
import { keepOfBuckets, seenKeptBack, spentBy } from "./buckets.js";
import { mostWaiting } from "./joined.js";
import { limitOf } from "./limits.js";
import { blockLine, findLine, joinLine, lineOf, seeLine } from "./lines.js";
import {
  freePermits,
  limitedBy,
  type Look,
  lookAtLine,
  numbered,
  type Taken,
  takePermits,
  type Together,
} from "./permits.js";

/** Returns the works that no limit keeps back. The others join their lines. */
export async function admitted(
  ctx: HostCtx,
  host: Host,
  gate: Gate,
  works: readonly Work[],
): Promise<readonly Work[]> {
  if (works.every(({ permits }) => permits === undefined)) return works;
  const ready: Work[] = [];
  const looks = new Map<string, Look>();
  const lines = new Set<string>();
  const isAlone = works.length === 1;
  const together = isAlone ? undefined : { count: works.length, free: new Map() };
  for (const work of works) {
    const how = { starts: gate.open, isAlone, together, looks, lines };
    const next = await admit(ctx, host, gate, work, how);
    if (next !== null) ready.push(next);
  }
  return ready;
}

interface Admission {
  /** It is to start in this transaction, so it gets its permits. Else it joins the queue. */
  readonly starts: boolean;
  /** A stale snapshot shows all that there is to see. Default: true. */
  readonly isAlone?: boolean;
  /** What those have that start with it. */
  readonly together?: Together | undefined;
  /** What was seen for the works before it, by line. */
  readonly looks?: Map<string, Look>;
  /** The lines that are there, as was read for the works before it. */
  readonly lines?: Set<string>;
}

/**
 * The work, with permits if it starts; null if one of its limits is reached: then it has joined its
 * line, and the end of a work that holds such a permit looks at that.
 */
export async function admit(
  ctx: HostCtx,
  host: Host,
  gate: Gate,
  work: Work,
  { starts, isAlone = true, together, looks = new Map(), lines = new Set() }: Admission,
): Promise<Work | null> {
  if (work.permits === undefined) return work;
  const line = lineOf(gate, work);
  if (lines.has(line) || (await findLine(ctx, line)) !== null) {
    lines.add(line);
    await joinLine(ctx, host, line, work);
    return null;
  }
  const names = limitedBy(gate, work.permits);
  const spent = spentBy(gate, work);
  const isCounted = isAlone && !starts && names.length > 0;
  const isRated = spent.length > 0 && (isAlone || !starts);
  const counted = { permits: isCounted ? numbered(gate, names) : [], most: MAX_PARALLELISM_LIMIT };
  const asked = { spent, ...(starts ? {} : counted) };
  const look =
    isCounted || isRated ? (looks.get(line) ?? (await seeLine(ctx, host, line, asked))) : undefined;
  const believes = isAlone && (await believesSnapshot(ctx, gate, names));
  const free = starts
    ? await freePermits(ctx, gate, names, isAlone ? { host, believes } : { among: together })
    : await queueable(ctx, gate, line, names, isCounted ? look : undefined, believes);
  const here = poolTx(ctx).joining.get(line) ?? 0;
  const full =
    free !== null && "full" in free
      ? free
      : ((look && seenKeptBack(ctx, spent, look.buckets, starts ? 0 : look.queued + here)) ??
        (starts ? await keepOfBuckets(ctx, gate, work) : null));
  if (full !== null) {
    await blockLine(ctx, host, line, full, work.fair?.weight);
    await joinLine(ctx, host, line, work);
    return null;
  }
  if (look !== undefined) looks.set(line, look);
  if (!starts) poolTx(ctx).joining.set(line, here + 1);
  if (free === null || "full" in free) return work;
  return { ...work, held: await takePermits(ctx, work.work, free.numbers) };
}

/**
 * Says whether a work joins its line if a stale snapshot shows a limit as reached. To read that for
 * sure conflicts with all starts and ends of the limit: a call that is not repeated without end may
 * be refused for it. Where only so many may wait, it would be refused if the snapshot is wrong.
 */
async function believesSnapshot(ctx: MutationCtx, gate: Gate, names: readonly string[]) {
  // Of a paused limit nothing is free, and the gate has shown that for sure.
  const isPaused = (name: string) => limitOf(gate, name) === 0;
  const mayWait = names.every((name) => !isPaused(name) && mostWaiting(gate, name) === undefined);
  return mayWait && (await comesFromOutside(ctx));
}

/**
 * Null if a work may join the queue; else a limit of which as many as may hold permits, or are in
 * the queue to get one.
 * @param believes if the look shows it, that is enough. Default: it is read for sure.
 */
export async function queueable(
  ctx: MutationCtx,
  gate: Gate,
  line: string,
  names: readonly string[],
  seen?: Look,
  believes = false,
): Promise<Taken | null> {
  if (names.length === 0) return null;
  const full = ({ free }: Look) => names.find((_, index) => free[index] === null);
  const shown = seen && full(seen);
  if (shown !== undefined && believes) return { full: shown, isSeen: true };
  if (seen !== undefined && shown === undefined) return null;
  const asked = { line, permits: numbered(gate, names), most: MAX_PARALLELISM_LIMIT };
  const sure = full(await lookAtLine(ctx, asked));
  return sure === undefined ? null : { full: sure };
}
