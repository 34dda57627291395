/** @module-tag large */
import { Deployment, type Faults, S256, textOf } from "@stepwise/testing";
import { type Infer, v } from "convex/values";
import { describe, expect, test } from "vitest";
import { Workpool } from "../src/client/index.js";
import { limitOf } from "../src/core/index.js";
import { modules as poolModules, schema as poolSchema } from "../src/test.js";
import { components, internal } from "./convex/_generated/api.js";
import { internalMutation } from "./convex/_generated/server.js";
import schema from "./convex/schema.js";

/* Limits where transactions run at once, on a simulated deployment. */

const limits = {
  tenant: { perKey: 2 },
  orders: { perKey: 1, maxWaiting: 100 },
  api: { total: 6 },
  lone: { total: 1 },
  calls: { rate: { limit: 1_000, per: "1s" as const } },
};
const vKeys = v.object({
  tenant: v.optional(v.string()),
  orders: v.optional(v.string()),
  api: v.optional(v.literal(true)),
  lone: v.optional(v.literal(true)),
  calls: v.optional(v.literal(true)),
});
type Keys = Infer<typeof vKeys>;
type Limited = Parameters<typeof limitOf>[0];

/** A deployment whose pool has so many slots. It looks at what runs at each commit. */
async function deployed(maxParallelism: number, faults: Faults = {}) {
  const pool = new Workpool(components.workpool, { maxParallelism, logLevel: "ERROR", limits });
  const functions = {
    wait: internalMutation({
      args: {
        name: v.string(),
        ms: v.number(),
        limits: vKeys,
        waitAtMost: v.optional(v.number()),
      },
      handler: async (ctx, { ms, ...options }) => {
        const { name: context } = options;
        const all = { ...options, retry: true, onComplete: internal.callbacks.ended, context };
        return await pool.enqueueAction(ctx, internal.jobs.wait, { ms }, all);
      },
    }),
    pause: internalMutation({ args: {}, handler: (ctx) => pool.limits.pause(ctx, "calls") }),
    resume: internalMutation({ args: {}, handler: (ctx) => pool.limits.resume(ctx, "calls") }),
    steer: internalMutation({
      args: { tenant: v.string(), perKey: v.number(), total: v.number(), until: v.number() },
      handler: async (ctx, { tenant: key, perKey, total, until }) => {
        await pool.limits.override(ctx, "api", { total, until });
        if (perKey > 0) await pool.limits.override(ctx, "tenant", { key, perKey });
        else await pool.limits.pause(ctx, "tenant", { key, until });
      },
    }),
  };
  const modules = {
    "./convex/_generated/api.js": () => import("./convex/_generated/api.js"),
    "./convex/callbacks.js": () => import("./convex/callbacks.js"),
    "./convex/calls.js": async () => functions,
    "./convex/jobs.js": () => import("./convex/jobs.js"),
  };
  const parts = [
    { path: "", schema, modules },
    { path: "workpool", schema: poolSchema, modules: poolModules },
  ];
  const deployment = await Deployment.of(parts, { class: S256, faults });
  const works = new Map<string, { name: string; permits?: string[] }>();
  const asked = new Map<string, number>();
  const waits = new Map<string, number>();
  const over: string[] = [];
  const ran = new Set<string>();
  deployment.onCommit(({ writes }) => {
    for (const { table, next } of writes)
      if (table.component === "workpool" && table.name === "works" && next !== undefined)
        works.set(next._id as string, next as { name: string; permits?: string[] } & typeof next);
    const running = new Map<string, number>();
    const [gate] = deployment.rows<Limited>("workpool", "gate");
    const begun = new Set<string>();
    for (const { work = "" } of deployment.rows<{ work?: string }>("workpool", "slots")) {
      const { name = "", permits = [] } = works.get(work) ?? {};
      if (!ran.has(work)) for (const permit of permits) begun.add(permit);
      ran.add(work);
      if (asked.has(name) && !waits.has(name))
        waits.set(name, deployment.clock.now() - asked.get(name)!);
      for (const permit of permits) running.set(permit, (running.get(permit) ?? 0) + 1);
    }
    for (const [permit, count] of running)
      // A lowered limit lets works run on, but none begins.
      if (begun.has(permit) && count > limitOf(gate ?? { limits }, permit))
        over.push(`${count} of ${permit}`);
  });
  const conflicts = { calls: 0 };
  let executions = 0;
  deployment.onHappening((event) => {
    if (event.what === "conflict" && textOf(event.path) === "calls:wait") conflicts.calls += 1;
    // What calls it is not counted.
    const isCall = event.what === "began" || event.what === "committed";
    if (isCall && event.path.component + event.path.name !== "calls:wait") executions += 1;
  });
  const enqueue = (at: number, name: string, limits: Keys, ms: number, waitAtMost?: number): void =>
    void deployment.at(at, () => {
      asked.set(name, deployment.clock.now());
      return deployment.mutation("calls:wait", { name, ms, limits, waitAtMost });
    });
  /** How long works waited whose name begins so, the longest wait last. */
  const waitsOf = (like: string) =>
    [...waits]
      .flatMap(([name, ms]) => (name.startsWith(like) ? [ms] : []))
      .toSorted((a, b) => a - b);
  const left = () =>
    ["works", "waiting", "limited", "lines", "permits"].flatMap((table) =>
      deployment.rows("workpool", table),
    );
  const calls = () => executions;
  return { deployment, enqueue, waits, waitsOf, over, conflicts, left, calls };
}

describe("limits where transactions run at once", () => {
  test("[S186] 30 enqueues of one moment, with limits that cross: none is refused, and at no commit do more run than each allows", async () => {
    const { deployment, enqueue, waits, over, conflicts, left } = await deployed(12);
    for (let n = 0; n < 30; n++) {
      const tenant = `t${n % 4}`;
      const api = n % 3 === 0 ? undefined : (true as const);
      enqueue(0, `${n}`, n % 5 === 0 ? { orders: "o", api } : { tenant, api }, 50);
    }
    await deployment.drive();
    expect(waits.size).toBe(30);
    expect(over).toEqual([]);
    expect(left()).toEqual([]);
    expect(conflicts.calls).toBeLessThan(3 * 30);
  });

  test(
    "[S198] overrides and pauses while works start and end: at no commit does one begin beyond what holds then",
    { tags: ["large"] },
    async () => {
      const { deployment, enqueue, waits, over, left } = await deployed(12);
      for (let n = 0; n < 48; n++)
        enqueue(30 * n, `${n}`, { tenant: `t${n % 3}`, api: n % 4 === 0 ? undefined : true }, 120);
      for (let n = 0; n < 8; n++) {
        const steered = { tenant: `t${n % 3}`, perKey: (n * 5) % 4, total: 1 + ((n * 3) % 7) };
        deployment.at(10 + 200 * n, () => {
          const until = deployment.clock.now() + 500;
          return deployment.mutation("calls:steer", { ...steered, until });
        });
      }
      await deployment.drive();
      // Each pause has ended by itself.
      expect(waits.size).toBe(48);
      expect(over).toEqual([]);
      expect(left()).toEqual([]);
    },
  );

  test("[S184] works that wait at most for as long as others take, by turns: each begins or fails, once, and nothing is left", async () => {
    const { deployment, enqueue, waits, over, left } = await deployed(4);
    for (let n = 0; n < 24; n++)
      enqueue(n % 4, `${n}`, n % 3 === 0 ? {} : { tenant: `t${n % 2}` }, 50, 50 * (1 + (n % 5)));
    await deployment.drive();
    const ended = deployment
      .rows<{ label: string; data: { context: string } }>("", "events")
      .map(({ label, data }) => [data.context, label] as const);
    expect(ended.map(([name]) => name).toSorted()).toEqual(
      Array.from({ length: 24 }, (_, n) => String(n)).toSorted(),
    );
    const failed = ended.filter(([, label]) => label === "failed").map(([name]) => name);
    expect(failed.length).toBeGreaterThan(5);
    expect(failed.filter((name) => waits.has(name))).toEqual([]);
    expect(waits.size).toBe(24 - failed.length);
    expect(over).toEqual([]);
    expect(left()).toEqual([]);
    const jobs = deployment.rows<{ name: string; state: { kind: string } }>(
      "workpool",
      "_scheduled_functions",
    );
    expect(jobs.filter(({ state }) => state.kind === "pending")).toEqual([]);
  });

  test("[S187] works of other keys, and works without, start beside a flood of one key as if it were not there", async () => {
    const { deployment, enqueue, waitsOf, over, left } = await deployed(8);
    for (let n = 0; n < 40; n++) enqueue(n, `flood${n}`, { tenant: "flood", api: true }, 100);
    for (let n = 0; n < 8; n++) {
      enqueue(100 + 70 * n, `small${n}`, { tenant: `t${n}`, api: true }, 100);
      enqueue(100 + 70 * n, `free${n}`, {}, 100);
    }
    await deployment.drive();
    expect(waitsOf("flood")).toHaveLength(40);
    expect([...waitsOf("small"), ...waitsOf("free")]).toHaveLength(16);
    expect(waitsOf("small").at(-1)).toBeLessThan(200);
    expect(waitsOf("free").at(-1)).toBeLessThan(200);
    expect(over).toEqual([]);
    expect(left()).toEqual([]);
  });

  test("[S198] lines of one creation time, as after the clock was put back, all go on after a pause", async () => {
    const { deployment, enqueue, waits, left } = await deployed(10);
    enqueue(0, "first", { calls: true }, 100);
    await deployment.drive();
    deployment.at(0, () => deployment.mutation("calls:pause"));
    await deployment.advance(1_000);
    deployment.jump(-3_600_000);
    for (let n = 0; n < 6; n++) enqueue(100 * n, `${n}`, { tenant: `${n}`, calls: true }, 100);
    await deployment.advance(5_000);
    const made = deployment.rows<{ _creationTime: number }>("workpool", "lines");
    expect(new Set(made.map(({ _creationTime }) => _creationTime)).size).toBeLessThan(made.length);
    deployment.at(0, () => deployment.mutation("calls:resume"));
    await deployment.advance(2_000);
    expect(waits.size).toBe(7);
    expect(left()).toEqual([]);
  });

  test("[S188] a hot key of one at a time keeps its order, and its enqueues conflict with nobody", async () => {
    const { deployment, enqueue, waits, over, conflicts } = await deployed(50);
    for (let n = 0; n < 40; n++) enqueue(50 * n, `${n}`, { orders: "acme" }, 30);
    await deployment.drive();
    expect([...waits.keys()]).toEqual(Array.from({ length: 40 }, (_, n) => `${n}`));
    expect(over).toEqual([]);
    expect(conflicts.calls).toBe(0);
  });

  test("[S186] enqueues whose limit is reached conflict with no end of that moment", async () => {
    const { deployment, enqueue, waits, over, conflicts, left } = await deployed(50);
    for (let n = 0; n < 6; n++) enqueue(60 * n, `first${n}`, { api: true }, 1_000 - 50 * n);
    for (let n = 0; n < 20; n++)
      enqueue(1_000 + 10 * n, `${n}`, { api: true, tenant: `t${n}` }, 50);
    await deployment.advance(950);
    const before = conflicts.calls;
    await deployment.drive();
    expect(waits.size).toBe(26);
    expect(over).toEqual([]);
    expect(left()).toEqual([]);
    expect(conflicts.calls).toBe(before);
  });

  test("[S190] a work that begins to wait as the last one of its limit ends goes on at once", async () => {
    const { deployment, enqueue, waitsOf, left } = await deployed(50);
    for (let n = 0; n < 60; n++) {
      enqueue(2_000 * n, `runs ${n}`, { lone: true }, 100);
      // At another moment of its end each time.
      enqueue(2_000 * n + 100 + 2 * n, `waits ${n}`, { lone: true }, 10);
    }
    await deployment.drive();
    // The watchdog comes later.
    expect(waitsOf("runs").at(-1)).toBeLessThan(500);
    expect(waitsOf("waits").at(-1)).toBeLessThan(500);
    expect(left()).toEqual([]);
  });

  test("[S208] enqueues of one moment that count who waits conflict with nobody", async () => {
    const { deployment, enqueue, waits, over, conflicts } = await deployed(50);
    for (let n = 0; n < 2; n++) enqueue(90 * n, `first${n}`, { orders: "acme" }, 500);
    for (let n = 0; n < 20; n++) enqueue(200, `${n}`, { orders: "acme" }, 1);
    await deployment.drive();
    expect(waits.size).toBe(22);
    expect(over).toEqual([]);
    expect(conflicts.calls).toBe(0);
  });

  test(
    "[S187] a limit above the slots of the pool costs it little of its speed",
    { tags: ["large"] },
    async () => {
      const { deployment, enqueue, waitsOf, over, left } = await deployed(6);
      for (let n = 0; n < 120; n++) enqueue(n, `${n}`, { api: true }, 100);
      await deployment.drive();
      expect(waitsOf("")).toHaveLength(120);
      expect(over).toEqual([]);
      expect(left()).toEqual([]);
      expect(waitsOf("").at(-1)!).toBeLessThan(2 * 120 * (100 / 6));
    },
  );

  test("[S187] works without limits get slots beside lines that could fill the pool", async () => {
    const { deployment, enqueue, waits, waitsOf, left } = await deployed(2);
    for (let n = 0; n < 40; n++) enqueue(n, `${n}`, { orders: `o${n % 2}` }, 300);
    for (let n = 0; n < 8; n++) enqueue(500, `free ${n}`, {}, 300);
    await deployment.drive();
    expect(waits.size).toBe(48);
    expect(left()).toEqual([]);
    // The lines alone take 6 s.
    expect(waitsOf("free")[4]!).toBeLessThan(4_500);
  });

  test("[S156] works that begin together, as a pause ends, share a function as long as others wait for their limit", async () => {
    const { deployment, enqueue, waits, over, left, calls } = await deployed(10);
    deployment.at(0, () => {
      const until = deployment.clock.now() + 1_000;
      const steered = { tenant: "a", perKey: 0, total: 6, until };
      return deployment.mutation("calls:steer", steered);
    });
    for (let n = 0; n < 40; n++) enqueue(500 + n, `${n}`, { tenant: "a" }, 1_000);
    await deployment.drive();
    expect(waits.size).toBe(40);
    expect(over).toEqual([]);
    expect(left()).toEqual([]);
    // Two run at once. They take 3 calls each in functions of their own, and 2 if each is reported.
    expect(calls()).toBeLessThan(1.7 * 40);
  });

  test(
    "[S156] short works of many keys share a function, in which others follow them",
    { tags: ["large"] },
    async () => {
      const { deployment, enqueue, waits, over, left, calls } = await deployed(50);
      for (let n = 0; n < 200; n++) enqueue(n, `${n}`, { orders: `o${n % 20}` }, 10);
      await deployment.drive();
      expect(waits.size).toBe(200);
      expect(over).toEqual([]);
      expect(left()).toEqual([]);
      expect(calls()).toBeLessThan(1.6 * 200);
    },
  );

  test.each(["dies at start", "dies before report", "dies after report"] as const)(
    "[S156] [S190] if that function %s, its works are tried again, and none waits for ever",
    async (fault) => {
      let deaths = 0;
      const { deployment, enqueue, waits, over, left } = await deployed(50, {
        action: ({ name }) => (name === "executor:execute" && deaths++ === 0 ? fault : undefined),
      });
      for (let n = 0; n < 60; n++) enqueue(n, `${n}`, { orders: `o${n % 20}` }, 10);
      await deployment.drive();
      expect(deaths).toBeGreaterThan(0);
      expect(waits.size).toBe(60);
      expect(over).toEqual([]);
      expect(left()).toEqual([]);
    },
  );
});
