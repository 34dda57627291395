import { Counter, type CounterOptions, vitestTimers } from "@stepwise/testing";
import type { TestConvex } from "convex-test";
import type { GenericMutationCtx } from "convex/server";
import { afterEach, beforeAll, beforeEach, vi } from "vitest";
import { Workpool, type WorkpoolOptions } from "../src/client/index.js";
import type { DataModel as PoolModel } from "../src/component/_generated/dataModel.js";
import { logUsually } from "../src/core/index.js";
import { modules as poolModules, register } from "../src/test.js";
import { components } from "./convex/_generated/api.js";
import schema from "./convex/schema.js";

export { mostAtOnce } from "./most-at-once.js";

const modules = {
  "./convex/_generated/api.js": () => import("./convex/_generated/api.js"),
  "./convex/callbacks.js": () => import("./convex/callbacks.js"),
  "./convex/fuzz.js": () => import("./convex/fuzz.js"),
  "./convex/jobs.js": () => import("./convex/jobs.js"),
  "./convex/settlers.js": () => import("./convex/settlers.js"),
};

/** Fake timers for every test of a file, and a log that stays quiet. */
export function virtualTime(): void {
  // Loading takes real time, which virtual time does not wait for.
  beforeAll(async () => {
    await Promise.all([...Object.values(modules), ...Object.values(poolModules)].map((m) => m()));
  });
  beforeEach(() => {
    vi.useFakeTimers({ now: 1_800_000_000_000 });
    // A kit of workflows, in the same process before, has the component say less.
    logUsually();
    for (const method of ["error", "warn", "info"] as const)
      vi.spyOn(console, method).mockImplementation(() => {});
  });
  afterEach(() => {
    vi.useRealTimers();
    vi.restoreAllMocks();
  });
}

type Event = { what: string; label: string; at: number; data?: any };

/** The test app on a fresh back end, with a pool in it. */
export class TestApp {
  readonly counter: Counter;
  readonly t: TestConvex<typeof schema>;
  readonly pool: Workpool;

  /** @param lag how many of the newest commits a stale snapshot lacks; asked for each. */
  constructor(
    options: WorkpoolOptions = {},
    lag = () => 0,
    deploymentClass: CounterOptions["deploymentClass"] = "s256",
  ) {
    this.counter = new Counter({ lag, deploymentClass });
    this.t = this.counter.convexTest({ schema, modules, transactionLimits: true });
    register(this.t);
    this.pool = new Workpool(components.workpool, options);
  }

  /**
   * Lets everything run that is due within `ms`; without it, all there is to run but the watchdog's
   * sweeps.
   * @param between is called after each timer, when nothing moves any more.
   */
  async drive(ms = Infinity, between: () => Promise<void> = async () => {}): Promise<void> {
    const end = Date.now() + ms;
    if (ms !== Infinity) setTimeout(() => {}, ms);
    const done = async () => {
      await between();
      return ms === Infinity ? await this.onlyWatched() : Date.now() >= end;
    };
    await this.counter.drive({ timers: vitestTimers(vi), done });
  }

  /** Lets everything run, to the watchdog's last sweep. */
  async driveOut(): Promise<void> {
    await this.counter.drive({ timers: vitestTimers(vi) });
  }

  /** Says whether nothing is left to run but the watchdog's next sweep. */
  private async onlyWatched(): Promise<boolean> {
    // The sweep, and the one in reserve.
    if (vi.getTimerCount() > 2) return false;
    return await this.inPool(async (ctx) => {
      const sweep = (await ctx.db.query("watch").first())?.job;
      return (
        sweep !== undefined &&
        (await ctx.db.system.get("_scheduled_functions", sweep))?.state.kind === "pending"
      );
    });
  }

  /** What jobs and callbacks wrote down, in order. */
  async events(what?: string): Promise<Event[]> {
    return await this.t.run(async (ctx) => {
      const events = await ctx.db.query("events").collect();
      return what === undefined ? events : events.filter((event) => event.what === what);
    });
  }

  async labels(what: string): Promise<string[]> {
    return (await this.events(what)).map((event) => event.label);
  }

  /** Looks into the component, or changes something there. */
  async inPool<Result>(
    use: (ctx: GenericMutationCtx<PoolModel>) => Promise<Result>,
  ): Promise<Result> {
    // convex-test has this method, but does not declare it.
    const t = this.t as unknown as {
      runInComponent(path: string, use: unknown): Promise<Result>;
    };
    return await t.runInComponent("workpool", use);
  }

  /**
   * What became of the scheduled function of the one work that runs: as after its machine died, or
   * somebody has canceled it.
   */
  async endJob(state: "failed" | "canceled" | "success" | "gone"): Promise<void> {
    const held = await this.inPool((ctx) =>
      ctx.db
        .query("slots")
        .withIndex("by_work", (q) => q.gt("work", undefined))
        .first(),
    );
    await this.setJob(held!.job!, state);
  }

  async setJob(job: string, state: "failed" | "canceled" | "success" | "gone"): Promise<void> {
    await this.inPool(async (ctx) => {
      // Nobody but the platform writes there, so no type allows it.
      const system = ctx.db as unknown as {
        patch(table: string, id: string, value: unknown): Promise<void>;
        delete(table: string, id: string): Promise<void>;
      };
      if (state === "gone") await system.delete("_scheduled_functions", job);
      else await system.patch("_scheduled_functions", job, { state: { kind: state } });
    });
  }

  /** Has continuations name a function that has run: as if their rows came from a backup. */
  async putBackContinuations(): Promise<void> {
    await this.inPool(async (ctx) => {
      const jobs = await ctx.db.system.query("_scheduled_functions").collect();
      const ran = jobs.find(({ state }) => state.kind === "success")!;
      for (const { _id, job } of await ctx.db.query("continuations").collect()) {
        await ctx.scheduler.cancel(job!);
        await ctx.db.patch("continuations", _id, { job: ran._id });
      }
    });
  }

  /**
   * Has the scheduled functions of this name never run, as after somebody has canceled them; and
   * where `gone`, as after a restore from a backup.
   */
  async losePending(name: string, { gone = false } = {}): Promise<number> {
    return await this.inPool(async (ctx) => {
      const jobs = await ctx.db.system.query("_scheduled_functions").collect();
      const lost = jobs.filter((job) => job.name === name && job.state.kind === "pending");
      const system = ctx.db as unknown as { delete(table: string, id: string): Promise<void> };
      for (const { _id } of lost) {
        await ctx.scheduler.cancel(_id);
        if (gone) await system.delete("_scheduled_functions", _id);
      }
      return lost.length;
    });
  }

  async setMaxParallelism(maxParallelism: number): Promise<void> {
    await this.t.mutation((ctx) =>
      ctx.runMutation(components.workpool.config.update, { maxParallelism }),
    );
  }

  async gateIsOpen(): Promise<boolean | undefined> {
    return await this.inPool(async (ctx) => (await ctx.db.query("gate").first())?.open);
  }

  /**
   * How many documents there are in each of the component's tables that is to be empty when nothing
   * is left to do, and how many scheduled functions besides the watchdog's last sweep.
   */
  async leftovers(): Promise<Record<string, number>> {
    return await this.inPool(async (ctx) => ({
      works: (await ctx.db.query("works").collect()).length,
      waiting: (await ctx.db.query("waiting").collect()).length,
      limited: (await ctx.db.query("limited").collect()).length,
      lines: (await ctx.db.query("lines").collect()).length,
      permits: (await ctx.db.query("permits").collect()).length,
      largeArgs: (await ctx.db.query("largeArgs").collect()).length,
      continuations: (await ctx.db.query("continuations").collect()).length,
      setAside: (await ctx.db.query("setAside").collect()).length,
      largeValues: (await ctx.db.query("largeValues").collect()).length,
      heldSlots: (await ctx.db.query("slots").collect()).filter((slot) => slot.work !== undefined)
        .length,
      scheduled: (await ctx.db.system.query("_scheduled_functions").collect()).filter(
        (job) => ["pending", "inProgress"].includes(job.state.kind) && job.name !== SWEEP,
      ).length,
    }));
  }
}

const SWEEP = "watchdog:sweep";

export const NOTHING_LEFT = {
  works: 0,
  waiting: 0,
  limited: 0,
  lines: 0,
  permits: 0,
  largeArgs: 0,
  continuations: 0,
  setAside: 0,
  largeValues: 0,
  heldSlots: 0,
  scheduled: 0,
};
