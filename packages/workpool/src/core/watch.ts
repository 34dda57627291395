import type {
  Doc,
  HostMutationCtx,
  HostQueryCtx,
  PoolHost,
  PoolMutationCtx,
  PoolWatch,
  Work,
} from "./context.js";
import { ensureGate, readGate } from "./gate.js";
import type { Seen } from "./watch-validators.js";

/**
 * The first look comes after so long, where the host says nothing else, and never sooner after the look before; each further one after three
 * times as long …
 */
const FIRST_LOOK_MS = 30_000;
/** … earlier where what runs takes seconds at most … */
const FIRST_LOOK_AT_BRIEF_MS = 10_000;
/** What the host wants to have looked after is looked at no more often than that. */
const SHORTEST_PAUSE_MS = 10_000;
/** … and never longer than this after the one before it. */
export const LONGEST_PAUSE_MS = 540_000;
/** A work that has not reported so long after its timeout is lost. */
export const GRACE_MS = 5_000;
/** A look that is so late was lost itself, or the scheduler is far behind: another is scheduled. */
const LATE_MS = 60_000;

/** What is known of a work that was started; `work` where it was started alone. */
type Started = Pick<Work, "timeoutMs" | "brief"> & { readonly work?: string };

/** The next look after `now` of those that come 1, 3, 9, 27 … times the host's first after `since`; at most 540 s after the one before it. */
export function nextLook(watch: PoolWatch, since: number, now: number): number {
  let at = firstLook(watch);
  while (since + at <= now) at += Math.min(2 * at, LONGEST_PAUSE_MS);
  return since + at;
}

/** How long after a pool has become busy it is looked at, in ms. */
function firstLook({ firstLookMs }: PoolWatch): number {
  return firstLookMs ?? FIRST_LOOK_MS;
}

/**
 * Has the watchdog scheduled, early enough for a work that was just given a slot. To be called by every start: it mostly finds out from the
 * gate, which the start has read anyway, that there is nothing to do.
 *
 * What it keeps true: while a slot is held the watchdog is scheduled (only who finds none held, by a serializable read, ends it: a look, or
 * `restAfter`);
 * and the next look comes at most `shortestTimeoutMs`, and the grace, after whatever read that from the gate.
 */
export async function keepWatch(
  ctx: PoolMutationCtx,
  host: PoolHost | undefined,
  gate: Doc<"gate">,
  started: Started,
): Promise<void> {
  if (host?.watch === undefined || covers(gate, started)) return;
  // This transaction may have written the gate since it was read.
  const fresh = await readGate(ctx);
  if (fresh === null || covers(fresh, started)) return;
  const { timeoutMs, brief, work } = started;
  const now = Date.now();
  const watch = await readWatch(ctx);
  const byTimeout = timeoutMs === undefined ? Infinity : now + timeoutMs + GRACE_MS;
  await ctx.db.patch("gate", fresh._id, {
    watched: true,
    ...(fresh.watched === true ? {} : { woke: work }),
    shortestTimeoutMs: least(
      fresh.watched === true ? fresh.shortestTimeoutMs : undefined,
      timeoutMs,
    ),
  });
  if (fresh.watched !== true) {
    // There may be one already for what is the host's.
    const already = watch?.job === undefined || watch.at < now ? Infinity : watch.at;
    const last = watch === null || watch.at > now ? -Infinity : watch.at;
    const first = firstLookAt(host.watch, { now, last, brief });
    const at = Math.min(first, byTimeout, already);
    return await scheduleLook(ctx, host.watch, { at, since: now }, watch);
  }
  // A look that is going on will see it.
  if (watch === null || (watch.job !== undefined && byTimeout < watch.at))
    await scheduleLook(ctx, host.watch, { at: byTimeout }, watch);
}

/** When a pool that has become busy is looked at. Where it was `last` looked at a moment ago, as between bursts, it is not so soon again. */
function firstLookAt(
  watch: PoolWatch,
  { now, last, brief = false }: { now: number; last: number; brief?: boolean | undefined },
): number {
  if (brief) return now + Math.min(firstLook(watch), FIRST_LOOK_AT_BRIEF_MS);
  return Math.max(now + firstLook(watch), last + FIRST_LOOK_MS);
}

/**
 * Has the watchdog scheduled, if it is not, for the sake of something that the host has scheduled itself in this transaction: its
 * `alsoLook` is then called in 30 s, or where the watchdog is on already at its next look, which is at most 540 s away. From there on
 * `alsoLook` says how long it is needed. Costs a read of the gate where the watchdog is on.
 */
export async function keepLooking(ctx: HostMutationCtx, host: PoolHost): Promise<void> {
  const gate = await ensureGate(ctx);
  if (host.watch === undefined || gate.watched === true || gate.looking === true) return;
  await ctx.db.patch("gate", gate._id, { looking: true });
  const now = Date.now();
  await scheduleLook(ctx, host.watch, { at: now + FIRST_LOOK_MS, since: now });
}

/** Has the watchdog look at once, whether it is scheduled or not, or was lost: as after a restore from a backup, which brings no job back. */
export async function lookNow(ctx: HostMutationCtx, host: PoolHost): Promise<void> {
  if (host.watch === undefined) return;
  const gate = await ensureGate(ctx);
  if (gate.watched !== true && gate.looking !== true)
    await ctx.db.patch("gate", gate._id, { looking: true });
  await scheduleLook(ctx, host.watch, { at: Date.now() });
}

/** When to look again for the sake of the host, which wants it at `wanted`. */
export function lookForHost(wanted: number, now: number): number {
  return Math.min(Math.max(wanted, now + SHORTEST_PAUSE_MS), now + LONGEST_PAUSE_MS);
}

function covers(gate: Doc<"gate">, { timeoutMs = Infinity }: Started): boolean {
  return gate.watched === true && (gate.shortestTimeoutMs ?? Infinity) <= timeoutMs;
}

/** The smaller of two numbers of which either may be missing. */
export function least(one: number | undefined, other: number | undefined): number | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return Math.min(one, other);
}

/**
 * Schedules another look where the watchdog's own has not come: as after its scheduled function was canceled by hand, or after a restore
 * from a backup, which brings no scheduled functions back. Called by whoever joins the line, for that is where a stall would show.
 */
export async function watchTheWatchdog(
  ctx: PoolMutationCtx,
  host: PoolHost | undefined,
  gate: Doc<"gate">,
): Promise<void> {
  if (host?.watch === undefined) return;
  // A pool that is paused, and not watched, runs nothing.
  if (gate.watched !== true && gate.maxParallelism > 0) await keepWatch(ctx, host, gate, {});
  if (gate.watched !== true) return;
  const watch = await readWatch(ctx);
  const now = Date.now();
  if (watch === null || watch.at + LATE_MS < now) await scheduleLook(ctx, host.watch, { at: now });
}

export async function readWatch(ctx: HostQueryCtx): Promise<Doc<"watch"> | null> {
  return await ctx.db.query("watch").first();
}

/**
 * Schedules the next look, in the place of any other: at a time, or at once to go on with what was seen.
 * @param known the watch, where it was read already.
 */
export async function scheduleLook(
  ctx: PoolMutationCtx,
  { sweep }: PoolWatch,
  next: { at: number; since?: number } | Seen,
  known?: Doc<"watch"> | null,
): Promise<void> {
  const watch = known === undefined ? await readWatch(ctx) : known;
  await cancelLook(ctx, watch);
  const generation = (watch?.generation ?? 0) + 1;
  const now = Date.now();
  const { at, since } = "from" in next ? { at: now } : next;
  const args = { generation, ...("from" in next ? { seen: next } : {}) };
  const job = await ctx.scheduler.runAt(at, sweep, args);
  const kept = { generation, at, job, since: since ?? watch?.since ?? now };
  if (watch === null) await ctx.db.insert("watch", kept);
  else await ctx.db.patch("watch", watch._id, kept);
}

/** Ends the watch from outside a look. */
export async function dropLook(ctx: PoolMutationCtx): Promise<void> {
  const watch = await readWatch(ctx);
  if (watch === null) return;
  await cancelLook(ctx, watch);
  await ctx.db.patch("watch", watch._id, { job: undefined });
}

/**
 * Cancels the next look: that costs less than to let it come and find that it does not count. If it runs right now, only one of the two
 * transactions commits: both write the watch; and what it then still schedules is what this one replaces.
 */
async function cancelLook(ctx: PoolMutationCtx, watch: Doc<"watch"> | null): Promise<void> {
  if (watch?.job === undefined) return;
  const scheduled = await ctx.db.system.get("_scheduled_functions", watch.job);
  if (scheduled?.state.kind === "pending") await ctx.scheduler.cancel(watch.job);
}
