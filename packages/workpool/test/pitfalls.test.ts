import { beforeAll, describe, expect, test } from "vitest";
import { leaveQueueAmong, seeQueueFor } from "../src/core/queue.js";
import { claimable } from "../src/core/slots.js";
import type { Doc, HostCtx } from "../src/core/context.js";
import { mostAtOnce, NOTHING_LEFT, TestApp, virtualTime } from "./app.js";
import { internal } from "./convex/_generated/api.js";
import { host } from "./host/pool.js";
import { HostApp, loadHost } from "./host-app.js";

/*
 * What goes wrong elsewhere, and must not here. Each such thing has a test whose title begins with
 * its name: here, or where the tests of that part of the pool are.
 */

virtualTime();
beforeAll(loadHost);

const SECOND = 1_000;
const DAY = 24 * 60 * 60 * SECOND;
const { sleep, wait } = internal.jobs;
const onComplete = internal.callbacks.ended;

describe("what goes wrong elsewhere", () => {
  test("polling that costs: after a burst one last sweep, and then nothing, for days", async () => {
    const app = new TestApp({ maxParallelism: 2 });
    await app.t.mutation((ctx) =>
      app.pool.enqueueActionBatch(
        ctx,
        wait,
        Array.from({ length: 6 }, () => ({ ms: SECOND })),
      ),
    );
    await app.drive(10 * SECOND);
    app.counter.clear();
    await app.drive(3 * DAY);
    expect(app.counter.totals().rootExecutions).toBe(1);
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });

  test(
    "a crashed wrapper that blocks 32 slots for minutes: works that started together crash alone",
    { tags: ["large"] },
    async () => {
      const app = new TestApp({ maxParallelism: 32 });
      const jobs = Array.from({ length: 32 + 4 * 31 + 1 }, (_, i) => ({
        label: `${i}`,
        ms: i === 0 ? DAY : 10 * SECOND,
      }));
      const ids = await app.t.mutation((ctx) =>
        app.pool.enqueueActionBatch(ctx, sleep, jobs, { onComplete }),
      );
      await app.drive(SECOND);
      const slot = await app.inPool((ctx) =>
        ctx.db
          .query("slots")
          .withIndex("by_work", (q) => q.eq("work", ids[0]))
          .first(),
      );
      await app.setJob(slot!.job!, "failed");
      await app.drive(14 * SECOND);
      // The 31 others have ended, and their slots have gone on.
      expect(await app.labels("ended")).toEqual(Array(31).fill("success"));
      expect(await app.labels("start")).toHaveLength(32 + 31);
      await app.drive(20 * SECOND);
      // Half a minute after the start the one is known to have crashed, and its slot has gone on
      // too.
      const ended = await app.events("ended");
      const failed = ended.filter((event) => event.label === "failed");
      expect(failed.map((event) => event.data.workId)).toEqual([ids[0]]);
      expect(ended).toHaveLength(1 + 3 * 31);
      expect(await app.labels("start")).toHaveLength(32 + 3 * 31 + 1);
      // The one that crashed goes on by its own count, for it was only said to have crashed.
      expect(mostAtOnce(await app.events())).toBe(32 + 1);
    },
  );

  test("write conflicts between enqueuers under load: those that choose at the same moment pick slots of their own", async () => {
    const app = new HostApp();
    await app.setMaxParallelism(100);
    // They all see the same slots free, as transactions that run at once do.
    const gate = await app.t.run((ctx) => ctx.db.query("gate").first());
    const picked = await app.t.run((ctx) =>
      Promise.all(Array.from({ length: 20 }, () => claimable(ctx as HostCtx, host, gate!, 1))),
    );
    // At random, 18 would differ.
    expect(new Set(picked.map(({ slots }) => slots[0]?.number)).size).toBeGreaterThanOrEqual(15);
  });

  test("write conflicts under load: works that end at the same moment take different ones of the queue", async () => {
    const app = new HostApp();
    await app.setMaxParallelism(25);
    await app.setMaxParallelism(0);
    const gate = await app.t.run(async (ctx) => ({
      ...(await ctx.db.query("gate").first())!,
      maxParallelism: 25,
    }));
    for (let i = 0; i < 120; i++) await app.enqueue({ label: `${i}`, ms: 1 });
    const taken: string[] = [];
    // Each of them sees the queue as it was before any of the others, as transactions that run at
    // once do.
    for (let number = 0; number < 20; number++)
      await app.t
        .mutation(async (ctx) => {
          const slot = { number } as Doc<"slots">;
          const { free } = await seeQueueFor(ctx as HostCtx, host, gate, slot);
          const work = await leaveQueueAmong(ctx as HostCtx, host, [...free]);
          taken.push(work!.work);
          throw new Error("undone");
        })
        .catch(() => {});
    expect(taken).toHaveLength(20);
    // At random, 18 would differ.
    expect(new Set(taken).size).toBeGreaterThanOrEqual(19);
  });

  test.each([
    ["a slot is free", 50],
    ["all are taken", 2],
  ])(
    "write conflicts between enqueuers under load: each writes its own work, and its slot or its place in the queue: %s",
    async (_, maxParallelism) => {
      const app = new TestApp({ maxParallelism, logLevel: "INFO" });
      const enqueue = () =>
        app.t.mutation((ctx) => app.pool.enqueueAction(ctx, wait, { ms: DAY }, { onComplete }));
      for (let i = 0; i < 3; i++) await enqueue();
      app.counter.clear();
      for (let i = 0; i < 20; i++) await enqueue();
      const calls = app.counter.calls.filter((call) => call.name === "lib:enqueue");
      expect(calls).toHaveLength(20);
      for (const { total } of calls) expect(total.documentsWritten).toBe(2);
    },
  );
});
