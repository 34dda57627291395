import { Counter, vitestTimers } from "@stepwise/testing";
import type { TestConvex } from "convex-test";
import { vi } from "vitest";
import { internal } from "./host/_generated/api.js";
import schema from "./host/schema.js";

const modules = {
  "./host/_generated/api.js": () => import("./host/_generated/api.js"),
  "./host/chains.js": () => import("./host/chains.js"),
  "./host/pool.js": () => import("./host/pool.js"),
};

/** Loading takes real time, which virtual time does not wait for: to be awaited before. */
export async function loadHost(): Promise<void> {
  await Promise.all(Object.values(modules).map((load) => load()));
}

/** The pool's core in a host of its own, without the component. */
export class HostApp {
  readonly counter: Counter;
  readonly t: TestConvex<typeof schema>;

  /** @param lag how many of the newest commits a stale snapshot lacks; asked for each. */
  constructor(lag = () => 0) {
    this.counter = new Counter({ lag, deploymentClass: "s256" });
    this.t = this.counter.convexTest({ schema, modules, transactionLimits: true });
  }

  async setMaxParallelism(maxParallelism: number): Promise<void> {
    await this.t.mutation(internal.pool.setMax, { maxParallelism });
  }

  async enqueue(job: {
    label: string;
    ms: number;
    timeoutMs?: number;
    more?: number;
    lastMs?: number;
    throws?: boolean;
  }) {
    await this.t.mutation(internal.pool.enqueue, job);
  }

  async addChore(label: string, at: number) {
    await this.t.mutation(internal.pool.addChore, { label, at });
  }

  async drive(ms: number): Promise<void> {
    const end = Date.now() + ms;
    setTimeout(() => {}, ms);
    await this.counter.drive({ timers: vitestTimers(vi), done: () => Date.now() >= end });
  }

  async driveOut(): Promise<void> {
    await this.counter.drive({ timers: vitestTimers(vi) });
  }

  async events(what: string) {
    return await this.t.run(async (ctx) =>
      (await ctx.db.query("events").collect()).filter((event) => event.what === what),
    );
  }
}
