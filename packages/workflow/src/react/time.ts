import { useEffect, useState } from "react";
import { isParent, runsFunction } from "../component/core/kinds.js";
import type { Step } from "./states.js";

const UNITS = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000],
  ["s", 1_000],
] as const;

/** A duration such as `2 h 30 min`; `1.2 s` below ten seconds, and in ms below one. */
export function durationText(ms: number): string {
  const at = UNITS.findIndex(([, size]) => ms >= size);
  const [unit, size] = UNITS[at] ?? (["ms", 1] as const);
  const [smaller, part] = UNITS[at + 1] ?? (["", 1] as const);
  if (smaller === "" || at === -1)
    return `${Number((ms / size).toFixed(unit === "s" && ms < 10_000 ? 1 : 0))} ${unit}`;
  const rest = Math.floor((ms % size) / part);
  return `${Math.floor(ms / size)} ${unit}${rest === 0 ? "" : ` ${rest} ${smaller}`}`;
}

/** The current time, updated each second while something goes on. */
export function useNow(goesOn: boolean): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    if (!goesOn) return;
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, [goesOn]);
  return now;
}

export interface Span {
  readonly from: number;
  readonly to: number;
  /** It is an attempt that runs, the time of a step's children, or a wait. */
  readonly kind: "running" | "children" | "waiting";
  readonly hasFailed?: boolean;
  /** A wait for a slot, or for its turn. */
  readonly isQueued?: boolean;
  readonly title: string;
}

/**
 * Returns what a step did with its time: a span for each attempt, and for each wait between two.
 */
export function spansOf(
  { state, kind = "action", startedAt, endedAt, attempt = 1, ...of }: Step,
  now: number,
): Span[] {
  if (startedAt === undefined) return [];
  const spans: Span[] = [];
  const add = (span: Omit<Span, "title">, what: string) =>
    spans.push({ ...span, title: `${what} ${durationText(span.to - span.from)}` });
  let from = startedAt;
  /** What waits for a slot, or for its turn, has not begun. */
  const queued = (to = from) => {
    const what = isParent({ kind }) ? "waited to begin" : "waited for a slot";
    if (to > from) add({ from, to, kind: "waiting", isQueued: true }, what);
    from = Math.max(from, to);
  };
  const retries = of.retries ?? [];
  // The retry policy does not count those that held a limit. Older ones may be left out here.
  let held = (of.held ?? 0) - retries.filter(({ holds }) => holds !== undefined).length;
  for (const { attempt: failed, beganAt, failedAt, nextAt, holds } of retries) {
    queued(beganAt);
    if (holds !== undefined) held += 1;
    const what =
      holds === undefined ? `attempt ${failed - held} failed after` : `held ${holds} after`;
    add({ from, to: failedAt, kind: "running", hasFailed: true }, what);
    // A deploy or a pause may have brought the next attempt forward.
    const to = Math.max(failedAt, Math.min(nextAt, endedAt ?? now));
    add({ from: failedAt, to, kind: "waiting" }, "waited");
    from = to;
  }
  const { queuedAt, beganAt } = of;
  const neverBegan =
    state === "canceled" && (beganAt === undefined ? queuedAt !== undefined : beganAt === endedAt);
  const isQueued = state === "pending" && queuedAt !== undefined;
  queued(beganAt ?? (neverBegan ? endedAt : isQueued ? now : undefined));
  const to = Math.max(from, endedAt ?? now);
  if (neverBegan || isQueued) return spans;
  if (state === "pending") add({ from, to, kind: "waiting" }, "waited");
  else if (isParent({ kind }))
    add({ from, to, kind: "children" }, of.children === undefined ? "took" : "children took");
  // Others do what any other kind does: nodes inside, or whoever sends the event.
  else if (!runsFunction({ kind })) add({ from, to, kind: "waiting" }, "waited");
  else if (state !== "waiting") {
    const hasFailed = state === "failed" || state === "timedOut";
    const which = retries.length > 0 ? `attempt ${attempt - held}` : "one attempt";
    add(
      { from, to, kind: "running", hasFailed },
      hasFailed ? `${which} failed after` : `${which} ran for`,
    );
  }
  return spans;
}

/** A stretch of time without any work, drawn shorter than it was, or a time of the axis. */
export interface Gap {
  /** Its place, from 0 to 1, and how long it was. */
  readonly at: number;
  readonly ms: number;
}

export interface TimeScale {
  /** A time's place between the beginning, 0, and the end, 1. */
  readonly place: (time: number) => number;
  readonly gaps: readonly Gap[];
  /** Round times of the axis: each one's place, and how long after the beginning it is. */
  readonly ticks: readonly Gap[];
}

/** How much longer idle time may be drawn than all work together is. */
const IDLE_SHARE = 0.15;
const SHORTEST_GAP_MS = 5_000;

/** A scale from the first to the last time, on which long stretches without work are shortened. */
export function timeScale(spans: readonly Span[]): TimeScale {
  const moments = [...new Set(spans.flatMap(({ from, to }) => [from, to]))].sort((a, b) => a - b);
  const running = spans.filter(({ kind }) => kind !== "waiting");
  const pieces = moments.slice(1).map((to, index) => {
    const from = moments[index] ?? to;
    const isIdle = !running.some((span) => span.from < to && span.to > from);
    return { from, to, ms: to - from, isIdle };
  });
  const worked = pieces.reduce((sum, { ms, isIdle }) => sum + (isIdle ? 0 : ms), 0);
  const longest = Math.max(SHORTEST_GAP_MS, worked * IDLE_SHARE);
  let whole = 0;
  const drawn = pieces.map(({ from, to, ms, isIdle }) => {
    const width = isIdle ? Math.min(ms, longest) : ms;
    whole += width;
    return { from, to, ms, width, start: whole - width, isShortened: width < ms };
  });
  const share = (part: number) => part / (whole || 1);
  const place = (time: number) => {
    const piece = drawn.find(({ to }) => time <= to);
    if (piece === undefined) return drawn.length === 0 ? 0 : 1;
    const passed = Math.max(0, time - piece.from) / piece.ms;
    return share(piece.start + passed * piece.width);
  };
  const gaps = drawn
    .filter(({ isShortened }) => isShortened)
    .map(({ ms, start, width }) => ({ at: share(start + width / 2), ms }));
  const [{ from: first } = { from: 0 }] = drawn;
  const step = STEPS_MS.find((ms) => ms * MOST_TICKS >= whole) ?? STEPS_MS.at(-1)!;
  const times = drawn
    .filter(({ isShortened }) => !isShortened)
    .flatMap(({ from, to }) => roundTimes(from - first, to - first, step));
  const ticks: Gap[] = [];
  for (const ms of new Set(whole === 0 ? [] : times)) {
    const at = place(first + ms);
    const isFree = [...gaps, ...ticks].every((each) => Math.abs(each.at - at) >= TICK_SHARE);
    if (isFree && at <= 1 - TICK_SHARE) ticks.push({ at, ms });
  }
  return { place, gaps, ticks };
}

const MOST_TICKS = 6;
/** What the text of a tick needs of the width of a phone. */
const TICK_SHARE = 0.16;
/** The steps of an axis: 1, 2 and 5 ms and so on, and what clocks have. */
const STEPS_MS = [
  ...[1, 10, 100, 1_000].flatMap((ms) => [ms, 2 * ms, 5 * ms]),
  ...[10, 30, 60, 120, 300, 600, 1_800].map((s) => 1_000 * s),
  ...[1, 2, 6, 12, 24, 48, 168, 720].map((h) => 3_600_000 * h),
];

/** Returns the multiples of a step from one time to another. */
function roundTimes(from: number, to: number, step: number): number[] {
  const first = Math.ceil(from / step);
  const count = Math.floor(to / step) - first + 1;
  return Array.from({ length: Math.max(0, count) }, (_, index) => (first + index) * step);
}
