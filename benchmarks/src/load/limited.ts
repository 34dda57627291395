import { type Deployment, textOf } from "@stepwise/testing";
import { type Load, measure, type Measured } from "./measure.js";

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
const RATES: Readonly<Record<string, number>> = { api: 10, fast: 1_000, tokens: 4_000 };

/** As the app declares them. A name alone is that of all keys together. */
function declared(permit: string): number {
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

export interface MeasuredLimits extends Measured {
  /** Starts at which more ran than a limit says, or that came before a rate allows them. */
  readonly tooMany: number;
  /** For how long at most a work could have started and did not, with a slot free, in ms. */
  readonly idleMs: number;
  /** Of the works that are told apart, or of all: how long 19 of 20 waited at most, in ms. */
  readonly waitMs: number;
  /** What completions read for each start of a work, lost attempts included. */
  readonly documentsOfEnds: number;
}

interface Work {
  readonly permits?: readonly string[];
  readonly fairness?: { readonly key: string };
  readonly args?: { readonly used?: number };
}
interface Waiting {
  readonly work: string;
}
interface Slot {
  readonly work?: string;
}

/** A transaction has the time of its begin, and is seen when it commits. */
const SKEW_MS = 60;

/** What there is of a rate, as time, starts and ends make it. */
class Bucket {
  #left: number;
  #at = 0;

  constructor(readonly perSecond: number) {
    this.#left = perSecond;
  }

  left(at: number): number {
    this.take(0, at);
    return this.#left;
  }

  /** @returns whether that was too much. */
  take(cost: number, at: number): boolean {
    this.#left = Math.min(this.perSecond, this.#left + ((at - this.#at) * this.perSecond) / 1_000);
    this.#left -= cost;
    this.#at = at;
    return cost > 0 && this.#left < -(this.perSecond * SKEW_MS) / 1_000 - 0.5;
  }
}

/** How much a start takes of a rate, by its permits: `tokens=500` is an estimate. */
function costsOf(permits: readonly string[]): Map<string, number> {
  const costs = new Map<string, number>();
  for (const permit of permits) {
    const [name = "", cost] = permit.split(/[=:]/);
    if (name in RATES) costs.set(name, cost === undefined ? 1 : Number(cost));
  }
  return costs;
}

/** Sees at each commit which works run and which wait, and holds that against the limits. */
class Watcher {
  readonly waits: number[] = [];
  tooMany = 0;
  idleMs = 0;
  runs = 0;
  starts = 0;
  readonly #works = new Map<string, Work>();
  readonly #slots = new Map<string, string | undefined>();
  readonly #running = new Map<string, number>();
  readonly #buckets = new Map<string, Bucket>();
  /** Since when each work waits, oldest first, of works with the same limits and keys. */
  readonly #waiting = new Map<string, Map<string, number>>();
  readonly #began: number;
  /** Of works with the same limits and keys: since when one could start. */
  readonly #idleSince = new Map<string, number>();
  #sampledAt = -Infinity;

  constructor(
    readonly deployment: Deployment,
    readonly load: Limited,
  ) {
    this.#began = deployment.clock.now();
    for (const [name, perSecond] of Object.entries(RATES))
      this.#buckets.set(name, new Bucket(perSecond));
    for (const { _id, work } of deployment.rows<Slot & { _id: string }>("workpool", "slots"))
      this.#slots.set(_id, work);
    deployment.onCommit(({ writes }) => {
      const of = (name: string, component = "workpool") =>
        writes.filter(({ table }) => table.component === component && table.name === name);
      for (const { old } of of("runs", "workflow")) if (old === undefined) this.runs += 1;
      for (const { id, next } of of("works"))
        if (next !== undefined) this.#works.set(id, next as Work);
      const queued = [...of("waiting"), ...of("limited")];
      for (const { next } of queued) this.#wait(next as Waiting | undefined);
      // What ends and what begins may be in different slots, in any order.
      const slots = of("slots").filter(
        ({ id, next }) => this.#slots.get(id) !== (next as Slot | undefined)?.work,
      );
      for (const { id } of slots) this.#leave(id);
      for (const { id, next } of slots) this.#take(id, (next as Slot | undefined)?.work);
      this.#sample();
    });
  }

  get #at(): number {
    return this.deployment.clock.now() - this.#began;
  }

  #allowed(permit: string): number {
    return (this.load.allows ?? declared)(permit, this.#at);
  }

  /** It waits, in the queue or in a line, or goes from one to the other. */
  #wait(row: Waiting | undefined): void {
    if (row === undefined) return;
    const line = JSON.stringify(this.#permitsOf(row.work));
    const works = this.#waiting.get(line) ?? new Map<string, number>();
    this.#waiting.set(line, works);
    if (!works.has(row.work)) works.set(row.work, this.#at);
  }

  #leave(slot: string): void {
    const work = this.#slots.get(slot);
    for (const permit of this.#permitsOf(work)) this.#count(permit, -1);
    const { permits = [], args } = this.#works.get(work ?? "") ?? {};
    if (args?.used !== undefined)
      for (const [name, cost] of costsOf(permits))
        this.#buckets.get(name)!.take(args.used - cost, this.#at);
  }

  #take(slot: string, work: string | undefined): void {
    this.#slots.set(slot, work);
    if (work === undefined) return;
    this.starts += 1;
    const permits = this.#permitsOf(work);
    for (const permit of permits) {
      this.#count(permit, 1);
      if (this.#running.get(permit)! > this.#allowed(permit)) this.tooMany += 1;
    }
    for (const [name, cost] of costsOf(permits))
      if (this.#buckets.get(name)!.take(cost, this.#at)) this.tooMany += 1;
    const waiting = this.#waiting.get(JSON.stringify(permits));
    const since = waiting?.get(work) ?? this.#at;
    waiting?.delete(work);
    const owner = this.#works.get(work)?.fairness?.key;
    if (this.load.small?.(permits, owner) !== false) this.waits.push(this.#at - since);
  }

  #permitsOf(work: string | undefined): readonly string[] {
    return this.#works.get(work ?? "")?.permits ?? [];
  }

  #count(permit: string, more: number): void {
    this.#running.set(permit, (this.#running.get(permit) ?? 0) + more);
  }

  #sample(): void {
    const at = this.#at;
    if (at < this.#sampledAt + 100) return;
    this.#sampledAt = at;
    const isFree = [...this.#slots.values()].some((work) => work === undefined);
    for (const [line, works] of this.#waiting) {
      const [oldest] = works.values();
      if (!isFree || oldest === undefined || !this.#mayStart(JSON.parse(line) as string[])) {
        this.#idleSince.delete(line);
        continue;
      }
      const since = this.#idleSince.get(line) ?? at;
      this.#idleSince.set(line, since);
      this.idleMs = Math.max(this.idleMs, at - Math.max(since, oldest));
    }
  }

  #mayStart(permits: readonly string[]): boolean {
    return (
      permits.every((permit) => (this.#running.get(permit) ?? 0) < this.#allowed(permit)) &&
      [...costsOf(permits)].every(([name, cost]) => this.#buckets.get(name)!.left(this.#at) >= cost)
    );
  }
}

/** What ends works, and starts those that follow them. */
const COMPLETION = /^workpool\/complete:/;

/** Measures a load with limits. Only Stepwise has them. */
export async function measureLimits(
  load: Limited,
  seed: number,
  conditions: readonly string[] = [],
): Promise<MeasuredLimits> {
  let watcher: Watcher | undefined;
  let documents = 0;
  const measured = await measure(load, "ours", seed, conditions, (deployment) => {
    watcher = new Watcher(deployment, load);
    deployment.onHappening((event) => {
      if (event.what !== "ran" || !COMPLETION.test(textOf(event.path))) return;
      const { usage, staleUsage } = event.transaction;
      documents += usage.documentsRead + staleUsage.documentsRead;
    });
  });
  const { idleMs, waits, runs, starts } = watcher!;
  const tooMany = watcher!.tooMany + (load.runs === undefined ? 0 : Math.abs(runs - load.runs));
  const waitMs = waits.sort((a, b) => a - b)[Math.floor(0.95 * waits.length)] ?? 0;
  return { ...measured, tooMany, idleMs, waitMs, documentsOfEnds: documents / starts };
}
