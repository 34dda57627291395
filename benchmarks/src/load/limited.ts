import type { Deployment } from "@stepwise/testing";
import { type Load, measure, type Measured } from "./measure.js";

/* Loads of works with limits: those of `apps/ours/convex/limited.ts`. */

interface Named {
  readonly tenant?: string;
  readonly team?: string;
  readonly model?: boolean;
  readonly owner?: string;
}

export interface Limited extends Load {
  /** How many works of a permit may run, some ms after the beginning. Default: as declared. */
  readonly allows?: (permit: string, at: number) => number;
  /** The works whose waits are told apart, by their permits and their keys of fairness. */
  readonly small?: (permits: readonly string[], owner: string | undefined) => boolean;
}

const POOL = 50;
const DECLARED: Readonly<Record<string, number>> = { model: 10 };
const PER_KEY: Readonly<Record<string, number>> = { tenant: 1, team: 10 };

/** As the app declares them. A name alone is that of all keys together. */
function declared(permit: string): number {
  const [name = "", key] = permit.split(":");
  return (key === undefined ? DECLARED[name] : PER_KEY[name]) ?? Infinity;
}

const works = (named: Named, ms: number, count = 1) => ({ count, maxParallelism: POOL, ms, named });

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
};

export interface MeasuredLimits extends Measured {
  /** Starts at which more ran than a limit says. */
  readonly tooMany: number;
  /** For how long at most a work could have started and did not, with a slot free, in ms. */
  readonly idleMs: number;
  /** Of the works that are told apart, or of all: how long 19 of 20 waited at most, in ms. */
  readonly waitMs: number;
}

interface Work {
  readonly permits?: readonly string[];
  readonly fairness?: { readonly key: string };
}
interface Slot {
  readonly work?: string;
}

/** Sees at each commit which works run and which wait, and holds that against the limits. */
class Watcher {
  readonly waits: number[] = [];
  tooMany = 0;
  idleMs = 0;
  readonly #works = new Map<
    string,
    { permits: readonly string[]; owner: string | undefined; at: number; waits: boolean }
  >();
  readonly #slots = new Map<string, string | undefined>();
  readonly #running = new Map<string, number>();
  readonly #waiting = new Map<string, number>();
  readonly #began: number;
  /** Of works with the same limits and keys: since when one could start. */
  readonly #idleSince = new Map<string, number>();
  #sampledAt = -Infinity;

  constructor(
    readonly deployment: Deployment,
    readonly load: Limited,
  ) {
    this.#began = deployment.clock.now();
    for (const { _id, work } of deployment.rows<Slot & { _id: string }>("workpool", "slots"))
      this.#slots.set(_id, work);
    deployment.onCommit(({ writes }) => {
      const own = writes.filter(({ table }) => table.component === "workpool");
      for (const { table, id, old, next } of own)
        if (table.name === "works")
          this.#work(id, old as Work | undefined, next as Work | undefined);
      // What ends and what begins may be in different slots, in any order.
      const slots = own.filter(({ table }) => table.name === "slots");
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

  #work(id: string, old: Work | undefined, next: Work | undefined): void {
    if (old === undefined && next !== undefined) {
      const permits = next.permits ?? [];
      const owner = next.fairness?.key;
      this.#works.set(id, { permits, owner, at: this.#at, waits: true });
      this.#count(this.#waiting, JSON.stringify(permits), 1);
    } else if (next === undefined) {
      this.#begins(id);
    }
  }

  /** It does not wait any more. */
  #begins(id: string): void {
    const work = this.#works.get(id);
    if (work?.waits !== true) return;
    work.waits = false;
    this.#count(this.#waiting, JSON.stringify(work.permits), -1);
    if (this.load.small?.(work.permits, work.owner) !== false) this.waits.push(this.#at - work.at);
  }

  #leave(slot: string): void {
    for (const permit of this.#permitsOf(this.#slots.get(slot)))
      this.#count(this.#running, permit, -1);
  }

  #take(slot: string, work: string | undefined): void {
    const isNew = this.#slots.get(slot) !== work;
    this.#slots.set(slot, work);
    for (const permit of this.#permitsOf(work)) {
      this.#count(this.#running, permit, 1);
      if (isNew && this.#running.get(permit)! > this.#allowed(permit)) this.tooMany += 1;
    }
    if (work !== undefined) this.#begins(work);
  }

  #permitsOf(work: string | undefined): readonly string[] {
    return work === undefined ? [] : (this.#works.get(work)?.permits ?? []);
  }

  #count(counts: Map<string, number>, key: string, more: number): void {
    counts.set(key, (counts.get(key) ?? 0) + more);
  }

  #sample(): void {
    const at = this.#at;
    if (at < this.#sampledAt + 100) return;
    this.#sampledAt = at;
    const isFree = [...this.#slots.values()].some((work) => work === undefined);
    for (const [line, count] of this.#waiting) {
      const mayStart =
        isFree &&
        count > 0 &&
        (JSON.parse(line) as string[]).every(
          (permit) => (this.#running.get(permit) ?? 0) < this.#allowed(permit),
        );
      if (!mayStart) this.#idleSince.delete(line);
      else {
        const since = this.#idleSince.get(line) ?? at;
        this.#idleSince.set(line, since);
        this.idleMs = Math.max(this.idleMs, at - since);
      }
    }
  }
}

/** Measures a load with limits. Only Stepwise has them. */
export async function measureLimits(
  load: Limited,
  seed: number,
  conditions: readonly string[] = [],
): Promise<MeasuredLimits> {
  let watcher: Watcher | undefined;
  const measured = await measure(load, "ours", seed, conditions, (deployment) => {
    watcher = new Watcher(deployment, load);
  });
  const { tooMany, idleMs, waits } = watcher!;
  const waitMs = waits.sort((a, b) => a - b)[Math.floor(0.95 * waits.length)] ?? 0;
  return { ...measured, tooMany, idleMs, waitMs };
}
