import { Counter, vitestTimers } from "@stepwise/testing";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { virtualTime } from "./app.js";
import { internal } from "./host/_generated/api.js";
import schema from "./host/schema.js";

virtualTime();

const modules = {
  "./host/_generated/api.js": () => import("./host/_generated/api.js"),
  "./host/chains.js": () => import("./host/chains.js"),
};
beforeAll(async () => {
  await Promise.all(Object.values(modules).map((load) => load()));
});

/**
 * The pool's core in a host of a few lines, whose works have successors as the steps of a workflow
 * do.
 */
async function testHost(maxParallelism: number) {
  const counter = new Counter();
  const t = counter.convexTest({ schema, modules, transactionLimits: true });
  await t.mutation(internal.chains.setMax, { maxParallelism });
  return {
    t,
    start: (chain: string, length: number, ms: number, permits?: string[]) =>
      t.mutation(internal.chains.start, { chain, link: 0, length, ms, permits }),
    drive: () => counter.drive({ timers: vitestTimers(vi) }),
    runs: () => t.run((ctx) => ctx.db.query("runs").collect()),
    state: () =>
      t.run(async (ctx) => ({
        open: (await ctx.db.query("gate").first())?.open,
        held: (await ctx.db.query("slots").collect()).filter((slot) => slot.work !== undefined)
          .length,
        waiting: (await ctx.db.query("waiting").collect()).length,
      })),
  };
}

describe("handing a slot over", () => {
  test("alone, a chain keeps its slot, and no time passes between its works", async () => {
    const host = await testHost(2);
    const startedAt = Date.now();
    await host.start("a", 30, 5);
    await host.drive();
    const runs = await host.runs();
    expect(runs.map((run) => run.link)).toEqual(Array.from({ length: 30 }, (_, i) => i));
    expect(new Set(runs.map((run) => run.slot)).size).toBe(1);
    expect(runs.at(-1)!.at - startedAt).toBeLessThanOrEqual(29 * 6);
    expect(await host.state()).toEqual({ open: true, held: 0, waiting: 0 });
  });

  test(
    "while others wait, a chain hands its slot on to itself at most 10 times in a row",
    { tags: ["large"] },
    async () => {
      const host = await testHost(1);
      await host.start("a", 40, 1);
      await host.start("b", 1, 1);
      await host.start("c", 40, 1);
      await host.drive();
      const order = (await host.runs()).map((run) => run.chain).join("");
      // 11 works: the first, and 10 it was handed on to; then "a" queues behind the others.
      expect(order.slice(0, 34)).toBe("a".repeat(11) + "b" + "c".repeat(11) + "a".repeat(11));
      expect(order).toHaveLength(81);
      expect(await host.state()).toEqual({ open: true, held: 0, waiting: 0 });
    },
  );

  test("while others wait, a chain holds its slot for at most 2 s of hand-overs", async () => {
    const host = await testHost(1);
    await host.start("a", 6, 900);
    await host.start("b", 1, 1);
    await host.drive();
    // After 0.9 s and 1.8 s the slot is handed on; after 2.7 s it is not.
    expect((await host.runs()).map((run) => run.chain).join("")).toBe("aaabaaa");
  });

  test("a successor that must queue runs when nobody else waits any more", async () => {
    const host = await testHost(1);
    await host.start("a", 12, 300);
    await host.drive();
    expect(await host.runs()).toHaveLength(12);
    expect(await host.state()).toEqual({ open: true, held: 0, waiting: 0 });
  });

  /* Seed 300 of the profile `limits`: it took its slot without the permit. */
  test("[S186] a successor that must queue, but that nobody is before, waits for its limit", async () => {
    const host = await testHost(3);
    await host.t.mutation(internal.chains.setTotals, { limits: { one: { total: 1 } } });
    await host.start("a", 2, 3_000, ["one"]);
    await host.start("b", 2, 3_010, ["one"]);
    await host.start("busy", 1, 2_950);
    // It closes the gate, and soon starts.
    setTimeout(() => void host.start("c", 1, 10), 2_900);
    const startedAt = Date.now();
    await host.drive();
    const seconds = (await host.runs()).filter(({ link }) => link === 1);
    expect(seconds.map(({ chain }) => chain)).toEqual(["a", "b"]);
    expect(seconds[1]!.at - startedAt).toBeGreaterThanOrEqual(6_000);
    expect(await host.t.run((ctx) => ctx.db.query("permits").collect())).toEqual([]);
    expect(await host.state()).toEqual({ open: true, held: 0, waiting: 0 });
  });

  test("a chain whose slot was taken away by a lowered maxParallelism goes on in another", async () => {
    const host = await testHost(3);
    for (const chain of ["a", "b", "c"]) await host.start(chain, 20, 10);
    setTimeout(() => void host.t.mutation(internal.chains.setMax, { maxParallelism: 1 }), 55);
    await host.drive();
    const runs = await host.runs();
    expect(runs).toHaveLength(60);
    const slots = await host.t.run((ctx) => ctx.db.query("slots").collect());
    expect(slots.map((slot) => slot.number)).toEqual([0]);
    expect(await host.state()).toEqual({ open: true, held: 0, waiting: 0 });
  });

  test("a waiting work whose function is gone ends, and its slot goes to the next", async () => {
    const host = await testHost(1);
    await host.start("a", 1, 10);
    await host.t.mutation(internal.chains.startGone, { work: "gone" });
    await host.start("b", 1, 10);
    await host.drive();
    expect((await host.runs()).map((run) => run.chain)).toEqual(["a", "b"]);
    const gone = await host.t.run((ctx) => ctx.db.query("gone").collect());
    expect(gone.map((row) => row.work)).toEqual(["gone"]);
    expect(await host.state()).toEqual({ open: true, held: 0, waiting: 0 });
  });

  test("[S190] a waiting work whose function is gone gives back what it needs of a limit", async () => {
    const host = await testHost(1);
    await host.t.mutation(internal.chains.setTotals, { limits: { scarce: { total: 1 } } });
    await host.start("a", 1, 10);
    await host.t.mutation(internal.chains.startGone, { work: "gone", permits: ["scarce"] });
    await host.drive();
    expect(await host.t.run((ctx) => ctx.db.query("gone").collect())).toHaveLength(1);
    expect(await host.t.run((ctx) => ctx.db.query("permits").collect())).toEqual([]);
  });
});
