import { createFunctionHandle } from "convex/server";
import { beforeAll, describe, expect, test } from "vitest";
import { virtualTime } from "./app.js";
import { internal } from "./host/_generated/api.js";
import { HostApp, loadHost } from "./host-app.js";

virtualTime();
beforeAll(loadHost);

const CROWD = 100_000;
const PAGE = 10_000;

describe("100,000 works waiting", () => {
  test(
    "reach no limit of a transaction, whatever is done: enqueue, pause, resume, complete, sweep",
    { tags: ["large"] },
    async () => {
      const app = new HostApp();
      await app.setMaxParallelism(2);
      for (let i = 0; i < 2; i++) await app.enqueue({ label: `first${i}`, ms: 1_000 });
      // Written as the queue writes them, and not one by one through it, which would take
      // convex-test minutes.
      const fn = await app.t.run(() => createFunctionHandle(internal.pool.run));
      for (let from = 0; from < CROWD; from += PAGE)
        await app.t.run(async (ctx) => {
          for (let i = from; i < from + PAGE; i++)
            await ctx.db.insert("waiting", {
              work: `w${i}/0`,
              fn,
              args: { label: `w${i}`, ms: 1_000 },
              lane: i % 2,
              at: ctx.db.vars.commitTs,
            });
        });
      await app.t.run(async (ctx) => {
        const gate = await ctx.db.query("gate").first();
        await ctx.db.patch("gate", gate!._id, { open: false, closedAt: Date.now() });
      });
      app.counter.clear();
      await app.enqueue({ label: "last", ms: 10 });
      // Two end, and two of the queue start.
      await app.drive(1_500);
      expect(await app.events("start")).toHaveLength(4);
      await app.setMaxParallelism(0);
      await app.drive(1_000);
      expect(await app.events("end")).toHaveLength(4);
      await app.setMaxParallelism(20);
      await app.drive(500);
      expect(await app.events("start")).toHaveLength(24);
      // A sweep of the watchdog.
      await app.t.run(async (ctx) => {
        const watch = await ctx.db.query("watch").first();
        await ctx.scheduler.cancel(watch!.job!);
        await ctx.scheduler.runAfter(0, internal.pool.sweep, { generation: watch!.generation });
      });
      await app.drive(100);
      expect(app.counter.violations).toEqual([]);
      expect(app.counter.calls.filter((call) => call.failed)).toEqual([]);
      for (const { name, total } of app.counter.calls) {
        // A hundredth of what a transaction may read: it does not grow with the queue.
        expect(total.documentsRead, name).toBeLessThanOrEqual(320);
        expect(total.bytesRead, name).toBeLessThanOrEqual(160 << 10);
      }
    },
  );
});
