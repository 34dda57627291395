/** @module-tag large */
import type { GenericMutationCtx } from "convex/server";
import { beforeAll } from "vitest";
import { PAUSE_MS } from "../src/core/drain.js";
import type { PoolMutationCtx } from "../src/core/index.js";
import { virtualTime } from "./app.js";
import { poolInComponent } from "./conformance-component.js";
import {
  conformance,
  conformanceOfSuccessors,
  type PoolUnderTest,
  type PoolWithSuccessors,
} from "./conformance-suite.js";
import { HostApp, loadHost } from "./host-app.js";

virtualTime();
beforeAll(loadHost);

function coreInAHost(): PoolWithSuccessors {
  const app = new HostApp();
  return {
    firstSweepMs: 30_000,
    looksEveryMs: PAUSE_MS,
    setMaxParallelism: (n) => app.setMaxParallelism(n),
    enqueue: (label, ms) => app.enqueue({ label, ms }),
    enqueueThrowing: (label) => app.enqueue({ label, ms: 1, throws: true }),
    enqueueChain: (label, ms, length) => app.enqueue({ label, ms, more: length - 1 }),
    drive: (ms) => app.drive(ms),
    driveOut: () => app.driveOut(),
    events: (what) => app.events(what),
    losses: () =>
      app.t.run(async (ctx) => (await ctx.db.query("gone").collect()).map((row) => row.message)),
    // The host's tables are the pool's, and some more.
    inDatabase: (read) =>
      app.t.run((ctx) => read(ctx as GenericMutationCtx<any> as PoolMutationCtx)),
    sweeps: () => app.counter.totals((call) => call.name === "pool:sweep").rootExecutions,
  };
}

const HOSTS: [string, () => PoolUnderTest][] = [
  ["the core in a host of its own", coreInAHost],
  ["the workpool component", poolInComponent],
];

for (const [name, create] of HOSTS) conformance(name, create);
conformanceOfSuccessors("the core in a host of its own", coreInAHost);
