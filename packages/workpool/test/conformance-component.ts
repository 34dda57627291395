import type { GenericMutationCtx } from "convex/server";
import { ASKS_EVERY_MS, type PoolMutationCtx } from "../src/core/index.js";
import { TestApp } from "./app.js";
import type { PoolUnderTest } from "./conformance-suite.js";
import { internal } from "./convex/_generated/api.js";

/** The pool in the workpool component, for the conformance suite. */
export function poolInComponent(): PoolUnderTest {
  const app = new TestApp();
  const onComplete = internal.callbacks.ended;
  return {
    firstSweepMs: 30_000,
    looksEveryMs: ASKS_EVERY_MS,
    setMaxParallelism: (n) => app.setMaxParallelism(n),
    enqueue: async (label, ms) => {
      await app.t.mutation((ctx) =>
        ms < 0
          ? app.pool.enqueueAction(ctx, internal.jobs.hang, { label }, { onComplete })
          : app.pool.enqueueAction(ctx, internal.jobs.sleep, { label, ms }, { onComplete }),
      );
    },
    enqueueThrowing: async (label) => {
      await app.t.mutation((ctx) =>
        app.pool.enqueueAction(ctx, internal.jobs.startAndThrow, { label }, { onComplete }),
      );
    },
    drive: (ms) => app.drive(ms),
    driveOut: () => app.driveOut(),
    events: (what) => app.events(what),
    losses: async () =>
      (await app.events("ended"))
        .filter((event) => event.label === "failed")
        .map((event) => event.data.result.error),
    inDatabase: (read) =>
      app.inPool((ctx) => read(ctx as GenericMutationCtx<any> as PoolMutationCtx)),
    sweeps: () => app.counter.totals((call) => call.name === "watchdog:sweep").rootExecutions,
  };
}
