/** @module-tag large */
import { Deployment, S16, S256 } from "@stepwise/testing";
import { v } from "convex/values";
import { describe, expect, test } from "vitest";
import { enqueueSettling, type WorkId, Workpool } from "../src/client/index.js";
import { modules as poolModules, schema as poolSchema } from "../src/test.js";
import { components, internal } from "./convex/_generated/api.js";
import { internalMutation } from "./convex/_generated/server.js";
import schema from "./convex/schema.js";

/*
 * Works in carriers: on the smallest class, where a pool has more slots than the scheduler has
 * places.
 */

const retry = { maxAttempts: 3, initialBackoffMs: 100, base: 2 };
const onComplete = internal.callbacks.ended;
const pool = new Workpool(components.workpool, { maxParallelism: 20, logLevel: "ERROR" });
const calls = {
  sleep: internalMutation({
    args: { count: v.number(), ms: v.number() },
    handler: async (ctx, { count, ms }) => {
      const args = Array.from({ length: count }, (_, i) => ({ label: `${i}`, ms }));
      return await pool.enqueueActionBatch(ctx, internal.jobs.sleep, args, { retry, onComplete });
    },
  }),
  settling: internalMutation({
    args: {
      how: v.string(),
      ms: v.number(),
      timeoutMs: v.optional(v.number()),
      maxParallelism: v.optional(v.number()),
    },
    handler: async (ctx, { timeoutMs, maxParallelism, ...args }) => {
      const act = internal.settlers.act as any;
      const label = args.how;
      await enqueueSettling(components.workpool, ctx, "action", act, [{ ...args, label }], {
        timeoutMs,
        maxParallelism,
        onComplete,
      });
    },
  }),
  recordIn: internalMutation({
    args: { what: v.string(), ms: v.number() },
    handler: async (ctx, { what, ms }) =>
      void (await ctx.scheduler.runAfter(ms, internal.jobs.record, { what, label: what })),
  }),
  cancel: internalMutation({
    args: { id: v.string() },
    handler: async (ctx, { id }) => await pool.cancel(ctx, id as WorkId),
  }),
};
const modules = {
  "./convex/_generated/api.js": () => import("./convex/_generated/api.js"),
  "./convex/callbacks.js": () => import("./convex/callbacks.js"),
  "./convex/calls.js": async () => calls,
  "./convex/jobs.js": () => import("./convex/jobs.js"),
  "./convex/settlers.js": () => import("./convex/settlers.js"),
};

interface Event {
  readonly what: string;
  readonly label: string;
  readonly at: number;
  readonly data?: any;
}

/** A deployment whose scheduler has so few places. */
async function deployed(places = 2, of = S16) {
  const parts = [
    { path: "", schema, modules },
    { path: "workpool", schema: poolSchema, modules: poolModules },
  ];
  const deployment = await Deployment.of(parts, { class: { ...of, scheduledAtOnce: places } });
  deployment.at(0, () => deployment.mutation("calls:sleep", { count: 0, ms: 0 }));
  await deployment.advance(1_000);
  const events = (what: string) =>
    deployment.rows<Event>("", "events").filter((event) => event.what === what);
  const started = new Map<string, number>();
  deployment.onHappening((event) => {
    if (event.what !== "started") return;
    started.set(event.path.name, (started.get(event.path.name) ?? 0) + 1);
  });
  return { deployment, events, started };
}

describe("where the scheduler has fewer places than the pool has slots", () => {
  test("two places run twelve works at once, each once", async () => {
    const { deployment, events } = await deployed();
    deployment.at(0, () => deployment.mutation("calls:sleep", { count: 12, ms: 10_000 }));
    await deployment.advance(6_000);
    expect(events("start")).toHaveLength(12);
    await deployment.drive();
    expect(events("start")).toHaveLength(12);
    expect(events("ended").map(({ label }) => label)).toEqual(Array(12).fill("success"));
  });

  test("a carrier that runs long takes a work that comes 20 s later", async () => {
    const { deployment, events } = await deployed(1);
    deployment.at(0, () => deployment.mutation("calls:sleep", { count: 1, ms: 60_000 }));
    deployment.at(20_000, () => deployment.mutation("calls:sleep", { count: 1, ms: 1_000 }));
    await deployment.advance(45_000);
    expect(events("ended")).toHaveLength(1);
  });

  test("a lone short work costs one execution more, and asks for no others", async () => {
    const { deployment, events, started } = await deployed(8);
    deployment.at(0, () => deployment.mutation("calls:sleep", { count: 1, ms: 500 }));
    const calls: string[] = [];
    deployment.onHappening((event) => {
      if (event.what === "committed") calls.push(event.path.name);
    });
    await deployment.drive();
    expect(events("ended")).toHaveLength(1);
    expect(started.get("watchdog:carry")).toBe(1);
    expect(calls).not.toContain("watchdog:take");
  });

  test("a carrier that dies loses nothing: each of its works is found, and tried again", async () => {
    const { deployment, events } = await deployed();
    deployment.at(0, () => deployment.mutation("calls:sleep", { count: 12, ms: 10_000 }));
    await deployment.advance(6_000);
    expect(events("start")).toHaveLength(12);
    deployment.crash();
    await deployment.drive();
    expect(events("start")).toHaveLength(24);
    expect(events("ended").map(({ label }) => label)).toEqual(Array(12).fill("success"));
  });

  test("actions of minutes that come one by one begin at once, as long as there are slots", async () => {
    const { deployment, events } = await deployed(8);
    const begin = deployment.clock.now();
    const came = (nth: number) => 2_000 * nth;
    const work = { how: "success", ms: 300_000, maxParallelism: 20 };
    for (let nth = 0; nth < 12; nth++) {
      const plain = () => deployment.mutation("calls:sleep", { count: 1, ms: 300_000 });
      const settling = () => deployment.mutation("calls:settling", work);
      deployment.at(came(nth), nth % 2 === 0 ? plain : settling);
    }
    await deployment.drive();
    const waits = events("start").map(({ at }, nth) => at - begin - came(2 * nth));
    expect(waits).toHaveLength(6);
    expect(Math.max(...waits)).toBeLessThan(5_000);
    expect(events("ended").map(({ label }) => label)).toEqual(Array(12).fill("success"));
  });

  test("a cancel of one carried work leaves the others alone", async () => {
    const { deployment, events } = await deployed();
    const ids: WorkId[] = [];
    const sleep = async () => {
      const args = { count: 1, ms: 10_000 };
      ids.push(...((await deployment.mutation("calls:sleep", args)) as WorkId[]));
    };
    for (let i = 0; i < 12; i++) deployment.at(300 * i, sleep);
    await deployment.advance(6_000);
    for (const id of ids.slice(0, 4))
      deployment.at(0, () => deployment.mutation("calls:cancel", { id }));
    await deployment.drive();
    expect(events("start")).toHaveLength(12);
    expect(events("end")).toHaveLength(12);
    const jobs = deployment.rows<{ name: string; state: { kind: string } }>(
      "workpool",
      "_scheduled_functions",
    );
    const carriers = jobs.filter(({ name }) => name === "watchdog:carry");
    // Those that had not begun; none that ran works.
    expect(carriers.filter(({ state }) => state.kind === "success")).toHaveLength(2);
    expect(carriers.filter(({ state }) => state.kind === "failed")).toHaveLength(0);
  });

  test("the timeout of a carried work counts from its own begin", async () => {
    const { deployment, events } = await deployed(3);
    const begin = deployment.clock.now();
    const sleep = (count: number, ms: number) =>
      deployment.at(0, () => deployment.mutation("calls:sleep", { count, ms }));
    sleep(1, 60_000);
    // They leave a place to the watchdog.
    sleep(2, 6_000);
    // A carrier takes them after 4 s: the first ends in time, the second has not reported after 25
    // s, nor 30 s later.
    for (const ms of [15_000, 300_000])
      deployment.at(2_500, () =>
        deployment.mutation("calls:settling", { how: "slow", ms, timeoutMs: 20_000 }),
      );
    await deployment.advance(100_000);
    const ends = events("ended").map(({ label, at }) => [label, Math.round((at - begin) / 1_000)]);
    expect(ends).toEqual([
      ["success", 6],
      ["success", 6],
      ["success", 18],
      ["failed", expect.closeTo(60, -1)],
      ["success", 60],
    ]);
  });

  test("a carried work that throws is told of at once, while others of its carrier go on", async () => {
    const { deployment, events } = await deployed(1);
    const begin = deployment.clock.now();
    for (const at of [0, 300])
      deployment.at(at, () => deployment.mutation("calls:sleep", { count: 1, ms: 60_000 }));
    deployment.at(500, () => deployment.mutation("calls:settling", { how: "throws", ms: 1_000 }));
    await deployment.advance(4_000);
    const [ended] = events("ended");
    expect(ended?.data.result.error).toMatch(/failed: .*it threw before it settled/);
    expect(ended!.at - begin).toBeLessThan(4_000);
    await deployment.drive();
    expect(events("ended")).toHaveLength(3);
    expect(events("start")).toHaveLength(2);
  });
});

test("the default parallelism leaves places: with ten actions of nine minutes, what the app wants in a minute begins then", async () => {
  const { deployment, events } = await deployed(8);
  const work = { how: "success", ms: 540_000, timeoutMs: 580_000 };
  const begin = deployment.clock.now();
  for (let i = 0; i < 10; i++) deployment.at(i, () => deployment.mutation("calls:settling", work));
  deployment.at(0, () => deployment.mutation("calls:recordIn", { what: "woke", ms: 60_000 }));
  await deployment.advance(120_000);
  expect(events("woke").map(({ at }) => Math.floor((at - begin) / 1_000))).toEqual([60]);
  await deployment.drive();
  expect(events("ended").map(({ label }) => label)).toEqual(Array(10).fill("success"));
});

describe("an action that begins late is not taken for lost: on 8 places, each runs once", () => {
  // On the smallest class carriers take works over; elsewhere each waits for a place of its own.
  const scenes = [
    ["ten at once, in carriers", S16, 10],
    ["ten at once", S256, 10],
    ["thirty, of which twenty are handed a slot, in carriers", S16, 30],
    ["thirty, of which twenty are handed a slot", S256, 30],
  ] as const;
  test.each(scenes)("%s", async (_, of, count) => {
    const { deployment, events } = await deployed(8, of);
    for (let i = 0; i < count; i++)
      deployment.at(i, () =>
        deployment.mutation("calls:settling", {
          how: "success",
          ms: 20_000,
          timeoutMs: 30_000,
          maxParallelism: 10,
        }),
      );
    await deployment.drive();
    expect(events("settled").map(({ data }) => data)).toEqual(Array(count).fill(1));
    expect(events("stale")).toEqual([]);
    expect(events("ended").map(({ label }) => label)).toEqual(Array(count).fill("success"));
  });
});
