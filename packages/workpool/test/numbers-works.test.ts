import { expect, test } from "vitest";
import { newestAtMost } from "../src/component/cancelAll.js";
import { TestApp, virtualTime } from "./app.js";
import { components, internal } from "./convex/_generated/api.js";

/* What the numbers of the component are for: its works, and pages of them. */

virtualTime();

const { size } = internal.jobs;
const text = "x".repeat(20_000);

/** Works that wait, each with large arguments. */
async function waiting(count: number) {
  const app = new TestApp({ maxParallelism: 0 });
  await app.t.mutation((ctx) =>
    app.pool.enqueueActionBatch(
      ctx,
      size,
      Array.from({ length: count }, () => ({ text })),
    ),
  );
  return app;
}

test("the document of a work is small, though its arguments are not: pages read many", async () => {
  const app = await waiting(1);
  const works = await app.inPool((ctx) => ctx.db.query("works").collect());
  expect(works).toHaveLength(1);
  expect(JSON.stringify(works).length).toBeLessThan(10_000);
});

test("a work that cannot be canceled has few others canceled again", async () => {
  const app = await waiting(20);
  await app.inPool(async (ctx) => {
    const last = await ctx.db.query("largeValues").order("desc").first();
    await ctx.db.delete("largeValues", last!._id);
  });
  app.counter.clear();
  await app.t.mutation((ctx) => app.pool.cancelAll(ctx));
  await app.drive();
  expect(await app.leftovers()).toMatchObject({ works: 1, waiting: 0, setAside: 1 });
  const { executions } = app.counter.totals(({ name }) => name === "cancelAll:each");
  expect(executions).toBeLessThanOrEqual(10);
});

test("as many as 100 works that were set aside are listed at once", async () => {
  const app = new TestApp();
  await app.inPool(async (ctx) => {
    for (let n = 0; n < 120; n++)
      await ctx.db.insert("setAside", { work: `${n}`, error: "", at: Date.now() });
  });
  const list = await app.t.query((ctx) => ctx.runQuery(components.workpool.setAside.list, {}));
  expect(list).toHaveLength(100);
});

test("cancelAll reads works of this moment alone, and conflicts with no later enqueue", async () => {
  const app = await waiting(2);
  const now = Date.now();
  // It was called 30 ms ago.
  expect(await app.inPool((ctx) => newestAtMost(ctx, now - 30))).toBe(now - 30);
  expect(await app.inPool((ctx) => newestAtMost(ctx, now))).toBeGreaterThan(now);
});
