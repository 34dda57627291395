import { describe, expect, test } from "vitest";
import { type Limits, Workpool } from "../src/client/index.js";
import { NOTHING_LEFT, TestApp, virtualTime } from "./app.js";
import { components, internal } from "./convex/_generated/api.js";

/* What an operator says of limits while the app runs. */

virtualTime();

const limits = { tenant: { perKey: 1 }, exports: { total: 2 } };
const { sleep } = internal.jobs;

/** An app whose pool has limits, and works of `ms` each. */
function limited(ms = 1_000, slots = 10) {
  const app = new TestApp();
  const made = (defined: Limits, maxParallelism = slots) =>
    new Workpool<Limits>(components.workpool, { maxParallelism, limits: defined });
  const pool = made(limits);
  const enqueue = async (label: string, keys: object = {}, by = pool) =>
    await app.t.mutation((ctx) =>
      by.enqueueAction(ctx, sleep, { label, ms }, { limits: keys as never }),
    );
  const many = async (count: number, keys: object = {}) => {
    for (let n = 0; n < count; n++) await enqueue(`${n}`, keys);
    await app.drive(100);
  };
  const running = async () => (await app.leftovers())["heldSlots"];
  type Controls = typeof pool.limits;
  const say = async (what: (controls: Controls, ctx: never) => Promise<void>) => {
    await app.t.mutation((ctx) => what(pool.limits, ctx as never));
    await app.drive(100);
  };
  const get = async (name: string, key?: string) =>
    await app.t.query((ctx) => pool.limits.get(ctx, name, key === undefined ? {} : { key }));
  return { app, pool, made, enqueue, many, running, say, get };
}

test("[S199] a pause with an end at a fraction of a ms ends then, though nothing runs", async () => {
  const { app, enqueue, say } = limited(100);
  const until = Date.now() + 5_000.5;
  await say((controls, ctx) => controls.pause(ctx, "maxParallelism" as "exports", { until }));
  await enqueue("waits");
  await app.drive(5_500);
  expect(await app.labels("end")).toEqual(["waits"]);
  await app.drive();
  expect(await app.leftovers()).toEqual(NOTHING_LEFT);
});

describe("an override of a limit", () => {
  test("[S198] of all keys or of one holds beside what the code says, also of other numbers, until it is reset", async () => {
    const { app, made, enqueue, running, say } = limited();
    for (const key of ["a", "a", "a", "a", "b", "b", "b"]) await enqueue(key, { tenant: key });
    await app.drive(100);
    expect(await running()).toBe(2);
    await say((controls, ctx) => controls.override(ctx, "tenant", { perKey: 2 }));
    expect(await running()).toBe(4);
    await say((controls, ctx) => controls.override(ctx, "tenant", { key: "a", perKey: 3 }));
    expect(await running()).toBe(5);
    // A deploy with other numbers, or an enqueue with these, changes nothing.
    await enqueue("c", { tenant: "c" }, made({ ...limits, tenant: { perKey: 9 } }));
    await app.drive(100);
    expect(await running()).toBe(6);
    await say((controls, ctx) => controls.reset(ctx, "tenant", { key: "a" }));
    await say((controls, ctx) => controls.reset(ctx, "tenant"));
    expect(await running()).toBe(8);
    await app.drive();
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });

  test("[S198] that is lower lets works end, and starts none before there is room", async () => {
    const { app, many, running, say } = limited(1_000);
    await many(6, { exports: true });
    await say((controls, ctx) => controls.override(ctx, "exports", { total: 4 }));
    expect(await running()).toBe(4);
    await say((controls, ctx) => controls.override(ctx, "exports", { total: 1 }));
    expect(await running()).toBe(4);
    await app.drive(1_000);
    expect(await running()).toBe(1);
    await app.drive();
    expect(await app.labels("end")).toHaveLength(6);
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });

  test("[S199] ends at its time, and whoever waits begins, though nothing ends", async () => {
    const { app, many, running, say, get } = limited(600_000);
    await many(4, { exports: true });
    const until = Date.now() + 5_000;
    await say((controls, ctx) => controls.override(ctx, "exports", { total: 1, until }));
    await say((controls, ctx) => controls.pause(ctx, "tenant", { until: until + 5_000 }));
    await app.t.mutation((ctx) =>
      ctx.runMutation(components.workpool.config.update, {
        limits: { ...limits, exports: { total: 3 } },
      }),
    );
    await app.drive(4_000);
    expect(await running()).toBe(2);
    await app.drive(2_000);
    expect(await running()).toBe(3);
    expect(await get("exports")).toMatchObject({ total: 3, origin: "config" });
    expect((await get("tenant"))?.paused).toMatchObject({ until: until + 5_000 });
    await app.drive(5_000);
    expect((await get("tenant"))?.paused).toBeUndefined();
    await app.drive();
  });

  test("[S199] whose end was lost is ended by the watchdog", async () => {
    const { app, many, running, say } = limited(600_000);
    await many(3, { exports: true });
    await many(1, {});
    const until = Date.now() + 5_000;
    await say((controls, ctx) => controls.pause(ctx, "exports", { until }));
    await app.t.mutation((ctx) =>
      ctx.runMutation(components.workpool.config.update, { limits: { exports: { total: 3 } } }),
    );
    expect(await app.losePending("watchdog:endOverrides")).toBe(1);
    await app.drive(10_000);
    expect(await running()).toBe(3);
    await app.drive(60_000);
    expect(await running()).toBe(4);
    await app.drive();
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });

  test.each(["exports", "maxParallelism"] as const)(
    "[S199] of %s whose end was lost is ended though nothing runs",
    async (name) => {
      const { app, many, running, say } = limited(600_000);
      // The limits are known once a work has started.
      await many(1, { exports: true });
      await app.drive();
      const until = Date.now() + 120_000;
      await say((controls, ctx) => controls.pause(ctx, name as "exports", { until }));
      await many(2, { exports: true });
      expect(await app.losePending("watchdog:endOverrides")).toBe(1);
      await app.drive(100_000);
      expect(await running()).toBe(0);
      await app.drive(100_000);
      expect(await running()).toBe(2);
      await app.drive();
      expect(await app.leftovers()).toEqual(NOTHING_LEFT);
    },
  );

  test("[S198] of a limit that the code removes holds nobody up, and can be reset", async () => {
    const { app, made, enqueue, many, running, say, get } = limited();
    await many(3, { exports: true });
    await say((controls, ctx) => controls.pause(ctx, "exports"));
    await enqueue("other", {}, made({ tenant: { perKey: 1 } }));
    await app.drive(100);
    expect(await running()).toBe(4);
    expect(await get("exports")).toMatchObject({ asked: {}, paused: {} });
    await say((controls, ctx) => controls.resume(ctx, "exports"));
    expect(await get("exports")).toBeNull();
    await app.drive();
  });
});

describe("a pause of a limit", () => {
  test("[S198] or of a key starts nothing of it, leaves numbers and others alone, and outlives starts", async () => {
    const { app, made, enqueue, running, say, get } = limited();
    for (const key of ["a", "a", "b", "b"]) await enqueue(key, { tenant: key });
    await say((controls, ctx) => controls.pause(ctx, "tenant", { key: "a", by: "ada" }));
    await say((controls, ctx) => controls.pause(ctx, "exports"));
    await enqueue("e", { exports: true }, made({ ...limits, exports: { total: 7 } }));
    await app.drive(1_500);
    expect(await app.labels("start")).toEqual(["a", "b", "b"]);
    expect(await get("tenant", "a")).toMatchObject({
      perKey: 1,
      running: 0,
      waiting: 1,
      paused: { by: "ada" },
    });
    expect(await get("exports")).toMatchObject({ total: 7, running: 0, waiting: 1 });
    await app.drive();
    await say((controls, ctx) => controls.resume(ctx, "exports"));
    expect(await running()).toBe(1);
    // The pause of a limit holds for all of its keys.
    await say((controls, ctx) => controls.pause(ctx, "tenant"));
    await say((controls, ctx) => controls.resume(ctx, "tenant", { key: "a" }));
    expect(await running()).toBe(1);
    await say((controls, ctx) => controls.resume(ctx, "tenant"));
    expect(await running()).toBe(2);
    await app.drive();
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });

  test("[S198] stays after a reset, and other numbers stay after a resume", async () => {
    const { app, many, running, say } = limited();
    const override = async () =>
      await say((controls, ctx) => controls.override(ctx, "exports", { total: 1 }));
    await override();
    await say((controls, ctx) => controls.pause(ctx, "exports"));
    await many(3, { exports: true });
    await say((controls, ctx) => controls.reset(ctx, "exports"));
    expect(await running()).toBe(0);
    await override();
    await say((controls, ctx) => controls.resume(ctx, "exports"));
    expect(await running()).toBe(1);
    await app.drive();
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });

  test("[S198] with works in the queue sends them back to their line at their turn", async () => {
    const { app, pool, enqueue, many, say } = limited(1_000);
    await many(10);
    await enqueue("paused", { tenant: "a" });
    await enqueue("free", { tenant: "b" });
    await say((controls, ctx) => controls.pause(ctx, "tenant", { key: "a" }));
    await app.drive();
    expect(await app.labels("end")).not.toContain("paused");
    expect(await app.labels("end")).toContain("free");
    await app.t.mutation((ctx) => pool.limits.resume(ctx, "tenant", { key: "a" }));
    await app.drive();
    expect(await app.labels("end")).toContain("paused");
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });
});

test("[S201] an override or a pause of maxParallelism stays, whatever the code asks for, and then that holds", async () => {
  const { app, made, enqueue, many, running, say, get } = limited(10_000, 2);
  await many(4);
  await say((controls, ctx) => controls.override(ctx, "maxParallelism", { total: 6, by: "ada" }));
  for (let n = 0; n < 4; n++) await enqueue(`${n}`, {}, made(limits, 3));
  await app.drive(100);
  expect(await running()).toBe(6);
  expect(await get("maxParallelism")).toMatchObject({
    running: 6,
    waiting: 2,
    total: 6,
    asked: { total: 3 },
    origin: "override",
    override: { by: "ada" },
  });
  await say((controls, ctx) => controls.pause(ctx, "maxParallelism"));
  await app.drive(20_000);
  expect(await running()).toBe(0);
  expect(await get("maxParallelism")).toMatchObject({ total: 6, paused: {} });
  const update = app.t.mutation((ctx) =>
    ctx.runMutation(components.workpool.config.update, { maxParallelism: 8 }),
  );
  await expect(update).rejects.toThrow(/maxParallelism is paused or overridden/);
  await say((controls, ctx) => controls.resume(ctx, "maxParallelism"));
  expect(await running()).toBe(2);
  await many(8);
  expect(await running()).toBe(6);
  await say((controls, ctx) => controls.reset(ctx, "maxParallelism"));
  await app.drive(10_000);
  // As the class has asked for last.
  expect(await running()).toBe(2);
  expect(await get("maxParallelism")).toMatchObject({ total: 2, origin: "code" });
  await app.drive();
  expect(await app.leftovers()).toEqual(NOTHING_LEFT);
});

test("[S200] get and list say who runs and waits, since when, which numbers hold, who set them and until when", async () => {
  const { app, pool, enqueue, say, get } = limited();
  expect(await get("tenant")).toBeNull();
  const at = Date.now();
  for (const key of ["a", "a", "a", "b"]) await enqueue(key, { tenant: key });
  for (let n = 0; n < 4; n++) await enqueue("e", { exports: true });
  const until = at + 60_000;
  const key = "a";
  await say((controls, ctx) =>
    controls.override(ctx, "tenant", { key, perKey: 2, until, by: "ada" }),
  );
  await say((controls, ctx) => controls.pause(ctx, "tenant", { key: "z", by: "bob" }));
  const a = await get("tenant", key);
  expect(a).toMatchObject({ running: 2, waiting: 1, waitingIsAtLeast: false, perKey: 2 });
  expect(a).toMatchObject({ asked: { perKey: 1 }, origin: "override" });
  expect(a).toMatchObject({ override: { perKey: 2, until, by: "ada" } });
  expect(a!.oldest).toBeGreaterThanOrEqual(at);
  // A whole number, as all times are that are told.
  expect(a!.oldest! % 1).toBe(0);
  expect(await get("tenant")).toMatchObject({ running: 3, waiting: 1, perKey: 1, origin: "code" });
  const listed = await app.t.query((ctx) => pool.limits.list(ctx));
  expect(listed.map(({ name, running, waiting }) => [name, running, waiting])).toEqual([
    ["maxParallelism", 5, 0],
    ["exports", 2, 2],
    ["tenant", 3, 1],
  ]);
  expect(listed[2]!.keys.map(({ key, running, paused }) => [key, running, paused?.by])).toEqual([
    ["a", 2, undefined],
    ["b", 1, undefined],
    ["z", 0, "bob"],
  ]);
  await app.drive();
});

describe("[S198] what is refused", () => {
  test.each([
    ["an unknown limit", "tenants", { perKey: 1 }, /no limit "tenants": the limits are/],
    ["a number that the limit has not", "exports", { perKey: 1 }, /"exports" has no perKey/],
    ["0, as that is a pause", "exports", { total: 0 }, /total of the limit "exports" is 0/],
    ["nothing", "exports", {}, /says nothing: give total, perKey or rate/],
    ["no options", "exports", undefined, /says nothing: give total, perKey or rate/],
    ["a key of a limit without", "exports", { key: "a", perKey: 1 }, /takes no key/],
    ["a total of a key", "tenant", { key: "a", total: 1 }, /not of a key/],
    ["a time that is over", "exports", { total: 1, until: 5 }, /a time that is to come/],
    ["a duration", "exports", { total: 1, until: "1h" }, /until is "1h": give a Date, or ms/],
    ["too many slots", "maxParallelism", { total: 201 }, /at most 200/],
  ])("%s", async (_, name, options, message) => {
    const { say } = limited();
    const said = say((controls, ctx) => controls.override(ctx, name, options as { total: number }));
    await expect(said).rejects.toThrow(message);
  });

  test.each(["reset", "resume"] as const)("to %s an unknown limit", async (verb) => {
    const { app, made, say } = limited();
    const ends = say((controls, ctx) => controls[verb](ctx, "tenants" as "tenant"));
    await expect(ends).rejects.toThrow(/no limit "tenants": the limits are "/);
    // But one that nothing has named yet is known, and so is one that the code has no more.
    await say((controls, ctx) => controls[verb](ctx, "tenant"));
    await say((controls, ctx) => controls.pause(ctx, "exports"));
    const { limits: others } = made({ tenant: { perKey: 1 } });
    await app.t.mutation((ctx) => others[verb](ctx, "exports"));
  });

  test.each(["exports", "maxParallelism"])(
    "to look at a key of %s, which takes none",
    async (name) => {
      const { app, pool, say } = limited();
      await say((controls, ctx) => controls.pause(ctx, "exports"));
      const seen = app.t.query((ctx) => pool.limits.get(ctx, name as "exports", { key: "a" }));
      await expect(seen).rejects.toThrow(`The limit "${name}" takes no key`);
    },
  );

  test("a limit that is called maxParallelism", () => {
    const named = { maxParallelism: { total: 1 } };
    expect(() => new Workpool(components.workpool, { limits: named })).toThrow(/cannot be called/);
  });
});
