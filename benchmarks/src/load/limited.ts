import type { Load } from "./measure.js";

/* Loads of works with limits: those of `apps/ours/convex/limited.ts`. */

interface Named {
  readonly tenant?: string;
  readonly team?: string;
  readonly model?: boolean;
  readonly owner?: string;
  readonly api?: boolean;
  readonly fast?: boolean;
}

export interface Limited extends Load {
  /** How many works of a permit may run, some ms after the beginning. Default: as declared. */
  readonly allows?: (permit: string, at: number) => number;
  /** The works whose waits are told apart, by their permits and their keys of fairness. */
  readonly small?: (permits: readonly string[], owner: string | undefined) => boolean;
  /** How many runs of workflows there are to be. Default: it is not looked at. */
  readonly runs?: number;
}

const POOL = 50;
const DECLARED: Readonly<Record<string, number>> = { model: 10 };
const PER_KEY: Readonly<Record<string, number>> = { tenant: 1, team: 10 };
/** How many start a second, or how many tokens they take; as many at once after a quiet time. */
export const RATES: Readonly<Record<string, number>> = { api: 10, fast: 1_000, tokens: 4_000 };

/** As the app declares them. A name alone is that of all keys together. */
export function declared(permit: string): number {
  const [name = "", key] = permit.split(":");
  return (key === undefined ? DECLARED[name] : PER_KEY[name]) ?? Infinity;
}

const works = (named: Named, ms: number, count = 1, pool = POOL) => ({
  count,
  maxParallelism: pool,
  ms,
  named,
});

function load(
  title: string,
  calls: readonly (readonly [at: number, name: string, args: Record<string, unknown>])[],
  more: Partial<Limited> = {},
): Limited {
  const enqueued = calls.map(([, , { count }]) => (typeof count === "number" ? count : 0));
  return {
    title,
    pool: POOL,
    actions: enqueued.reduce((sum, count) => sum + count, 0),
    warmUp: ["limited:enqueue", works({}, 100)],
    calls: () => calls,
    ...more,
  };
}

const each = <Item>(count: number, make: (n: number) => Item): Item[] =>
  Array.from({ length: count }, (_, n) => make(n));
const enqueue = (at: number, named: Named, ms: number, count = 1) =>
  [at, "limited:enqueue", works(named, ms, count)] as const;
const steer = (at: number, args: { total?: number; pauses?: boolean }) =>
  [at, "limited:steer", args] as const;

const MOVED = [
  { from: 0, total: 10 },
  { from: 10_000, total: 2 },
  { from: 20_000, total: 30 },
];
/** An override takes a moment to be seen: then either number may hold. */
const allowedOfModel = (at: number): number =>
  Math.max(
    ...MOVED.filter(
      ({ from }, index) => from <= at && (MOVED[index + 1]?.from ?? Infinity) > at - 1_000,
    ).map(({ total }) => total),
  );

/** As many as wait for a rate at once. */
const rated = (count: number): Limited =>
  load(`${count.toLocaleString("en")} at once of a limit of 10 a second, works of 50 ms`, [
    enqueue(0, { api: true }, 50, Math.min(count, 1_000)),
    ...each(Math.ceil(count / 1_000) - 1, (n) =>
      enqueue(200 * (n + 1), { api: true }, 50, Math.min(count - 1_000 * (n + 1), 1_000)),
    ),
  ]);

/** Works that use 100 to 900 tokens, and are estimated to use 500. */
const budgeted = (count: number): Limited =>
  load(
    `${count} within ${count / 15} s that use 100 to 900 tokens, of 4,000 a second, 2 tokens a ms`,
    each(count, (n) => {
      const used = 100 + ((n * 370) % 801);
      const args = { count: 1, maxParallelism: POOL, ms: used / 2, used };
      return [(n * 1_000) / 15, "limited:enqueueUsing", args];
    }),
  );

/** The pool of those that are refused at once. */
const WIDE = 100;
const HELD_MS = 10_000;

/** Starts of one key of a `collect`. */
const collected = (count: number): Limited => ({
  ...load(
    `a storm of ${count.toLocaleString("en")} starts of one key of a \`collect\`, 50 a second`,
    each(count, (n) => [n * 20, "runs:start", { kind: "collected", length: 1, ms: 0 }]),
  ),
  actions: count,
  warmUp: ["runs:start", { kind: "collected", length: 1, ms: 0 }],
  toRest: true,
  runs: 1,
});

/** The rows of the table, by name. */
export const LIMITED: Readonly<Record<string, Limited>> = {
  "hot-key": load(
    "a key of 1 that gets 20 a second for 20 s, works of 50 ms",
    each(400, (n) => enqueue(n * 50, { tenant: "hot" }, 50)),
  ),
  "keys-full": load(
    "45 keys of 1 that are full, with 900 works behind them, and a free one that gets 1 a second",
    [
      ...each(45, (n) => enqueue(n * 20, { tenant: `full ${n}` }, 30_000)),
      ...each(45, (n) => enqueue(1_000 + n * 20, { tenant: `full ${n}` }, 10, 20)),
      ...each(20, (n) => enqueue(5_000 + n * 1_000, { tenant: "free" }, 200)),
    ],
    { small: (permits) => permits.includes("tenant:free") },
  ),
  flood: load(
    "2,000 of one team at once, and 10 teams that get 1 each 2 s, works of 1 s, 10 for a team",
    [
      enqueue(0, { team: "flood" }, 1_000, 2_000),
      ...each(300, (n) => enqueue(1_000 + n * 200, { team: `small ${n % 10}` }, 1_000)),
    ],
    { small: (permits) => !permits.includes("team:flood") },
  ),
  fair: load(
    "2,000 of one owner at once, and 10 owners that get 1 each 2 s, works of 1 s, by fairness",
    [
      enqueue(0, { owner: "flood" }, 1_000, 2_000),
      ...each(300, (n) => enqueue(1_000 + n * 200, { owner: `small ${n % 10}` }, 1_000)),
    ],
    { small: (_permits, owner) => owner !== "flood" },
  ),
  moved: load(
    "20 a second of a limit that goes from 10 to 2 and to 30, works of 500 ms",
    [
      ...each(600, (n) => enqueue(n * 50, { model: true }, 500)),
      ...MOVED.slice(1).map(({ from, total }) => steer(from, { total })),
    ],
    {
      allows: (permit, at) => (permit === "model" ? allowedOfModel(at) : declared(permit)),
    },
  ),
  crossing: load(
    "600 within 20 s with a key of 1, a limit of 10, or both, works of 200 ms",
    each(600, (n) =>
      enqueue(
        (n * 100) / 3,
        {
          ...(n % 3 === 2 ? {} : { tenant: `t${n % 20}` }),
          ...(n % 3 === 0 ? {} : { model: true }),
        },
        200,
      ),
    ),
  ),
  singles: load(
    "300 at once, one by one, with a key of 1, a limit of 10, a rate, or several, works of 50 ms",
    each(300, (n) =>
      enqueue(
        0,
        {
          ...(n % 5 < 3 ? { tenant: `t${n % 6}` } : {}),
          ...(n % 5 > 1 ? { model: true } : {}),
          ...(n % 7 === 0 ? { api: true } : {}),
        },
        50,
      ),
    ),
  ),
  paused: load(
    "10,000 of a paused limit in batches of 1,000, which is resumed",
    [
      steer(0, { pauses: true }),
      ...each(10, (n) => enqueue(1_000 + n * 200, { model: true }, 50, 1_000)),
      steer(30_000, { pauses: false }),
    ],
    {
      allows: (permit, at) => (permit === "model" && at < 30_000 ? 0 : declared(permit)),
      isLong: true,
    },
  ),
  rate: rated(5_000),
  budget: budgeted(300),
  refused: load(
    `${WIDE} that get a 429 at once and hold their limit for 10 s, pool of ${WIDE}, works of 50 ms`,
    [[0, "limited:enqueueRefused", { count: WIDE, maxParallelism: WIDE, ms: 50 }]],
    {
      pool: WIDE,
      warmUp: ["limited:enqueue", works({}, 100, 1, WIDE)],
      toRest: true,
      // They are told so within a second, each with its own end.
      allows: (permit, at) =>
        permit === "service" && at > 1_000 && at < HELD_MS ? 0 : declared(permit),
    },
  ),
  collected: collected(1_000),
};

/** Some of them with fewer works, for tests. */
export const SMALL: Readonly<Record<string, Limited>> = {
  rate: rated(300),
  budget: budgeted(150),
  refused: LIMITED["refused"]!,
  collected: collected(300),
};
