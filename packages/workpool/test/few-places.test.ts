import { Deployment, S16, S256 } from "@stepwise/testing";
import { v } from "convex/values";
import { describe, expect, test } from "vitest";
import { enqueueSettling, type WorkId, Workpool } from "../src/client/index.js";
import { modules as poolModules, schema as poolSchema } from "../src/test.js";
import { components, internal } from "./convex/_generated/api.js";
import { internalMutation } from "./convex/_generated/server.js";
import schema from "./convex/schema.js";

/* On the smallest class a pool has more slots than the scheduler has places. */

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
async function deployed(places: number, of = S16) {
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
  test("eight places run twenty works at once, each once", async () => {
    const { deployment, events } = await deployed(8);
    deployment.at(0, () => deployment.mutation("calls:sleep", { count: 20, ms: 10_000 }));
    await deployment.advance(6_000);
    expect(events("start")).toHaveLength(20);
    await deployment.drive();
    expect(events("start")).toHaveLength(20);
    expect(events("ended").map(({ label }) => label)).toEqual(Array(20).fill("success"));
  });

  test("a lone work has a function of its own", async () => {
    const { deployment, events, started } = await deployed(8);
    deployment.at(0, () => deployment.mutation("calls:sleep", { count: 1, ms: 500 }));
    await deployment.drive();
    expect(events("ended")).toHaveLength(1);
    expect(started.get("worker:runAction")).toBe(1);
    expect(started.get("executor:execute")).toBeUndefined();
  });

  test("works that settle themselves wait for places, and each runs once", async () => {
    const { deployment, events } = await deployed(8);
    for (let i = 0; i < 20; i++)
      deployment.at(i, () =>
        deployment.mutation("calls:settling", {
          how: "success",
          ms: 10_000,
          timeoutMs: 12_000,
          maxParallelism: 20,
        }),
      );
    await deployment.drive();
    expect(events("settled").map(({ data }) => data)).toEqual(Array(20).fill(1));
    expect(events("ended").map(({ label }) => label)).toEqual(Array(20).fill("success"));
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
  const scenes = [
    ["ten at once, on the smallest class", S16, 10],
    ["ten at once", S256, 10],
    ["thirty, of which twenty are handed a slot, on the smallest class", S16, 30],
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
