import type { Timers } from "@stepwise/testing";
import type { App } from "./apps.js";
import { type Cost, costOfWork, difference } from "./cost.js";
import { Pool, type Works } from "./pool.js";

/** Works as a scene has them: one action in a pool of 10, but for what is given. */
export type Given = Partial<Works>;

const MINUTE = 60_000;
/** As long as an action takes that a deployment lets run. */
export const LONG_MS = 9 * MINUTE;

function worksOf(given: Given): Works {
  return { kind: "action", count: 1, maxParallelism: 10, ms: 0, ...given };
}

/**
 * Measures the pool of one app. Each measurement has a fresh back end, on which a work has run, and
 * come to rest a minute ago.
 */
export class PoolMeasurement {
  constructor(
    private readonly app: App,
    private readonly timers: Timers,
  ) {}

  /** A work among some that are enqueued at once. */
  async work(given: Given): Promise<Cost> {
    const works = worksOf(given);
    const pool = await this.#warm(works);
    const { toEnd, toRest, waitMs } = await pool.run(works);
    return {
      ...costOfWork(toRest, works.count),
      rootToEnd: toEnd.rootExecutions / works.count,
      waitMs: waitMs === undefined ? undefined : waitMs / works.count,
    };
  }

  /** What one kind of works takes beyond another. */
  async more(given: Given, than: Given): Promise<Cost> {
    return difference(await this.work(given), await this.work(than));
  }

  /**
   * All that is done in 5 minutes in which nothing can start: a pool whose slots are all taken for
   * longer, or one that is paused (`maxParallelism` 0). A work is enqueued each 15 s.
   */
  async stuck(maxParallelism: number): Promise<Cost> {
    // A pool that is given fewer slots keeps those that are free, and each sweep reads them.
    const pool = await this.#warm(worksOf(maxParallelism === 0 ? {} : { maxParallelism }));
    const filling = pool.mark();
    const long = {
      kind: "busyAction",
      ms: LONG_MS,
      count: maxParallelism,
      maxParallelism,
    } as const;
    await pool.enqueue(worksOf(long));
    while (pool.begun(filling) < maxParallelism) await pool.advance(100);
    const first = pool.mark();
    for (let passed = 0; passed < 5 * MINUTE; passed += 15_000) {
      await pool.enqueue(worksOf({ maxParallelism }));
      await pool.advance(15_000);
    }
    if (pool.begun(first) > 0) throw new Error("A work began in a pool that should be stuck");
    const totals = pool.since(first);
    // Also ends a pause. What is left undone would go on beside the next scene.
    await pool.enqueue(worksOf({}));
    await pool.rest();
    return costOfWork(totals, 1);
  }

  /** All that is done in each of two hours after a burst of 100 actions has ended. */
  async idle(): Promise<[first: Cost, second: Cost]> {
    const pool = await this.#warm(worksOf({}));
    await pool.end(await pool.enqueue(worksOf({ count: 100 })));
    const hour = async () => {
      const start = pool.mark();
      await pool.advance(60 * MINUTE);
      return costOfWork(pool.since(start), 1);
    };
    const hours: [Cost, Cost] = [await hour(), await hour()];
    await pool.rest();
    return hours;
  }

  async #warm(works: Works): Promise<Pool> {
    const pool = new Pool(this.app, this.timers);
    const { runAfter: _, ...once } = { ...works, count: 1, ms: 0 };
    await pool.run(once);
    await pool.advance(MINUTE);
    return pool;
  }
}
