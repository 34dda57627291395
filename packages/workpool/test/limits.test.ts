import { beforeEach, describe, expect, test, vi } from "vitest";
import { type KeysOf, type Limits, Workpool } from "../src/client/index.js";
import { mostAtOnce, NOTHING_LEFT, TestApp, virtualTime } from "./app.js";
import { components, internal } from "./convex/_generated/api.js";
import { seeded } from "./seeded.js";

virtualTime();
beforeEach(() => void vi.spyOn(Math, "random").mockImplementation(seeded(1)));

const limits = { tenant: { perKey: 1 }, exports: { total: 2 } };
type Keys = KeysOf<typeof limits>;
const { echo, flaky, hang, sleep, write } = internal.jobs;

/** An app whose pool has limits. */
function limited<Defined extends Limits>(defined: Defined, maxParallelism = 10) {
  const app = new TestApp();
  const pool = new Workpool(components.workpool, { maxParallelism, limits: defined });
  const enqueue = (label: string, keys: KeysOf<Defined>, ms = 100) =>
    app.t.mutation((ctx) => pool.enqueueAction(ctx, sleep, { label, ms }, { limits: keys }));
  return { app, pool, enqueue };
}

/** How many works ran at most at once, of those whose label begins so. */
async function most(app: TestApp, like = ""): Promise<number> {
  return mostAtOnce((await app.events()).filter(({ label }) => label.startsWith(like)));
}

describe("a limit", () => {
  test("[S188] of one work of each key runs the works of a key one after the other, in their order", async () => {
    const { app, enqueue } = limited(limits);
    for (let n = 0; n < 5; n++) await enqueue(`a${n}`, { tenant: "a" });
    await enqueue("b", { tenant: "b" });
    await app.drive();
    expect(await most(app, "a")).toBe(1);
    expect((await app.labels("start")).filter((label) => label !== "b")).toEqual(
      [..."01234"].map((n) => `a${n}`),
    );
    // It waited for none of them.
    expect((await app.labels("start")).indexOf("b")).toBe(1);
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });

  test("[S186] in all holds for all of them together, a batch or one by one, and leaves the others alone", async () => {
    const { app, pool, enqueue } = limited(limits);
    const argsList = ["e0", "e1", "e2"].map((label) => ({ label, ms: 100 }));
    await app.t.mutation((ctx) =>
      pool.enqueueActionBatch(ctx, sleep, argsList, { limits: { exports: true } }),
    );
    for (const label of ["e3", "e4"]) await enqueue(label, { exports: true });
    for (const label of ["o0", "o1", "o2"]) await enqueue(label, {});
    await app.drive();
    expect(await most(app, "e")).toBe(2);
    expect(await most(app, "o")).toBe(3);
    expect(await app.labels("end")).toHaveLength(8);
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });

  test("[S186] holds together with others: a work takes all that it needs, or nothing", async () => {
    const { app, enqueue } = limited({ ...limits, both: { perKey: 2, total: 3 } });
    for (let n = 0; n < 4; n++) {
      await enqueue(`x${n}`, { tenant: "a", exports: true });
      await enqueue(`y${n}`, { exports: true, both: "k" });
      await enqueue(`z${n}`, { both: n % 2 === 0 ? "k" : "l" });
    }
    expect((await app.leftovers())["permits"]).toBeLessThanOrEqual(1 + 2 + 2 * 3);
    await app.drive();
    expect(await app.labels("end")).toHaveLength(12);
    expect(await most(app, "x")).toBe(1);
    expect(await most(app, "y")).toBeLessThanOrEqual(2);
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });

  test("[S187] does not close the gate, and what waits for it holds no slot", async () => {
    const { app, enqueue } = limited(limits, 3);
    for (let n = 0; n < 8; n++) await enqueue(`a${n}`, { tenant: "a" });
    expect(await app.gateIsOpen()).toBe(true);
    expect(await app.leftovers()).toMatchObject({ heldSlots: 1, limited: 7, waiting: 0 });
    const before = Date.now();
    await enqueue("other", {});
    await app.drive(5);
    expect((await app.events("start")).at(-1)).toMatchObject({ label: "other" });
    expect((await app.events("start")).at(-1)!.at - before).toBeLessThanOrEqual(5);
    await app.drive();
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });

  test("[S187] of a pool that is full lets works in as slots get free, and never more than it allows", async () => {
    const { app, enqueue } = limited(limits, 2);
    for (const label of ["o0", "o1", "o2"]) await enqueue(label, {}, 300);
    for (let n = 0; n < 4; n++) await enqueue(`a${n}`, { tenant: "a" });
    for (let n = 0; n < 4; n++) await enqueue(`e${n}`, { exports: true });
    // Whoever waits for a slot holds nothing meanwhile.
    expect(await app.leftovers()).toMatchObject({ permits: 0 });
    await app.drive();
    expect(await app.labels("end")).toHaveLength(11);
    expect(await most(app, "a")).toBe(1);
    expect(await most(app)).toBe(2);
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });

  test("[S187] of a pool that is made smaller goes on in the slots that there are still", async () => {
    const { app, enqueue } = limited({ exports: { total: 6 } });
    for (let n = 0; n < 18; n++) await enqueue(`${n}`, { exports: true }, 1_000);
    await app.drive(1_500);
    await app.setMaxParallelism(2);
    // What ran has ended.
    await app.drive(1_200);
    expect(await app.leftovers()).toMatchObject({ heldSlots: 2 });
    await app.drive();
    expect(await app.labels("end")).toHaveLength(18);
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });

  test("costs no function call: 3 for an action that begins at once, as without one, and 2 for one that follows it", async () => {
    const { app, pool } = limited(limits);
    const argsList = Array.from({ length: 20 }, (_, value) => ({ value }));
    await app.t.mutation((ctx) =>
      pool.enqueueActionBatch(ctx, echo, argsList, { limits: { tenant: "a" } }),
    );
    await app.drive();
    const { rootExecutions } = app.counter.totals((call) => call.name !== "inline");
    // The executor of those that follow the first asks which of its works are left.
    expect(rootExecutions).toBe(3 + 2 * 19 + 1 + 1);
  });

  test("holds for mutations and queries too", async () => {
    const { app, pool } = limited(limits);
    const args = ["a", "b", "c"].map((label) => ({ label }));
    const options = { limits: { tenant: "a" } };
    await app.t.mutation((ctx) => pool.enqueueMutationBatch(ctx, write, args, options));
    await app.t.mutation((ctx) => pool.enqueueQuery(ctx, internal.jobs.count, args[0]!, options));
    await app.drive();
    expect(await app.labels("write")).toEqual(["a", "b", "c"]);
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });
});

describe("a limit that changes", () => {
  async function changed(to: Limits) {
    const { app, enqueue } = limited({ exports: { total: 2 } });
    for (let n = 0; n < 8; n++) await enqueue(`${n}`, { exports: true }, 1_000);
    await app.drive(100);
    const update = { limits: to };
    await app.t.mutation((ctx) => ctx.runMutation(components.workpool.config.update, update));
    await app.drive(200);
    const { heldSlots } = await app.leftovers();
    await app.drive();
    expect(await app.labels("end")).toHaveLength(8);
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
    return heldSlots;
  }

  test("[S189] and is raised lets more works start at once", async () => {
    expect(await changed({ exports: { total: 5 } })).toBe(5);
  });

  test("[S189] and is removed lets all of them start", async () => {
    expect(await changed({})).toBe(8);
  });

  test("[S189] and is lowered lets running works end, and nothing starts before there is room", async () => {
    // Which of them holds which permit is drawn, so each is once the first that ends.
    for (const lengths of [
      [500, 1_000, 1_500],
      [1_500, 500, 1_000],
      [1_000, 1_500, 500],
    ]) {
      const { app, enqueue } = limited({ exports: { total: 3 } });
      for (const [n, ms] of [...lengths, 100, 100].entries())
        await enqueue(`${n}`, { exports: true }, ms);
      await app.drive(100);
      const update = { limits: { exports: { total: 2 } } };
      await app.t.mutation((ctx) => ctx.runMutation(components.workpool.config.update, update));
      await app.drive();
      // Two may run on, so the second end is the first that lets another start.
      const order = (await app.events()).map(({ what }) => what).join(" ");
      expect(order).toMatch(/^start start start end end start /);
      expect(await app.leftovers()).toEqual(NOTHING_LEFT);
    }
  });

  test("[S189] is asked for by the class: what was set since stays until that asks for something else", async () => {
    const { app, enqueue } = limited({ exports: { total: 1 } });
    await enqueue("0", { exports: true });
    const update = { limits: { exports: { total: 3 } } };
    await app.t.mutation((ctx) => ctx.runMutation(components.workpool.config.update, update));
    for (const label of ["1", "2", "3"]) await enqueue(label, { exports: true });
    await app.drive(50);
    expect(await app.leftovers()).toMatchObject({ heldSlots: 3, limited: 1 });
    await app.drive();
  });
});

describe("nothing of a limit is lost", () => {
  test("[S190] with works that are canceled in their line, in the queue, or before they begin", async () => {
    const { app, pool, enqueue } = limited(limits, 1);
    const cancel = (id: Awaited<ReturnType<typeof enqueue>>) =>
      app.t.mutation((ctx) => pool.cancel(ctx, id));
    const first = await enqueue("first", { tenant: "a" });
    const [queued, line, last] = [
      await enqueue("queued", { tenant: "b" }),
      await enqueue("line", { tenant: "b" }),
      await enqueue("last", { tenant: "b" }),
    ];
    expect(await app.t.query((ctx) => pool.status(ctx, last))).toMatchObject({ state: "pending" });
    await cancel(line);
    await cancel(queued);
    await cancel(first);
    await app.drive();
    expect(await app.labels("end")).toEqual(["last"]);
    await enqueue("running", { tenant: "a" });
    await enqueue("behind", { tenant: "a" });
    await app.drive(50);
    await app.t.mutation((ctx) => pool.cancelAll(ctx));
    await app.drive();
    expect(await app.labels("end")).toEqual(["last", "running"]);
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });

  test("[S190] with works that fail and are tried again, are delayed, or are lost", async () => {
    const { app, pool, enqueue } = limited(limits);
    const options = { retry: true, limits: { tenant: "a" } };
    const args = { label: "fails", succeedsAt: 3 };
    await app.t.mutation((ctx) => pool.enqueueAction(ctx, flaky, args, options));
    const delayed = { runAfter: 300, limits: { tenant: "a" } };
    await app.t.mutation((ctx) =>
      pool.enqueueAction(ctx, sleep, { label: "later", ms: 100 }, delayed),
    );
    await enqueue("a", { tenant: "a" });
    // Attempts wait without the permit, and others of the key run meanwhile.
    await app.drive();
    expect(await app.labels("end")).toEqual(["a", "later"]);
    expect(await app.labels("attempt")).toHaveLength(3);
    const lost = { limits: { tenant: "a" } };
    await app.t.mutation((ctx) => pool.enqueueAction(ctx, hang, { label: "lost" }, lost));
    await enqueue("behind", { tenant: "a" });
    await app.drive(1_000);
    await app.endJob("failed");
    await app.drive(60_000);
    expect(await app.labels("end")).toContain("behind");
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });

  test("[S190] with what was to look at a line: the watchdog does it", async () => {
    const { app, enqueue } = limited({ exports: { total: 1 } });
    for (const label of ["0", "1", "2"]) await enqueue(label, { exports: true }, 120_000);
    await app.drive(10);
    const update = { limits: { exports: { total: 2 } } };
    await app.t.mutation((ctx) => ctx.runMutation(components.workpool.config.update, update));
    expect(await app.losePending("watchdog:wakeLines")).toBe(1);
    await app.drive(60_000);
    expect(await app.labels("start")).toEqual(["0", "1"]);
    await app.drive();
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });

  test("[S190] with a slot of an earlier version, which has the ids of its permits alone", async () => {
    const { app, enqueue } = limited({ exports: { total: 1 } });
    for (const label of ["0", "1"]) await enqueue(label, { exports: true }, 1_000);
    await app.drive(10);
    await app.inPool(async (ctx) => {
      for (const { _id, permits } of await ctx.db.query("slots").collect())
        if (permits !== undefined)
          await ctx.db.patch("slots", _id, {
            permits: permits.map((each) => (typeof each === "string" ? each : each.id)),
          });
    });
    await app.drive();
    expect(await app.labels("end")).toEqual(["0", "1"]);
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });

  test(
    "[S190] with 100 works of random limits, of which some are canceled or lost",
    { tags: ["large"] },
    async () => {
      const random = seeded(3);
      const { app, pool, enqueue } = limited({ ...limits, api: { perKey: 2, total: 4 } }, 6);
      const some = (): Keys & { api?: string } => ({
        ...(random() < 0.5 ? { tenant: `t${Math.floor(4 * random())}` } : {}),
        ...(random() < 0.3 ? { exports: true } : {}),
        ...(random() < 0.3 ? { api: `k${Math.floor(3 * random())}` } : {}),
      });
      const check = async () => {
        const { held, permits } = await app.inPool(async (ctx) => ({
          held: (await ctx.db.query("slots").collect()).flatMap((slot) => slot.permits ?? []),
          permits: await ctx.db.query("permits").collect(),
        }));
        // Each permit is of a work that runs.
        const stored = permits.map(({ _id: id, name, number }) => ({ id, name, number }));
        expect(new Set(held)).toEqual(new Set(stored));
        expect(held).toHaveLength(stored.length);
        const count = (like: RegExp) => permits.filter(({ name }) => like.test(name)).length;
        for (const key of "0123") expect(count(RegExp(`^tenant:t${key}$`))).toBeLessThan(2);
        for (const key of "012") expect(count(RegExp(`^api:k${key}$`))).toBeLessThan(3);
        expect(count(/^exports$/)).toBeLessThan(3);
        expect(count(/^api$/)).toBeLessThan(5);
      };
      for (let n = 0; n < 100; n++) {
        const id = await enqueue(`${n}`, some(), 20 + Math.floor(200 * random()));
        if (random() < 0.1) await app.t.mutation((ctx) => pool.cancel(ctx, id));
        await app.drive(Math.floor(60 * random()));
        await check();
      }
      await app.drive(Infinity, check);
      expect(await app.leftovers()).toEqual(NOTHING_LEFT);
    },
  );
});

test("[S190] works left in the queue to a function that is lost go on with the next sweep", async () => {
  const { app, pool, enqueue } = limited(limits);
  await app.t.mutation((ctx) =>
    pool.enqueueAction(ctx, hang, { label: "lost" }, { limits: { tenant: "a" } }),
  );
  await enqueue("left", { tenant: "a" });
  await app.drive(1_000);
  // As the end of another work leaves it to the executor of limits: the gate stays open.
  await app.inPool(async ({ db }) => {
    const { _id, _creationTime, line, ...row } = (await db.query("limited").first())!;
    await db.delete("limited", _id);
    await db.delete("lines", (await db.query("lines").first())!._id);
    await db.insert("waiting", { ...row, lane: 0, group: line });
  });
  await app.endJob("failed");
  await app.driveOut();
  expect(await app.labels("end")).toEqual(["left"]);
  expect(await app.leftovers()).toEqual(NOTHING_LEFT);
});

test("[S190] an executor that takes the place of a dead one looks for what was left to that", async () => {
  const { app, pool } = limited({ exports: { total: 2 } });
  const args = ["0", "1", "2", "3", "4"].map((label) => ({ label, ms: 11_000 }));
  await app.t.mutation((ctx) =>
    pool.enqueueActionBatch(ctx, sleep, args, { limits: { exports: true } }),
  );
  await app.drive(1_000);
  // As the end of another work leaves it to an executor that has died since.
  await app.inPool(async ({ db }) => {
    const { _id, _creationTime, line, ...row } = (await db.query("limited").order("desc").first())!;
    await db.delete("limited", _id);
    await db.insert("waiting", { ...row, permits: [], lane: 0, group: line });
    await db.insert("executors", { range: -1, asks: true, until: 0 });
  });
  await app.drive(11_000);
  expect(await app.labels("start")).toEqual(["0", "1", "2", "3", "4"]);
  await app.driveOut();
  expect(await app.leftovers()).toEqual(NOTHING_LEFT);
});

describe("[S187] a work that an end elsewhere leaves to the executor of limits", () => {
  const keyed = { tenant: { perKey: 1 } };
  const atOf = async (app: TestApp, what: string, label: string) =>
    (await app.events(what)).find((event) => event.label === label)?.at ?? NaN;

  test(
    "starts with the next report of that, though its own line is long",
    { tags: ["large"] },
    async () => {
      const { app, enqueue } = limited(keyed);
      for (let n = 0; n < 30; n++) await enqueue(`a${n}`, { tenant: "a" }, 50);
      await enqueue("b0", { tenant: "b" }, 300);
      await enqueue("b1", { tenant: "b" }, 50);
      await app.drive(1_000);
      expect(await app.labels("start")).not.toContain("a29");
      const waitedMs = (await atOf(app, "start", "b1")) - (await atOf(app, "end", "b0"));
      expect(waitedMs).toBeLessThanOrEqual(150);
      await app.driveOut();
      expect(await app.leftovers()).toEqual(NOTHING_LEFT);
    },
  );

  test("starts though the snapshot in which that looks a last time lacks it", async () => {
    let lag = 0;
    const app = new TestApp({}, () => lag);
    const pool = new Workpool(components.workpool, { maxParallelism: 10, limits: keyed });
    const enqueue = (label: string, tenant: string, ms: number) =>
      app.t.mutation((ctx) =>
        pool.enqueueAction(ctx, sleep, { label, ms }, { limits: { tenant } }),
      );
    await enqueue("a0", "a", 50);
    await enqueue("a1", "a", 100);
    await enqueue("b0", "b", 140);
    await enqueue("b1", "b", 50);
    await app.drive(145);
    expect(await app.leftovers()).toMatchObject({ waiting: 1, limited: 0 });
    lag = 20;
    await app.drive(10);
    lag = 0;
    expect(await app.labels("start")).not.toContain("b1");
    await app.drive(1_000);
    expect(await app.labels("end")).toContain("b1");
    await app.driveOut();
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });
});

test(
  "[S187] who has looked at many lines in vain has the next ones looked at for each permit that is free",
  { tags: ["large"] },
  async () => {
    const { app, pool, enqueue } = limited({ api: { total: 2 }, tenant: { perKey: 1 } }, 50);
    const args = ["0", "1", "2", "3"].map((label) => ({ label, ms: 1_000 }));
    await app.t.mutation((ctx) =>
      pool.enqueueActionBatch(ctx, sleep, args, { limits: { api: true } }),
    );
    for (let n = 0; n < 17; n++) await enqueue(`busy ${n}`, { tenant: `${n}` }, 60_000);
    for (let n = 0; n < 17; n++) await enqueue(`in vain ${n}`, { api: true, tenant: `${n}` });
    await app.drive(1_500);
    expect(await app.labels("start")).toEqual(expect.arrayContaining(["2", "3"]));
  },
);

describe("[S191] [S264] a limit is refused", () => {
  test.each([
    ["a total of 0", { exports: { total: 0 } }, /total of the limit "exports" is 0/],
    ["a negative perKey", { tenant: { perKey: -1 } }, /perKey of the limit "tenant" is -1/],
    ["half a work", { exports: { total: 1.5 } }, /whole number above 0/],
    ["neither", { exports: {} }, /limits nothing/],
    [
      "a slip",
      { tenant: { perkey: 1, total: 2 } },
      /"tenant": there is no "perkey": there is total/,
    ],
    [
      "a slip in its rate",
      { api: { rate: { limit: 1, per: "1m", brust: 1 } } },
      /rate of .*"brust"/,
    ],
    ["a name with a dash", { "my-limit": { total: 1 } }, /"my-limit" has no valid name/],
  ])("with %s", (_, limits, message) => {
    expect(() => new Workpool(components.workpool, { limits })).toThrow(message);
  });

  test.each([
    ["an unknown name", { tenants: "a" }, /no limit "tenants": the limits are "tenant", "exports"/],
    ["a key that it does not take", { exports: "a" }, /"exports" takes no key/],
    ["no key", { tenant: true }, /"tenant" needs a key/],
    ["a promise of a key", { tenant: Promise.resolve("a") }, /a text .*: a Promise was given/],
    ["an estimate of no unit", { exports: { estimate: 1 } }, /"exports" has no unit/],
    ["an empty key", { tenant: "" }, /a text of 1 to 256 characters/],
    ["a list", ["exports"], /limits is a list: write an object/],
    ["a key of 257 characters", { tenant: "x".repeat(257) }, /one of 257 was given/],
  ])("at the enqueue with %s", async (_, keys, message) => {
    const { enqueue } = limited(limits);
    await expect(enqueue("a", keys as Keys)).rejects.toThrow(message);
  });
});
