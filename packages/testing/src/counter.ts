import { convexTest, type TestConvex } from "convex-test";
import type { DeploymentMetadata, GenericSchema, SchemaDefinition } from "convex/server";
import { wrapAccessor } from "./accessor.js";
import { pinToClock } from "./back-end.js";
import { type Call, frames } from "./call.js";
import { type Drive, drive, type DriveOptions } from "./drive.js";
import type { Recording } from "./execute.js";
import { canIndex, withIndexes } from "./indexed/with-indexes.js";
import { LimitError, type Violation } from "./limits.js";
import { type Modules, wrapModules } from "./modules.js";
import { byFunction, type CallFilter, type FunctionRow, totals, type Totals } from "./summary.js";
import type { Usage } from "./usage.js";

export interface CounterOptions {
  /**
   * Says whether to refuse, as a deployment would, what convex-test lets pass: nesting, array
   * lengths, sizes of arguments and results. Default: true.
   */
  readonly limits?: boolean;
  /**
   * Says whether queries are answered from sorted indexes, instead of convex-test's look through
   * all documents of a table. The results are the same. True throws for a version of convex-test
   * that it does not know. Default: whether it knows the version, and true with `lag`.
   */
  readonly indexes?: boolean;
  /**
   * How many of the newest commits of its component a query with `useStaleSnapshot` does not see.
   * It is at most 100, and only commits of the last second count. Called for each such query. Needs
   * `indexes`. Default: none, as in convex-test.
   */
  readonly lag?: () => number;
  /** The class that the deployment says it is of. Default: that of convex-test, `s16`. */
  readonly deploymentClass?: DeploymentMetadata["class"];
  /**
   * Says whether the functions of a component only call others and wait for timers. Then the driver
   * need not be patient with them. Default: none does so.
   */
  readonly onlyWaits?: (component: string) => boolean;
  /**
   * Says whether a function, as `component/module:name`, only looks if something was lost. In real
   * time nothing waits for it. Default: none does so.
   */
  readonly isStandby?: (name: string) => boolean;
}

export interface CountedTestOptions<Schema extends GenericSchema> {
  readonly schema?: SchemaDefinition<Schema, boolean>;
  readonly modules: Modules;
  /** convex-test's own limits of a transaction. Default: true. */
  readonly transactionLimits?: Partial<Usage> | boolean;
}

/**
 * Records what a Convex app does on convex-test: every execution of every function, how it was
 * entered, and what it read and wrote.
 *
 * @example
 * const counter = new Counter();
 * const t = counter.convexTest({ schema, modules });
 * await t.mutation(api.tasks.add, { text: "write" });
 * counter.totals().documentsWritten; // 1
 */
export class Counter {
  /** Every counted call since the last `clear()`, in the order of their starts. */
  calls: Call[] = [];
  /** Every call a deployment would have refused, also where the app caught the error. */
  violations: Violation[] = [];

  readonly #limits: boolean;
  readonly #indexes: boolean | undefined;
  readonly #lag: (() => number) | undefined;
  readonly #class: CounterOptions["deploymentClass"];
  readonly #onlyWaits: (component: string) => boolean;
  readonly #isStandby: (name: string) => boolean;
  readonly #listeners = new Set<(call: Call) => void>();
  #nextId = 0;
  #activity = 0;
  #running = 0;
  #waiting = 0;

  constructor(options: CounterOptions = {}) {
    this.#limits = options.limits ?? true;
    this.#indexes = options.indexes ?? (options.lag === undefined ? undefined : true);
    this.#lag = options.lag;
    this.#class = options.deploymentClass;
    this.#onlyWaits = options.onlyWaits ?? (() => false);
    this.#isStandby = options.isStandby ?? (() => false);
  }

  /** `convexTest()` over wrapped modules; components registered with the result are wrapped too. */
  convexTest<Schema extends GenericSchema>(
    options: CountedTestOptions<Schema>,
  ): TestConvex<SchemaDefinition<Schema, boolean>> {
    const t = convexTest({
      ...options,
      modules: wrapModules(this.#recording, "", options.modules),
      transactionLimits: options.transactionLimits ?? true,
    });
    pinToClock(t);
    const isIndexed = this.#indexes ?? canIndex(t);
    return wrapAccessor(this.#recording, isIndexed ? withIndexes(t, this.#lag) : t);
  }

  /** Forgets the calls and violations so far. */
  clear(): void {
    this.calls = [];
    this.violations = [];
  }

  /** Sums over the calls that `filter` lets through; over all without one. */
  totals(filter?: CallFilter): Totals {
    return totals(this.calls, filter);
  }

  /** One row per function and way it was entered, in the order of component, name and entry. */
  byFunction(filter?: CallFilter): FunctionRow[] {
    return byFunction(this.calls, filter);
  }

  /** Runs `observer` with its calls left out of the counts, for looking at what is measured. */
  async uncounted<Result>(observer: () => Promise<Result>): Promise<Result> {
    return await frames.run("uncounted", observer);
  }

  /**
   * Calls `listener` at the end of every counted call; its transaction may not be committed yet.
   * Returns a function that removes the listener.
   */
  onCall(listener: (call: Call) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Starts and ends of functions so far, counted or not; it stands still when nothing moves. */
  get activity(): number {
    return this.#activity;
  }

  /** Functions that are running now. */
  get running(): number {
    return this.#running;
  }

  /** Functions that are running, and only wait for others or for a timer. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Drives virtual time until `done`, or until no timer is left. See {@link drive}. */
  async drive(options: DriveOptions): Promise<Drive> {
    return await drive(this, options);
  }

  get #recording(): Recording {
    // oxlint-disable-next-line typescript/no-this-alias -- The methods below are called unbound.
    const counter = this;
    return {
      limits: this.#limits,
      deploymentClass: this.#class,
      isStandby: this.#isStandby,
      newCall(call, counted) {
        counter.#moved(1);
        if (counter.#onlyWaits(call.component)) counter.#waiting += 1;
        if (!counted) return { ...call, id: -1 };
        const numbered: Call = { ...call, id: counter.#nextId++ };
        counter.calls.push(numbered);
        return numbered;
      },
      ended(call, counted) {
        counter.#moved(-1);
        if (counter.#onlyWaits(call.component)) counter.#waiting -= 1;
        if (counted) for (const listener of counter.#listeners) listener(call);
      },
      refuse(violation) {
        counter.violations.push(violation);
        throw new LimitError(violation);
      },
      started: () => counter.#moved(1),
      finished: () => counter.#moved(-1),
    };
  }

  #moved(running: 1 | -1): void {
    this.#activity += 1;
    this.#running += running;
  }
}
