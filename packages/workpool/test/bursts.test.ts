import { Deployment, S256, textOf } from "@stepwise/testing";
import { anyApi } from "convex/server";
import { v } from "convex/values";
import { describe, expect, test } from "vitest";
import { Workpool } from "../src/client/index.js";
import { modules as poolModules, schema as poolSchema } from "../src/test.js";
import { mostAtOnce } from "./app.js";
import { components, internal } from "./convex/_generated/api.js";
import { internalMutation } from "./convex/_generated/server.js";
import schema from "./convex/schema.js";

/* Many enqueues of one moment, on a simulated deployment. */

const pool = new Workpool(components.workpool, { maxParallelism: 20, logLevel: "ERROR" });
const calls = {
  sleep: internalMutation({
    args: { label: v.string(), ms: v.number() },
    handler: async (ctx, args) => await pool.enqueueAction(ctx, internal.jobs.sleep, args),
  }),
  chain: internalMutation({
    args: {},
    handler: async (ctx) => {
      const args = { label: "first", ms: 10 };
      // The callback enqueues another work.
      const onComplete = anyApi["calls"]!["next"] as typeof internal.callbacks.ended;
      await pool.enqueueAction(ctx, internal.jobs.sleep, args, { onComplete });
    },
  }),
  next: pool.defineOnComplete({
    handler: async (ctx) =>
      void (await pool.enqueueAction(ctx, internal.jobs.sleep, { label: "second", ms: 10 })),
  }),
  /** Commits something of the app's own. */
  pass: internalMutation({
    args: {},
    handler: async (ctx) =>
      void (await ctx.db.insert("events", { what: "pass", label: "", at: 0 })),
  }),
};
const modules = {
  "./convex/_generated/api.js": () => import("./convex/_generated/api.js"),
  "./convex/calls.js": async () => calls,
  "./convex/jobs.js": () => import("./convex/jobs.js"),
};

interface Event {
  readonly what: string;
  readonly label: string;
  readonly at: number;
}

/** A deployment that runs so many mutations at once, and whose pool has run one work. */
async function deployed(mutationPermits: number) {
  const parts = [
    { path: "", schema, modules },
    { path: "workpool", schema: poolSchema, modules: poolModules },
  ];
  const deployment = await Deployment.of(parts, { class: { ...S256, mutationPermits } });
  deployment.at(0, () => deployment.mutation("calls:sleep", { label: "first", ms: 0 }));
  await deployment.drive();
  const begun = deployment.clock.now();
  const events = () => deployment.rows<Event>("", "events").filter(({ at }) => at > begun);
  const starts = () => events().filter(({ what }) => what === "start");
  return { deployment, events, starts };
}

/** How often enqueues have lost to others from now on. */
function conflictsOf(deployment: Deployment): () => number {
  let conflicts = 0;
  deployment.onHappening((event) => {
    if (event.what === "conflict" && textOf(event.path) === "calls:sleep") conflicts += 1;
  });
  return () => conflicts;
}

test("a work that a callback enqueues needs no drain, though its pool has just woken", async () => {
  const { deployment, starts } = await deployed(256);
  const ran: string[] = [];
  deployment.onHappening((event) => {
    if (event.what === "started") ran.push(textOf(event.path));
  });
  deployment.at(0, () => deployment.mutation("calls:chain"));
  await deployment.drive();
  expect(starts().map(({ label }) => label)).toEqual(["first", "second"]);
  expect(ran).not.toContain("workpool/watchdog:drainQueue");
});

describe("enqueues of one moment on an idle pool", () => {
  // All begin on a snapshot of the idle pool, and only one of them wakes it.
  test.each([
    ["all run at once: less than twice each", 256, 1.8],
    ["few run at once: less than three times each", 4, 3],
  ])(
    "100 lose to others, and then each runs once, if %s",
    { tags: ["large"] },
    async (_, mutationPermits, most) => {
      const { deployment, events, starts } = await deployed(mutationPermits);
      const conflicts = conflictsOf(deployment);
      for (let n = 0; n < 100; n++)
        deployment.at(0, () => deployment.mutation("calls:sleep", { label: `${n}`, ms: 200 }));
      await deployment.drive();
      expect(conflicts()).toBeLessThan(most * 100);
      expect(new Set(starts().map(({ label }) => label)).size).toBe(100);
      expect(starts()).toHaveLength(100);
      expect(mostAtOnce(events())).toBeLessThanOrEqual(20);
    },
  );

  /** Wakes the pool, and enqueues a second work while the first is 50 ms old. */
  async function enqueueTwo(deployment: Deployment) {
    deployment.at(0, () => deployment.mutation("calls:sleep", { label: "waker", ms: 5_000 }));
    deployment.at(50, () => deployment.mutation("calls:pass"));
    deployment.at(90, () => deployment.mutation("calls:sleep", { label: "soon", ms: 200 }));
  }

  test("one that comes just after another woke the pool is started by a drain, at once", async () => {
    const { deployment, starts } = await deployed(256);
    const begun = deployment.clock.now();
    const ran: string[] = [];
    deployment.onHappening((event) => {
      if (event.what === "started") ran.push(textOf(event.path));
    });
    await enqueueTwo(deployment);
    await deployment.drive();
    expect(starts().map(({ at }) => at - begun < 250)).toEqual([true, true]);
    expect(ran).toContain("workpool/watchdog:drainQueue");
  });

  test("its work runs though that drain is lost", async () => {
    const { deployment, starts } = await deployed(256);
    const jobs = { component: "workpool", name: "_scheduled_functions" };
    let lost = 0;
    deployment.onCommit(({ writes }) => {
      for (const { table, id, next } of writes) {
        const isDrain = table.name === jobs.name && /drainQueue/.test(JSON.stringify(next?.name));
        if (!isDrain || lost > 0) continue;
        lost += 1;
        deployment.edit(jobs, id, undefined);
      }
    });
    await enqueueTwo(deployment);
    await deployment.drive();
    expect(lost).toBe(1);
    expect(starts()).toHaveLength(2);
  });
});
