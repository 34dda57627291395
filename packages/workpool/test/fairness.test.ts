import { expect, test, vi } from "vitest";
import { type EnqueueOptions, Workpool } from "../src/client/index.js";
import { fairFor } from "../src/core/index.js";
import { NOTHING_LEFT, TestApp, virtualTime } from "./app.js";
import { components, internal } from "./convex/_generated/api.js";
import { seeded } from "./seeded.js";

virtualTime();

function shared(maxParallelism: number) {
  const app = new TestApp();
  const limits = { exports: { total: 1 }, api: { rate: { limit: 2, per: 1_000, burst: 1 } } };
  const pool = new Workpool(components.workpool, { maxParallelism, limits });
  const { sleep } = internal.jobs;
  const enqueue = (
    label: string,
    options: Pick<EnqueueOptions, "fairness" | "limits" | "priority"> = {},
    ms = 5_000,
  ) =>
    app.t.mutation(
      async (ctx) => await pool.enqueueAction(ctx, sleep, { label, ms }, options as object),
    );
  return { app, enqueue, begun: async () => await app.labels("start") };
}

test("[S211] a slot goes to the key that holds the fewest, and ties go round; within a key the order stays", async () => {
  const { app, enqueue, begun } = shared(1);
  for (const label of ["a1", "a2", "a3", "a4"]) await enqueue(label, { fairness: { key: "a" } });
  await enqueue("b1", { fairness: { key: "b" } });
  await enqueue("none");
  await enqueue("b2", { fairness: { key: "b" }, priority: 30_000 });
  await app.drive();
  // The slot that becomes free counts for the key whose work has ended.
  expect(await begun()).toEqual("a1 b2 none a2 b1 a3 a4".split(" "));
  expect(await app.leftovers()).toEqual(NOTHING_LEFT);
});

test("[S211] whose turn it is gives way to who holds fewer", async () => {
  const { app, enqueue, begun } = shared(3);
  const of = (key: string) => ({ fairness: { key } });
  for (const label of ["a1", "a2"]) await enqueue(label, of("a"), 20_000);
  for (const label of ["b1", "b2", "b3"]) await enqueue(label, of("b"));
  await enqueue("a3", of("a"));
  await app.drive();
  // After the first of `b` the turn is with `a`, two of which run.
  expect(await begun()).toEqual("a1 a2 b1 b2 b3 a3".split(" "));
});

test("[S211] a key does not wait for all that others have enqueued before, or with a priority", async () => {
  const { app, enqueue, begun } = shared(1);
  for (const key of ["a", "b", "c"])
    for (let n = 0; n < 6; n++) await enqueue(key, { fairness: { key }, priority: 60_000 });
  await enqueue("late", { fairness: { key: "d" } });
  await app.drive();
  // One of each of the others, and the one that ran when it came.
  expect((await begun()).indexOf("late")).toBeLessThanOrEqual(4);
});

test.each(["exports", "api"])(
  "[S235] keys that wait for %s take turns, and within a key the order stays",
  async (limit) => {
    const { app, enqueue, begun } = shared(10);
    const limits = { [limit]: true as const };
    for (const key of ["a", "b", "c"])
      for (let n = 1; n <= 4; n++)
        await enqueue(`${key}${n}`, { limits, fairness: { key }, priority: 60_000 });
    await enqueue("late", { limits, fairness: { key: "d" } });
    await app.drive();
    expect((await begun()).indexOf("late")).toBeLessThanOrEqual(4);
    for (const key of ["a", "b", "c"])
      expect((await begun()).filter((label) => label.startsWith(key))).toEqual(
        [1, 2, 3, 4].map((n) => `${key}${n}`),
      );
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  },
);

test.each([
  ["exports", 100_000],
  ["api", 10_000],
])(
  "[S235] keys that wait for %s take turns by their weights",
  { tags: ["large"] },
  async (limit, ms) => {
    vi.spyOn(Math, "random").mockImplementation(seeded(1));
    const { app, enqueue, begun } = shared(12);
    const limits = { [limit]: true as const };
    const weights = { a: 1 / 3, b: 1, c: 3 };
    for (let n = 0; n < 16; n++)
      for (const [key, weight] of Object.entries(weights))
        if (key === "c" || n < 8) await enqueue(key, { limits, fairness: { key, weight } });
    await app.drive(ms);
    const labels = await begun();
    const [a, b, c] = ["a", "b", "c"].map((key) => labels.filter((label) => label === key).length);
    expect(labels.length).toBeGreaterThan(18);
    // Of 20, these are 2, 5 and 14 at the mean.
    expect(b).toBeGreaterThanOrEqual(a!);
    expect(c).toBeGreaterThan(1.5 * b!);
  },
);

test("[S211] of slots that are shared each key gets as many as its weight says", async () => {
  const { app, enqueue, begun } = shared(8);
  await enqueue("first");
  for (let n = 0; n < 24; n++) await enqueue("a", { fairness: { key: "a" } });
  for (let n = 0; n < 24; n++) await enqueue("b", { fairness: { key: "b", weight: 3 } });
  await app.drive(22_000);
  const seen = (await begun()).slice(9);
  expect(seen.filter((label) => label === "b").length).toBeGreaterThanOrEqual(
    2 * seen.filter((label) => label === "a").length,
  );
  await app.drive();
  expect(await begun()).toHaveLength(49);
});

test.each([
  ["no key", { key: "" }, /text of 1 to 256/],
  ["a key that is too long", { key: "k".repeat(257) }, /text of 1 to 256/],
  ["a key with half an emoji", { key: "\ud83d" }, /half a surrogate pair/],
  ["a weight that is too small", { key: "a", weight: 1 / 1_001 }, /from 0\.001 to 1000/],
  ["a weight that is too large", { key: "a", weight: 1_001 }, /from 0\.001 to 1000/],
  [
    "a weight in words",
    { key: "a", weight: "3" },
    /weight of fairness is "3": it must be a number/,
  ],
])("[S211] %s is refused", (_, fairness, message) => {
  expect(() => fairFor(fairness as { key: string; weight?: number })).toThrow(message);
});
