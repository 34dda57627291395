import { makeFunctionReference } from "convex/server";
import { convexTest } from "convex-test";
import { describe, expect, test, vi } from "vitest";
import { testKit } from "../src/test.js";
import { internal } from "./limited/_generated/api.js";
import { workflows } from "./limited/_workflows/index.js";
import schema from "./limited/schema.js";
import { type Modules, useTestApp } from "./harness.js";

const modules: Modules = import.meta.glob(["./limited/**/*.{ts,js}", "!./limited/**/*.*.ts"]);
await Promise.all(Object.values(modules).map((load) => load()));
const use = useTestApp({ modules });
const MINUTE = 60_000;
/* Those that the other test app does not have. */
const hold = makeFunctionReference<"mutation">("manager:hold");
const pauseAll = makeFunctionReference<"mutation">("manager:pauseAll");
const override = makeFunctionReference<"mutation">("manager:override");
const stepsOf = makeFunctionReference<"query">("runs:steps");
const seenOf = makeFunctionReference<"query">("manager:seen");

/** How many of those whose name begins so ran at most at once. */
async function most(like = ""): Promise<number> {
  let [now, most] = [0, 0];
  for (const line of await use.app.log()) {
    if (line.startsWith(`begin ${like}`)) most = Math.max(most, ++now);
    if (line.startsWith(`end ${like}`)) now -= 1;
  }
  return most;
}

const begun = async () => (await use.app.log()).filter((line) => line.startsWith("begin"));

/** Nothing is left of a limit: no permit is held, and nobody waits. */
async function expectNothingLeft(): Promise<void> {
  const left = await use.app.counter.uncounted(() =>
    use.app.inComponent(async (ctx) => [
      await ctx.db.query("permits").collect(),
      await ctx.db.query("limited").collect(),
      await ctx.db.query("lines").collect(),
    ]),
  );
  expect(left).toEqual([[], [], []]);
  await use.app.expectNothingLeft();
}

describe("a limit of the config that a step names", () => {
  test("[S192] in all holds for the runs of a workflow together", async () => {
    for (let n = 0; n < 5; n++) await use.app.start("exported", { name: `${n}` });
    await use.app.drive();
    expect(await most()).toBe(2);
    expect(await begun()).toHaveLength(5);
    await expectNothingLeft();
  });

  test("a step that follows another alone has its own function: an executor would be two calls more", async () => {
    for (let n = 0; n < 5; n++) await use.app.start("exported", { name: `${n}` });
    await use.app.drive();
    expect(await begun()).toHaveLength(5);
    expect(use.app.counter.calls.filter(({ name }) => name === "executor:execute")).toEqual([]);
  });

  test("[S192] of each key holds for the works of that key, which is made of the step's scope", async () => {
    for (const org of ["a", "a", "a", "b"])
      await use.app.start("ofTenant", { name: `${org}`, org, ms: 1_000 });
    await use.app.drive();
    expect(await most("a")).toBe(1);
    expect(await most()).toBe(2);
    expect(await begun()).toHaveLength(4);
    await expectNothingLeft();
  });

  test("[S192] of a workflow holds for all of its actions, beside those of a step", async () => {
    for (const org of ["a", "a", "b", "c", "", ""])
      await use.app.start("allOfTenant", { name: org, org, ms: 1_000 });
    await use.app.drive(async () => (await begun()).length === 6);
    expect(await most("a")).toBe(1);
    // Without a key the limit does not hold.
    expect(await most()).toBe(5);
    await use.app.drive();
    const last = (await use.app.log()).filter((line) => line.endsWith("2"));
    expect(last).toHaveLength(8);
  });

  test("[S193] is not held by a run that waits: for its children, a time, or its next attempt", async () => {
    expect(await use.app.output("family", { name: "parent" })).toBe("parent");
    const failing = await use.app.start("ofTenant", { name: "failing", fails: 1 });
    await use.app.drive(async () => (await use.app.steps(failing)).includes("encode waiting"));
    const asleep = await use.app.start("allOfTenant", { name: "asleep", org: "org acme" });
    await use.app.drive(async () => (await use.app.steps(asleep)).includes("rest waiting"));
    const before = Date.now();
    expect(await use.app.start("ofTenant", { name: "other" }));
    await use.app.drive(async () => (await use.app.log()).includes("end other"));
    expect(Date.now() - before).toBeLessThan(2_000);
    await use.app.drive();
    expect(await most()).toBe(1);
    await expectNothingLeft();
  });

  test("[S194] a step that is canceled, paused or out of time while it waits leaves its line", async () => {
    await use.app.start("ofTenant", { name: "holds", ms: 10 * MINUTE });
    await use.app.drive(async () => (await begun()).length === 1);
    const hurried = await use.app.start("timedTenant", { name: "hurried" });
    const [canceled, paused, next] = [
      await use.app.start("ofTenant", { name: "canceled" }),
      await use.app.start("ofTenant", { name: "paused" }),
      await use.app.start("ofTenant", { name: "next" }),
    ];
    await use.app.advance(MINUTE);
    for (const run of [canceled, paused, next])
      expect((await use.app.status("ofTenant", run))?.active).toMatchObject([{ doing: "queued" }]);
    await use.app.t.mutation(internal.runs.cancel, { runId: canceled });
    await use.app.t.mutation(internal.manager.pause, { runId: paused });
    await use.app.drive(async () => (await use.app.log()).includes("end next"));
    expect(await use.app.status("timedTenant", hurried)).toMatchObject({ state: "timedOut" });
    expect(await begun()).toEqual(["begin holds", "begin next"]);
    await use.app.t.mutation(internal.manager.resume, { runId: paused });
    await use.app.drive();
    expect(await begun()).toEqual(["begin holds", "begin next", "begin paused"]);
    await expectNothingLeft();
  });

  test("[S194] a run that is paused by the mutation that starts it has its place in the line when it is resumed", async () => {
    await use.app.start("hurried", { name: "holds", ms: MINUTE });
    await use.app.drive(async () => (await begun()).length === 1);
    const paused = await use.app.t.mutation(async (ctx) => {
      const input = { name: "paused", ms: 1_000 };
      const runId: string = await ctx.runMutation(internal.runs.start, { name: "hurried", input });
      await ctx.runMutation(internal.manager.pause, { runId });
      return runId;
    });
    await use.app.start("hurried", { name: "next", ms: 1_000 });
    await use.app.advance(1_000);
    await use.app.t.mutation(internal.manager.resume, { runId: paused });
    await use.app.drive();
    expect(await begun()).toEqual(["begin holds", "begin paused", "begin next"]);
    await expectNothingLeft();
  });

  test("[S185] a step that has waited as long as it may fails as timed out, is not tried again, and says what it has waited for", async () => {
    await use.app.start("hurried", { name: "holds", ms: 20 * MINUTE });
    await use.app.drive(async () => (await begun()).length === 1);
    const late = await use.app.start("hurried", { name: "late" });
    const other = await use.app.start("hurried", { name: "other", org: "else" });
    await use.app.advance(4 * MINUTE);
    expect((await use.app.status("hurried", late))?.active).toMatchObject([
      { waitsFor: { limit: "tenant", until: Date.now() + MINUTE } },
    ]);
    await use.app.advance(2 * MINUTE);
    expect(await use.app.status("hurried", late)).toMatchObject({
      state: "completed",
      output:
        'timedOut waiting 1: Its action has waited for the limit "tenant" of "acme" as long as its `waitAtMost` allows',
    });
    expect(await use.app.status("hurried", other)).toMatchObject({ output: "other" });
    const [waited] = (await use.app.t.query(stepsOf, { name: "hurried", runId: late })).page;
    expect(waited).toMatchObject({ queuedMs: 5 * MINUTE, durationMs: 0 });
    expect(waited).not.toHaveProperty("beganAt");
    await use.app.drive();
    expect(await begun()).toEqual(["begin holds", "begin other"]);
    await expectNothingLeft();
  });

  test("[S185] a step waits anew when its run is resumed, and in each attempt", async () => {
    await use.app.start("ofTenant", { name: "holds", org: "a", ms: MINUTE });
    const failing = await use.app.start("hurried", { name: "failing", org: "org a", fails: 1 });
    await use.app.drive(async () => (await begun()).length === 1);
    await use.app.t.mutation(internal.manager.pause, { runId: failing });
    await use.app.advance(10 * MINUTE);
    await use.app.t.mutation(hold, { paused: true, key: "org a" });
    await use.app.t.mutation(internal.manager.resume, { runId: failing });
    await use.app.advance(4 * MINUTE);
    expect((await use.app.status("hurried", failing))?.state).toBe("running");
    await use.app.t.mutation(hold, { paused: false, key: "org a" });
    await use.app.drive();
    expect(await use.app.status("hurried", failing)).toMatchObject({ output: "failing" });
    await expectNothingLeft();
  });

  test("[S209] a start is refused that would have to wait for a limit with maxWaiting, and no run is there; later steps wait", async () => {
    const start = (name: string) => use.app.start("scarce", { name, ms: 1_000 });
    for (const name of ["a", "b"]) await start(name);
    const refused = { limit: "scarce", waiting: 1 };
    await expect(start("c")).rejects.toMatchObject({
      data: { ...refused, message: expect.stringContaining("Too many would wait") },
    });
    // The second step of the first run, and the first one of the next, wait by turns.
    await use.app.drive();
    expect((await begun()).toSorted()).toEqual(["begin a", "begin a", "begin b", "begin b"]);
    // Those of one mutation count each other.
    await use.app.t.mutation(async (ctx) => {
      const start = async (name: string) =>
        await ctx.runMutation(internal.runs.start, { name: "scarce", input: { name, ms: 1_000 } });
      for (const name of ["d", "e"]) await start(name);
      await expect(start("f")).rejects.toMatchObject({ data: refused });
    });
    await use.app.drive();
    expect(await begun()).toHaveLength(8);
    await expectNothingLeft();
  });

  test("[S233] a step that waits for a limit says which, how many run, and where it stands", async () => {
    await use.app.start("ofTenant", { name: "holds", ms: MINUTE });
    await use.app.drive(async () => (await begun()).length === 1);
    const runs = [
      await use.app.start("ofTenant", { name: "second" }),
      await use.app.start("ofTenant", { name: "third" }),
    ];
    await use.app.advance(1_000);
    const active = async (run: string) => (await use.app.status("ofTenant", run))?.active[0];
    const waitsFor = { limit: "tenant", key: "org acme", running: 1, atMost: 1 };
    expect([await active(runs[0]!), await active(runs[1]!)]).toMatchObject([
      { doing: "queued", waitsFor: { ...waitsFor, place: 1 } },
      { doing: "queued", waitsFor: { ...waitsFor, place: 2 } },
    ]);
    await use.app.drive();
    await expectNothingLeft();
  });

  test("[S233] a step that a pause keeps back says so, with its end, whatever else is full", async () => {
    await use.app.start("ofTenant", { name: "holds", ms: 5 * MINUTE });
    await use.app.drive(async () => (await begun()).length === 1);
    const runId = await use.app.start("ofTenant", { name: "waits" });
    await use.app.advance(1_000);
    await use.app.t.mutation(pauseAll, {});
    const paused = { by: "ada", until: Date.now() + 10 * MINUTE };
    const { waitsFor } = (await use.app.status("ofTenant", runId))!.active[0]!;
    expect(waitsFor).toEqual({ limit: "tenant", running: 0, atMost: 0, place: 1, paused });
    await use.app.drive();
    await expectNothingLeft();
  });

  test("[S194] a step whose run is resumed has its old place in its line", async () => {
    const begin = async (name: string) => await use.app.start("ofTenant", { name, ms: MINUTE });
    await begin("holds");
    await use.app.drive(async () => (await begun()).length === 1);
    const paused = await begin("paused");
    await use.app.advance(1_000);
    await begin("next");
    await use.app.advance(1_000);
    await use.app.t.mutation(internal.manager.pause, { runId: paused });
    await use.app.advance(1_000);
    await begin("last");
    await use.app.t.mutation(internal.manager.resume, { runId: paused });
    await use.app.drive();
    expect(await begun()).toEqual(["holds", "paused", "next", "last"].map((n) => `begin ${n}`));
    await expectNothingLeft();
  });

  test("[S198] [S199] is overridden for a while, and paused for a key, while runs go on", async () => {
    for (const org of ["a", "a", "a", "b"])
      await use.app.start("ofTenant", { name: org, org, ms: 30 * MINUTE });
    await use.app.drive(async () => (await begun()).length === 2);
    await use.app.t.mutation(hold, { paused: true, key: "org b" });
    await use.app.t.mutation(override, { perKey: 2, until: "10m" });
    await use.app.start("ofTenant", { name: "b", org: "b" });
    await use.app.drive(async () => (await begun()).length === 3);
    const seen = async (key: string) => await use.app.t.query(seenOf, { key });
    expect(await seen("org a")).toMatchObject({
      running: 2,
      waiting: 1,
      perKey: 2,
      asked: { perKey: 1 },
      override: { by: "ada" },
    });
    await use.app.advance(20 * MINUTE);
    expect(await seen("org a")).toMatchObject({ perKey: 1, origin: "code" });
    await use.app.advance(60 * MINUTE);
    expect(await seen("org b")).toMatchObject({ running: 0, waiting: 1, paused: {} });
    expect(await begun()).toHaveLength(4);
    await use.app.t.mutation(hold, { paused: false, key: "org b" });
    await use.app.drive();
    expect(await begun()).toHaveLength(5);
    await expectNothingLeft();
  });

  test("[S196] has the same key at each attempt, and after a pause", async () => {
    const id = await use.app.start("otherKeys", { name: "it", fails: 2 });
    const permits = async () =>
      await use.app.inComponent(async (ctx) => {
        const steps = await ctx.db.query("steps").collect();
        const held = await ctx.db.query("permits").collect();
        return [...steps.flatMap((step) => step.permits ?? []), ...held.map(({ name }) => name)];
      });
    await use.app.drive(async () => (await begun()).length === 1);
    const first = await permits();
    expect(new Set(first).size).toBe(2);
    await use.app.drive(async () => (await use.app.steps(id)).includes("work waiting"));
    await use.app.t.mutation(internal.manager.pause, { runId: id });
    await use.app.t.mutation(internal.manager.resume, { runId: id });
    for (const attempt of [2, 3]) {
      await use.app.drive(async () => (await begun()).length === attempt);
      expect(await permits()).toEqual(first);
    }
    await use.app.drive();
    expect(await use.app.status("otherKeys", id)).toMatchObject({ state: "completed" });
    await expectNothingLeft();
  });

  test("[S196] does not make a key again of a step that was paused before it began", async () => {
    await use.app.start("ofTenant", { name: "holds", ms: MINUTE });
    await use.app.drive(async () => (await begun()).length === 1);
    const id = await use.app.start("keyedOnce", { name: "once" });
    await use.app.advance(1_000);
    await use.app.t.mutation(internal.manager.pause, { runId: id });
    await use.app.t.mutation(internal.manager.resume, { runId: id });
    await use.app.drive();
    expect(await use.app.status("keyedOnce", id)).toMatchObject({ state: "completed" });
    expect(await most()).toBe(1);
    await expectNothingLeft();
  });

  test.each([
    ["which has no config of its own", workflows.exported, ["a", "b", "c"]],
    ["for the children of a run that names none itself", workflows.crowd, [""]],
  ])(
    "[S192] holds in a test with the kit, %s",
    { tags: ["large"] },
    async (_of, workflow, names) => {
      const t = convexTest({ schema, modules });
      const kit = testKit(t, vi);
      for (const name of names) await kit.start(workflow, { name, org: "", ms: MINUTE });
      await kit.settle();
      const log = await t.run(async ({ db }) => await db.query("log").collect());
      expect(log.map(({ text }) => text)).toEqual(["begin a", "begin b"]);
      await kit.advance("1h");
    },
  );

  test("[S195] fails the step if its key is no text, with an error that says so", async () => {
    for (const key of ["", 7, "x".repeat(257)])
      expect((await use.app.error("badKey", { key })).message).toMatch(
        /^The limits of "work" in workflow "badKey" cannot be: The limit "tenant" needs a key, a text/,
      );
  });

  test("[S195] refuses the start if its key is no text, or made of a secret, and the step if that is later", async () => {
    const start = async (input: object) => await use.app.start("badFirst", input);
    await expect(start({ key: 7, tells: false })).rejects.toThrow(/needs a key, a text/);
    await expect(start({ key: "a", tells: true })).rejects.toThrow(
      /^The limits of "work" in workflow "badFirst" read input.secret, which is sensitive/,
    );
    expect(await use.app.output("badFirst", { key: "a", tells: false })).toBe("done");
    expect((await use.app.error("badLater", { org: "a" })).message).toMatch(
      /^The limits of "work" in workflow "badLater" read found, which is sensitive/,
    );
  });

  test("[S192] costs no function call, with a key or without, also for a first step", async () => {
    const executions = async (name: string) => {
      use.app.counter.clear();
      await use.app.run(name, { name: "one" });
      return use.app.counter.totals(({ name }) => !name.startsWith("watchdog:")).rootExecutions;
    };
    const without = await executions("free");
    expect(await executions("exported")).toBe(without);
    expect(await executions("otherKeys")).toBe(without);
    expect(await executions("timedTenant")).toBe(without);
  });
});
