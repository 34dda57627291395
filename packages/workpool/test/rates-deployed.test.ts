/** @module-tag large */
import { Deployment, S256, textOf } from "@stepwise/testing";
import { v } from "convex/values";
import { expect, test } from "vitest";
import { type Limits, Workpool } from "../src/client/index.js";
import { modules as poolModules, schema as poolSchema } from "../src/test.js";
import { components, internal } from "./convex/_generated/api.js";
import { internalMutation } from "./convex/_generated/server.js";
import schema from "./convex/schema.js";

/* Rates where transactions run at once, on a simulated deployment. */

/** A deployment whose pool has a rate of so many a second. It counts starts at each commit. */
async function deployed(perSecond: number, burst: number, limits: Limits = {}) {
  const rate = { limit: perSecond, per: "1s", burst };
  const pool = new Workpool<Limits>(components.workpool, {
    maxParallelism: 100,
    logLevel: "ERROR",
    limits: { ...limits, api: { rate, ...limits["api"] } },
  });
  const calls = {
    wait: internalMutation({
      args: { ms: v.number(), count: v.number(), tenant: v.optional(v.string()) },
      handler: async (ctx, { ms, count, tenant }) => {
        const argsList = Array.from({ length: count }, () => ({ ms }));
        const keys = tenant === undefined ? undefined : { tenant };
        const options = { limits: { api: true as const, ...keys } };
        await (count === 1
          ? pool.enqueueAction(ctx, internal.jobs.wait, { ms }, options)
          : pool.enqueueActionBatch(ctx, internal.jobs.wait, argsList, options));
      },
    }),
  };
  const modules = {
    "./convex/_generated/api.js": () => import("./convex/_generated/api.js"),
    "./convex/calls.js": async () => calls,
    "./convex/jobs.js": () => import("./convex/jobs.js"),
  };
  const parts = [
    { path: "", schema, modules },
    { path: "workpool", schema: poolSchema, modules: poolModules },
  ];
  const deployment = await Deployment.of(parts, { class: S256 });
  const starts: number[] = [];
  const problems: string[] = [];
  const running = new Set<string>();
  // The same, by other means: how many there are left, as time and starts make them.
  let [left, since] = [burst, 0];
  deployment.onCommit(({ writes }) => {
    const now = deployment.clock.now();
    for (const { table, old, next } of writes) {
      if (table.path !== "workpool/slots") continue;
      const [had, has] = [old?.["work"], next?.["work"]] as (string | undefined)[];
      if (had !== undefined) running.delete(had);
      if (has === undefined || running.has(has)) continue;
      running.add(has);
      if (has === had) continue;
      left = Math.min(burst, left + ((now - since) * perSecond) / 1_000) - 1;
      since = now;
      starts.push(now);
      // The time of a transaction is up to some ms before that of its commit.
      if (left < -0.5 - perSecond / 10) problems.push(`${starts.length} starts: ${left} are left`);
    }
    for (const { table, next } of writes) {
      if (table.path !== "workpool/buckets" || next === undefined) continue;
      const { taken, at } = next as unknown as { taken: number; at: number };
      const stored = Math.max(0, taken - ((now - at) * perSecond) / 1_000);
      const spent = burst - Math.min(burst, left + ((now - since) * perSecond) / 1_000);
      if (Math.abs(stored - spent) > 1 + perSecond / 10)
        problems.push(`the bucket says ${stored} are taken, and ${spent} are`);
    }
  });
  const conflicts = { calls: 0, ends: 0, releases: 0 };
  deployment.onHappening((event) => {
    if (event.what === "conflict" && textOf(event.path) === "calls:wait") conflicts.calls += 1;
    if (event.what === "conflict" && event.path.name.startsWith("complete:")) conflicts.ends += 1;
    if (event.what === "committed" && textOf(event.path).endsWith("releaseRate"))
      conflicts.releases += 1;
  });
  const enqueue = (at: number, count = 1, ms = 50, tenant?: string): void =>
    void deployment.at(at, () => deployment.mutation("calls:wait", { ms, count, tenant }));
  const leftOver = () =>
    ["works", "waiting", "limited", "lines", "permits"].flatMap((table) =>
      deployment.rows("workpool", table),
    );
  return { deployment, enqueue, starts, problems, conflicts, leftOver };
}

test.each([
  [10, 105, 100],
  [100, 10.5, 200],
])(
  "[S217] enqueues at a rate of %d/s that they keep just below conflict with few",
  async (perSecond, everyMs, count) => {
    const { deployment, enqueue, starts, problems, conflicts, leftOver } = await deployed(
      perSecond,
      perSecond,
    );
    for (let n = 0; n < count; n++) enqueue(n * everyMs);
    await deployment.drive();
    expect(starts).toHaveLength(count);
    expect(problems).toEqual([]);
    expect(conflicts.calls).toBeLessThan(count / 4);
    expect(leftOver()).toEqual([]);
  },
);

test.each([120])(
  "[S216] rate 10/s with %d that wait: at no commit more than it allows, in time, by four functions a second",
  async (count) => {
    const { deployment, enqueue, starts, problems, conflicts, leftOver } = await deployed(10, 10);
    enqueue(0, count);
    await deployment.drive();
    expect(starts).toHaveLength(count);
    expect(problems).toEqual([]);
    const tookMs = starts.at(-1)! - starts[0]!;
    expect(tookMs).toBeLessThan(((count - 10) / 10) * 1_000 + 500);
    expect(conflicts.releases).toBeLessThan((4 * tookMs) / 1_000 + 4);
    expect(leftOver()).toEqual([]);
  },
);

test.each([
  [2, 10],
  [5, 10],
  [5, 60],
  [10, 200],
])(
  "[S187] beside a total of %d, a rate that never runs out costs works of %d ms no time",
  async (total, ms) => {
    const tookMs = async (rate: Limits[string]) => {
      const { deployment, enqueue, starts, leftOver } = await deployed(1_000, 1_000, {
        api: { total, ...rate },
      });
      enqueue(0, 60, ms);
      await deployment.drive();
      expect(starts).toHaveLength(60);
      expect(leftOver()).toEqual([]);
      return starts.at(-1)! - starts[0]!;
    };
    // It was up to three times as long: each start kept the next ones back for a round of the rate.
    expect(await tookMs({})).toBeLessThan(1.1 * (await tookMs({ rate: undefined })));
  },
);

test("[S217] ends of many keys at a rate that they share conflict with few, and have no enqueue refused", async () => {
  const limits = { tenant: { perKey: 2 } };
  const { deployment, enqueue, starts, conflicts, leftOver } = await deployed(5_000, 5_000, limits);
  for (let n = 0; n < 30; n++) enqueue(30 * n, 10, 100, `t${n}`);
  await deployment.drive();
  expect(starts).toHaveLength(300);
  // That two of each key run at once says nothing of how many take of the rate.
  expect(conflicts.ends).toBeLessThan(30);
  expect(leftOver()).toEqual([]);
});
