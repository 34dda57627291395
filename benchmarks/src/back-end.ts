import { Counter, type Timers, type Totals } from "@stepwise/testing";
import { makeFunctionReference } from "convex/server";
import type { App } from "./apps.js";

/*
 * Interfaces have no index signature, which the arguments of a reference must have: so this is a
 * type.
 */
type Chain = {
  readonly kind: string;
  readonly length: number;
  /** How long a busy step takes. */
  readonly ms: number;
};

type Started = Chain & { readonly runId: string };

/** What one run of a chain took, from its start to its end. */
export interface ChainRun {
  readonly totals: Totals;
  readonly virtualMs: number;
  /** What the engine did after the run's end, until nothing was left to do. */
  readonly afterwards: Totals;
}

const start = makeFunctionReference<"mutation", Chain, string>("runs:start");
const send = makeFunctionReference<"mutation", Chain & { runId: string }, null>("runs:send");
const output = makeFunctionReference<"query", Chain & { runId: string }, number | null>(
  "runs:output",
);

/** How long after the one before an event is sent. */
export const SENT_EVERY_MS = 2_000;

/** An app on a back end of its own, counted, in exact virtual time. */
export class BackEnd {
  readonly counter = new Counter({ deploymentClass: "s256" });
  readonly #t;
  #begunAt = 0;

  constructor(
    private readonly app: App,
    private readonly timers: Timers,
  ) {
    this.#t = app.mount(this.counter);
  }

  /** Starts a chain. Nothing of it has run when this returns. @returns the run's id. */
  async startChain(kind: string, length: number, ms = 0): Promise<string> {
    return await this.#t.mutation(start, { kind, length, ms });
  }

  /**
   * Runs a chain to its end, then lets everything else come to rest.
   * @throws where the run fails, or does not give the number of its steps.
   */
  async runChain(kind: string, length: number, ms = 0): Promise<ChainRun> {
    const chain = { kind, length, ms };
    this.#begin();
    return await this.#end([{ ...chain, runId: await this.startChain(kind, length, ms) }]);
  }

  /** Runs a workflow of events, sending the next one whenever some seconds have passed. */
  async runWithEvents(kind: string, length: number): Promise<ChainRun> {
    const chain = { kind, length, ms: 0 };
    this.#begin();
    const runId = await this.startChain(kind, length);
    for (let sent = 0; sent < length; sent++) {
      await this.#advance(SENT_EVERY_MS);
      await this.#t.mutation(send, { ...chain, runId });
    }
    return await this.#end([{ ...chain, runId }]);
  }

  /** Runs the same chain so many times at once. */
  async runCrowd(kind: string, length: number, runs: number): Promise<ChainRun> {
    const chain = { kind, length, ms: 0 };
    this.#begin();
    const started: Started[] = [];
    for (let i = 0; i < runs; i++)
      started.push({ ...chain, runId: await this.startChain(kind, length) });
    return await this.#end(started);
  }

  #begin(): void {
    this.counter.clear();
    this.#begunAt = Date.now();
  }

  /** Lets runs come to their end, then everything else to rest. */
  async #end(runs: readonly Started[]): Promise<ChainRun> {
    const { counter, timers } = this;
    const left = [...runs];
    const done = async () => {
      for (let run = left.at(-1); run !== undefined; run = left.at(-1)) {
        const counted = await this.#t.query(output, run);
        if (counted === null) return false;
        if (counted !== run.length)
          throw new Error(`${run.kind} of ${run.length} steps counted to ${counted}`);
        left.pop();
      }
      return true;
    };
    await counter.drive({ timers, done });
    const virtualMs = Date.now() - this.#begunAt;
    const totals = counter.totals();
    const last = counter.calls.length;
    // Not until no timer is left: the timer of a function that was canceled goes on.
    await counter.drive({ timers, done: async () => (await this.pendingJobs()) === 0 });
    const after = new Set(counter.calls.slice(last));
    return { totals, virtualMs, afterwards: counter.totals((call) => after.has(call)) };
  }

  async #advance(ms: number): Promise<void> {
    let passed = false;
    setTimeout(() => (passed = true), ms);
    await this.counter.drive({ timers: this.timers, done: () => passed });
  }

  /** How many scheduled functions of the app and its components are still to run. */
  async pendingJobs(): Promise<number> {
    const count = async (ctx: Inspected) => {
      const jobs = await ctx.db.system.query("_scheduled_functions").collect();
      return jobs.filter(({ state }) => ["pending", "inProgress"].includes(state.kind)).length;
    };
    // convex-test has `runInComponent`; its types do not say so.
    const t = this.#t as unknown as {
      run(look: typeof count): Promise<number>;
      runInComponent(path: string, look: typeof count): Promise<number>;
    };
    return await this.counter.uncounted(async () => {
      let pending = 0;
      for (const { path } of this.app.parts)
        pending += await (path === "" ? t.run(count) : t.runInComponent(path, count));
      return pending;
    });
  }
}

/** The part of a mutation's `ctx` that is looked at. */
interface Inspected {
  readonly db: {
    readonly system: {
      query(table: "_scheduled_functions"): { collect(): Promise<{ state: { kind: string } }[]> };
    };
  };
}
