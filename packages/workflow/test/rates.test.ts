import { expect, test, vi } from "vitest";
import { components, internal } from "./limited/_generated/api.js";
import { type Modules, useTestApp } from "./harness.js";

/* Limits of steps that say how many start in a time. */

const modules: Modules = import.meta.glob(["./limited/**/*.{ts,js}", "!./limited/**/*.*.ts"]);
await Promise.all(Object.values(modules).map((load) => load()));
const use = useTestApp({ modules });

test("[S216] [S217] steps begin as the rate of their limit lets them, say what they wait for, and leave nothing when canceled or paused", async () => {
  const runs: string[] = [];
  for (const name of ["a", "b", "c", "d", "e"]) runs.push(await use.app.start("rated", { name }));
  await use.app.advance(1_000);
  expect(await use.app.log()).toHaveLength(2);
  const [third, fourth] = [runs[2]!, runs[3]!];
  expect((await use.app.status("rated", third))?.active).toMatchObject([
    {
      doing: "queued",
      waitsFor: { limit: "api", running: 2, atMost: 2, place: 1, nextAt: expect.any(Number) },
    },
  ]);
  await use.app.t.mutation(internal.runs.cancel, { runId: third });
  await use.app.t.mutation(internal.manager.pause, { runId: fourth });
  await use.app.advance(60_000);
  expect(await use.app.log()).toEqual(["a", "b", "e"].map((name) => `begin ${name}`));
  await use.app.t.mutation(internal.manager.resume, { runId: fourth });
  await use.app.drive();
  expect(await use.app.log()).toHaveLength(4);
  await use.app.expectNothingLeft();
});

test("[S97] [S224] a use that cannot be made of a sensitive output is logged without it", async () => {
  const told = vi.spyOn(console, "error").mockImplementation(() => {});
  await use.app.start("countedSecretly", {});
  await use.app.drive();
  expect(told.mock.calls).toEqual([
    [
      expect.stringContaining(
        `The spend for the limit "tokens" of "asked" in workflow "countedSecretly"`,
      ),
    ],
  ]);
  expect(JSON.stringify(told.mock.calls)).not.toContain("s3cret");
});

test("[S131] [S217] steps that wait for a rate: finishAllScheduledFunctions ends", async () => {
  for (let n = 0; n < 7; n++) await use.app.start("rated", { name: `r${n}` });
  await use.app.t.finishAllScheduledFunctions(vi.runAllTimers);
  expect(await use.app.log()).toHaveLength(7);
  await use.app.expectNothingLeft();
});

test("[S223] [S224] a step books what its output says it has used, in place of the estimate", async () => {
  const begin = async (name: string, used: number, fails = false) => {
    await use.app.start("counted", { name, used, fails });
    await use.app.advance(1_000);
  };
  const taken = async () =>
    await use.app.inComponent(async (ctx) => {
      const [bucket] = await ctx.db.query("buckets").collect();
      return Math.round(bucket!.taken - (Date.now() - bucket!.at) / 60);
    });
  await begin("little", 10);
  expect(await taken()).toBeLessThanOrEqual(0);
  await begin("fails", 0, true);
  expect(await taken()).toBeGreaterThan(370);
  await begin("much", 2_000);
  expect(await taken()).toBeGreaterThan(2_300);
  const waits = await use.app.start("counted", { name: "waits", used: 1 });
  await use.app.advance(1_000);
  expect(await use.app.log()).not.toContain("begin waits");
  const { waitsFor } = (await use.app.status("counted", waits))!.active[0]!;
  await use.app.drive();
  expect(await use.app.log()).toContain("begin waits");
  // It takes its estimate, and that is there only then.
  const status = (await use.app.status("counted", waits))!;
  if (status.state !== "completed") throw new Error(`It is ${status.state}`);
  expect(Math.abs(status.endedAt - waitsFor!.nextAt!)).toBeLessThan(1_000);
  // A use that is no amount counts as estimated, and the log says so.
  const told = vi.spyOn(console, "error").mockImplementation(() => {});
  const before = await taken();
  await begin("odd", -1);
  expect(await taken()).toBeGreaterThan(before + 370);
  expect(told.mock.calls).toEqual([
    [expect.stringContaining(`The spend for the limit "tokens" of "asked" in workflow "counted"`)],
  ]);
  await use.app.expectNothingLeft();
});

test.each([
  ["by itself", 10, 0],
  ["in an executor", 1, 30_000],
])(
  "[S226] a step of a run that is canceled while it runs, %s, is booked by how it ends",
  async (_where, maxParallelism, begins) => {
    const taken = async () =>
      await use.app.inComponent(async (ctx) => {
        const [bucket = { taken: 0, at: Date.now() }] = await ctx.db.query("buckets").collect();
        return Math.round(bucket.taken - (Date.now() - bucket.at) / 60);
      });
    await use.app.t.mutation(components.workflow.config.update, { maxParallelism });
    await use.app.start("countedSlowly", { used: 1 });
    await use.app.advance(100);
    const canceled = await use.app.start("countedSlowly", { used: 2_000 });
    await use.app.advance(begins + 10_000);
    expect(await use.app.slotsHeld()).toBe(maxParallelism === 1 ? 1 : 2);
    await use.app.t.mutation(internal.runs.cancel, { runId: canceled });
    await use.app.advance(25_000);
    expect(await use.app.slotsHeld()).toBe(0);
    expect(await taken()).toBeGreaterThan(1_000);
    await use.app.drive();
    await use.app.expectNothingLeft();
  },
);

test("[S217] what a step would have taken of a rate, had it found a slot, does not keep it back", async () => {
  await use.app.t.mutation(components.workflow.config.update, { maxParallelism: 2 });
  await use.app.start("ratedTogether", {});
  await use.app.advance(1_000);
  expect(await use.app.log()).toEqual(["left", "right"]);
  await use.app.drive();
  await use.app.expectNothingLeft();
});
