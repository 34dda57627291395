import type { Work } from "./pool-app.js";
import type { PoolEntry } from "./pool-scenario.js";

/** How many of the pools are wide: each has some times as many events as another. */
export const WIDE_SHARE = 0.1;
/** More than one executor has. */
const LEAST_SLOTS = 30;
const MOST_SLOTS = 70;
/** By so many the slots change: an executor has twice as many at most. */
export const WIDE_STEP = 14;

/** What a pool has whose slots are divided among executors. */
export interface Wide {
  readonly maxParallelism: number;
  /** Bursts of short works, and works that come one by one. */
  readonly deeds: readonly PoolEntry[];
  /** They befall what is far behind the first works, where those of other scenarios end. */
  readonly faults: readonly PoolEntry[];
}

/** @param madeOf a short work with what works of the scenario have besides. */
export function wideOf(random: () => number, madeOf: (short: Work) => Work): Wide {
  const upTo = (count: number) => Math.floor(random() * count);
  const nth = (most: number) => Math.floor(Math.exp(random() * Math.log(most)));
  const oneOf = <Each>(all: readonly Each[]): Each => all[upTo(all.length)]!;
  const longestMs = 20 * 2 ** upTo(6);
  let count = 0;
  const work = (): Work =>
    madeOf({
      label: `short${++count}`,
      kind: "action",
      fails: random() < 0.95 ? 0 : 1,
      maxAttempts: 2,
      ms: 10 + upTo(longestMs),
      ...(random() < 0.04 ? { callback: oneOf(["throws", "greedy", "enqueues"] as const) } : {}),
    });
  const enqueue = (at: number, works: number) => {
    const all = Array.from({ length: works }, work);
    return { on: "event", nth: at, does: "enqueue", works: all } as const;
  };
  const bursts = Array.from({ length: 1 + upTo(3) }, () => enqueue(nth(2_000), 60 + upTo(140)));
  const [from, every] = [nth(2_000), 1 + upTo(20)];
  const lone = Array.from({ length: upTo(60) }, (_, at) => enqueue(from + at * every, 1));
  const faults = Array.from({ length: 1 + upTo(8) }, (): PoolEntry => {
    const at = nth(1_000);
    if (random() < 0.5) return { on: "mutation", nth: at };
    const lost = oneOf(["request", "answer"] as const);
    return { on: "call", nth: at, fault: random() < 0.3 ? { lateMs: upTo(3_000) } : { lost } };
  });
  const maxParallelism = LEAST_SLOTS + upTo(MOST_SLOTS - LEAST_SLOTS + 1);
  return { maxParallelism, deeds: [...bursts, ...lone], faults };
}
