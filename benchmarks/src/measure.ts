import type { Timers } from "@stepwise/testing";
import type { App } from "./apps.js";
import { BackEnd, type ChainRun } from "./back-end.js";
import { type Cost, costOfStep, costOfWork } from "./cost.js";

/**
 * Measures the chains of one app. Each run has a fresh back end, and is made once however often it
 * is asked for.
 */
export class Measurement {
  readonly #runs = new Map<string, Promise<ChainRun>>();

  constructor(
    private readonly app: App,
    private readonly timers: Timers,
  ) {}

  /**
   * A step of a chain: what the chain takes beyond one of a single step, for each step beyond the
   * first.
   */
  async step(kind: string, length: number, ms = 0): Promise<Cost> {
    const shortest = await this.run(kind, 1, ms);
    return costOfStep(await this.run(kind, length, ms), shortest, length - 1, ms);
  }

  /**
   * One of the N things in a run: what a run of N takes beyond a run of one of them. @param ms how
   * long each of them is to take.
   */
  async shape(kind: string, n: number, ms = 0, sends = false): Promise<Cost> {
    const run = async (length: number) =>
      await this.#onFreshBackEnd((back) =>
        sends ? back.runWithEvents(kind, length) : back.runChain(kind, length),
      );
    return costOfStep(await run(n), await run(1), n - 1, ms);
  }

  /** A step of one of many chains that are started at once. */
  async crowd(kind: string, length: number, runs: number): Promise<Cost> {
    const run = async (steps: number) =>
      await this.#onFreshBackEnd((back) => back.runCrowd(kind, steps, runs));
    return costOfStep(await run(length), await run(1), (length - 1) * runs);
  }

  /**
   * A run of a chain of one step, from its start to its end, where one has run before. @param ms
   * how long the step is busy.
   */
  async whole(kind: string, ms = 0): Promise<Cost> {
    const { totals, virtualMs } = await this.#onFreshBackEnd(async (back) => {
      await back.runChain(kind, 1, ms);
      return await back.runChain(kind, 1, ms);
    });
    return { ...costOfWork(totals, 1), waitMs: virtualMs - ms };
  }

  /** A run of a chain on a back end on which nothing has run. */
  async run(kind: string, length: number, ms = 0): Promise<ChainRun> {
    const key = [kind, length, ms].join();
    const run =
      this.#runs.get(key) ?? this.#onFreshBackEnd((back) => back.runChain(kind, length, ms));
    this.#runs.set(key, run);
    return await run;
  }

  /** What the engine goes on to do when a run has ended. */
  async afterwards(kind: string, length: number): Promise<Cost> {
    return costOfWork((await this.run(kind, length)).afterwards, 1);
  }

  async #onFreshBackEnd<Result>(use: (back: BackEnd) => Promise<Result>): Promise<Result> {
    const back = new BackEnd(this.app, this.timers);
    const result = await use(back);
    const [violation] = back.counter.violations;
    if (violation !== undefined) throw new Error(violation.message);
    return result;
  }
}
