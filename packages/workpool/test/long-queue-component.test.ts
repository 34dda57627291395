import { createFunctionHandle } from "convex/server";
import { describe, expect, test } from "vitest";
import type { WorkId } from "../src/client/index.js";
import { internal as pool } from "../src/component/_generated/api.js";
import type { Id } from "../src/component/_generated/dataModel.js";
import { NOTHING_LEFT, TestApp, virtualTime } from "./app.js";
import { components, internal } from "./convex/_generated/api.js";

/*
 * The component with several times as many works as a transaction of its own reads. The queue of
 * `long-queue.test.ts`, of the core alone, is longer than what any transaction may read.
 */

virtualTime();

const onComplete = internal.callbacks.ended;
const { wait, write } = internal.jobs;
const { workpool } = components;
/** More than twice what is read at most, below: whoever reads all of the queue is found. */
const CROWD = 6_000;
const LIMIT = 400;
/** Each writes two documents, of the 16,000 that a transaction may. */
const SEED_PAGE = 3_000;

/**
 * Puts works in the queue that do nothing, written as an enqueue writes them, and not one by one
 * through it, which would take convex-test minutes.
 * @returns their ids.
 */
async function waitInQueue(app: TestApp, works: number): Promise<Id<"works">[]> {
  const [fn, callback] = await app.t.run(() =>
    Promise.all([createFunctionHandle(write), createFunctionHandle(onComplete)]),
  );
  const ids: Id<"works">[] = [];
  for (let from = 0; from < works; from += SEED_PAGE)
    await app.inPool(async (ctx) => {
      const worker = await createFunctionHandle(pool.worker.runMutation);
      for (let i = from; i < Math.min(works, from + SEED_PAGE); i++) {
        const work = await ctx.db.insert("works", {
          kind: "mutation",
          fn,
          args: { label: "crowd" },
          attempts: 0,
          // A hundredth of them has a callback: it writes a document, and convex-test reads those
          // too.
          ...(i % 100 === 0 ? { onComplete: { fn: callback } } : {}),
        });
        const args = { workId: work, attempt: 1 };
        await ctx.db.insert("waiting", {
          work,
          fn: worker,
          args,
          isMutation: true,
          at: ctx.db.vars.commitTs,
        });
        ids.push(work);
      }
    });
  return ids;
}

/** How many works were canceled that held no slot. */
const canceled = (app: TestApp) =>
  app.inPool(async (ctx) => {
    const counts = await ctx.db.query("counts").collect();
    return counts.reduce((sum, { canceled }) => sum + canceled, 0);
  });

/** No call has failed, nor read or written more than a part of what a transaction may. */
function expectWithinLimits(
  app: TestApp,
  { documents, bytes }: { documents: number; bytes: number },
) {
  expect(app.counter.violations).toEqual([]);
  expect(app.counter.calls.filter((call) => call.failed)).toEqual([]);
  for (const { name, total } of app.counter.calls) {
    expect(total.documentsRead, name).toBeLessThanOrEqual(documents);
    expect(total.bytesRead, name).toBeLessThanOrEqual(bytes);
    expect(total.documentsWritten, name).toBeLessThanOrEqual(documents);
  }
}

describe("6,000 works waiting in the component", () => {
  test(
    "whatever is done, no transaction reads or writes more than a part of them",
    { tags: ["large"] },
    async () => {
      const app = new TestApp();
      await app.setMaxParallelism(2);
      await app.t.mutation((ctx) =>
        app.pool.enqueueActionBatch(ctx, wait, [{ ms: 1_000 }, { ms: 1_000 }]),
      );
      const ids = await waitInQueue(app, CROWD);
      await app.inPool(async (ctx) => {
        const gate = await ctx.db.query("gate").first();
        await ctx.db.patch("gate", gate!._id, { open: false, closedAt: Date.now() });
      });
      app.counter.clear();

      const last = await app.t.mutation((ctx) =>
        app.pool.enqueueMutation(ctx, write, { label: "crowd" }),
      );
      const status = (id: string) => app.t.query((ctx) => app.pool.status(ctx, id as WorkId));
      expect(await status(last)).toMatchObject({ state: "pending" });
      expect(await status(ids[CROWD / 2]!)).toMatchObject({ state: "pending" });
      await app.t.mutation((ctx) => app.pool.cancel(ctx, ids[CROWD / 2]! as string as WorkId));
      expect(await status(ids[CROWD / 2]!)).toEqual({ state: "finished" });
      // The two that run end; of the queue some run, and the pause stops them.
      await app.drive(1_100, async () => {
        if ((await app.labels("write")).length >= 2) await app.setMaxParallelism(0);
      });
      await app.drive(1_000);
      const ran = (await app.labels("write")).length;
      expect(ran).toBeGreaterThanOrEqual(2);
      await app.setMaxParallelism(20);
      // A drain starts them, and another pause stops the rest.
      const drains = () => app.counter.calls.filter(({ name }) => name === "watchdog:drainQueue");
      const before = drains().length;
      await app.drive(1_000, async () => {
        if (drains().length > before) await app.setMaxParallelism(0);
      });
      expect((await app.labels("write")).length).toBeGreaterThanOrEqual(ran + 20);
      // A sweep, and all that it looks after.
      await app.t.mutation((ctx) => app.pool.repair(ctx));
      await app.drive(10);
      // Most is read by the sweep, which counts the queue for its report: up to 1,000 of it.
      expectWithinLimits(app, { documents: 1_300, bytes: 1 << 20 });

      app.counter.clear();
      const summary = await app.t.query((ctx) => ctx.runQuery(workpool.views.summary, {}));
      expect(summary).toMatchObject({ waiting: 1_000, waitingIsAtLeast: true });
      const paginationOpts = { cursor: null, numItems: 1_000 };
      await app.t.query((ctx) => ctx.runQuery(workpool.views.waiting, { paginationOpts }));
      expectWithinLimits(app, { documents: 1_300, bytes: 1 << 20 });

      // All of them are canceled, and the pages are no larger than those of a small pool, but ever
      // so many.
      app.counter.clear();
      // One was canceled above, and one enqueued.
      const left = CROWD - (await app.labels("write")).length;
      const canceledBefore = await canceled(app);
      await app.t.mutation((ctx) => app.pool.cancelAll(ctx, { limit: LIMIT }));
      await app.driveOut();
      expect((await canceled(app)) - canceledBefore).toBe(left);
      expect(await app.leftovers()).toEqual(NOTHING_LEFT);
      expectWithinLimits(app, { documents: 6 * LIMIT, bytes: 1 << 20 });
      const pages = app.counter.totals((call) => call.name === "cancelAll:nextPage").executions;
      expect(pages).toBe(Math.floor(left / LIMIT));
    },
  );
});
