/** @module-tag large */
import { expect, test } from "vitest";
import { type EnqueueOptions, Workpool } from "../src/client/index.js";
import { NOTHING_LEFT, TestApp, virtualTime } from "./app.js";
import { components, internal } from "./convex/_generated/api.js";

virtualTime();

type Options = Pick<EnqueueOptions, "priority" | "limits" | "runAfter">;

/** A pool of one slot, or one with a key that one work has at a time. */
function ordered(maxParallelism: number) {
  const app = new TestApp();
  const limits = { tenant: { perKey: 1 } };
  const pool = new Workpool(components.workpool, { maxParallelism, limits });
  const { sleep } = internal.jobs;
  const enqueue = (label: string, options: Options = {}, ms = 5_000) =>
    app.t.mutation(
      async (ctx) => await pool.enqueueAction(ctx, sleep, { label, ms }, options as object),
    );
  /** The works in the order in which their attempts have begun. */
  const begun = async () =>
    (await app.events()).flatMap(({ what, label }) => (what === "end" ? [] : [label]));
  return { app, pool, enqueue, begun };
}

test.each([
  ["a slot", 1, {}],
  ["a key of a limit", 10, { limits: { tenant: "a" } }],
])(
  "[S210] a work with a priority goes as if it had come that much earlier, of those that wait for %s",
  async (_for, slots, options) => {
    const { app, enqueue, begun } = ordered(slots);
    for (const label of ["runs", "first", "second"]) await enqueue(label, options);
    await app.drive(1_000);
    await enqueue("little", { ...options, priority: 500 });
    await enqueue("urgent", { ...options, priority: 30_000 });
    await enqueue("none", { ...options, priority: 0 });
    await enqueue("later", { ...options, priority: 30_000, runAfter: 2_000 });
    await app.drive();
    expect(await begun()).toEqual("runs urgent later first second little none".split(" "));
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  },
);

test("[S188] a work that goes from the line of its limit to the queue has its place there, too", async () => {
  const { app, enqueue, begun } = ordered(1);
  const limited = { limits: { tenant: "a" } };
  await enqueue("runs", limited);
  await enqueue("first");
  await enqueue("next", limited);
  for (const label of ["second", "third"]) await enqueue(label);
  await app.drive();
  expect(await begun()).toEqual("runs first next second third".split(" "));
});

test("[S210] a later attempt has the place of the first, with its priority", async () => {
  const { app, pool, enqueue, begun } = ordered(1);
  const retry = { maxAttempts: 2, initialBackoffMs: 8_000, base: 1 };
  const fails = async (label: string, priority: number) =>
    await app.t.mutation(
      async (ctx) =>
        await pool.enqueueAction(
          ctx,
          internal.jobs.flaky,
          { label, succeedsAt: 2, ms: 100 },
          { retry, priority },
        ),
    );
  await fails("early", 0);
  await fails("urgent", 30_000);
  await enqueue("long", {}, 20_000);
  await enqueue("late");
  await app.drive();
  expect(await begun()).toEqual("early urgent long urgent early late".split(" "));
});
