import type { Token } from "../src/component/validators.js";
import { makeFunctionReference } from "convex/server";
import type { Value } from "convex/values";
import { describe, expect, test } from "vitest";
import { components, internal } from "./convex/_generated/api.js";
import { isOf } from "./component.js";
import { dying, TestApp, useTestApp } from "./harness.js";

const use = useTestApp();

/** What the component scheduled, oldest first. */
const jobs = async () => await use.app.jobs();

/** Reports once more what an action has reported. */
async function reportAgain(name: string, output: unknown, change: object = {}): Promise<void> {
  const job = (await jobs()).find((one) => one.name.endsWith(name));
  if (job === undefined) throw new Error(`No "${name}" was scheduled`);
  const { token, slot } = job.args[0] as { token: object; slot: string };
  await use.app.t.mutation(makeFunctionReference<"mutation">(`_workflows/${name}Done`), {
    token: { ...token, ...change },
    slot,
    report: { kind: "success", output },
    fuse: true,
  });
}

describe("what would break if", () => {
  test("[S108] a report came twice: nothing changes, in the midst of a run or after it", async () => {
    const id = await use.app.start("kinds", { n: 2 });
    await use.app.drive(async () => (await use.app.steps(id)).includes("counted completed"));
    const midst = await use.app.tree(id);
    // It executes mutations that follow, finds out that they were executed before, and throws: so
    // they are undone.
    await expect(reportAgain("kinds:doubled", 99)).rejects.toThrow(/went another way/);
    expect(await use.app.tree(id)).toEqual(midst);
    await use.app.drive();
    const after = await use.app.tree(id);
    await reportAgain("kinds:plain", { inserted: null });
    expect(await use.app.tree(id)).toEqual(after);
    expect(await use.app.log()).toEqual(["doubled 4", "inserted 2"]);
    await use.app.expectNothingLeft();
  });

  test("[S108] a report of an older attempt came late: it changes nothing", async () => {
    const id = await use.app.start("flaky", { goodAttempt: 3 });
    await use.app.drive(async () => {
      const status = await use.app.status("flaky", id);
      return status?.active[0]?.attempt === 3;
    });
    const before = await use.app.tree(id);
    await reportAgain("flaky:attempt", "late", { attempt: 1 });
    expect(await use.app.tree(id)).toEqual(before);
    await use.app.drive();
    expect(await use.app.status("flaky", id)).toMatchObject({ output: { attempt: 3 } });
  });

  test("[S108] a report of an older attempt came while the next one runs: it does not take its slot", async () => {
    // So that the next one has the same slot.
    await use.app.t.mutation(components.workflow.config.update, { maxParallelism: 1 });
    const id = await use.app.start("slow", { ms: 60_000 });
    await use.app.drive(async () => {
      const active = (await use.app.status("slow", id))?.active[0];
      return active?.state === "running" && active.attempt === 2;
    });
    await use.app.advance(100);
    await reportAgain("slow:wait", "late", { attempt: 1 });
    expect(await use.app.slotsHeld()).toBe(1);
    await use.app.drive();
    await use.app.expectNothingLeft();
  });

  test("a run failed where it entered: the scheduled function that does so is not canceled", async () => {
    // A deployment drops what a canceled function schedules: here, that the parent goes on. While a
    // mutation runs, its state is pending there; so the function is called beside the schedule, as
    // that very job.
    const id = await use.app.start("aboveChildrenThrow", {});
    const pending = async () =>
      (await jobs()).find(
        ({ name, state, args }) =>
          name.includes("beginsBadly") &&
          state.kind === "pending" &&
          (args[0] as { token: Token }).token.run !== id,
      );
    await use.app.drive(async () => (await pending()) !== undefined);
    const job = await pending();
    const entry = makeFunctionReference<"mutation">("_workflows/beginsBadly:entry");
    const asItself = { ...(job?.args[0] as Record<string, Value>), nested: true };
    await use.app.t.mutation(entry, asItself);
    expect((await pending())?._id).toBe(job?._id);
    await use.app.drive();
    expect(await use.app.status("aboveChildrenThrow", id)).toMatchObject({
      state: "failed",
      error: { kind: "childFailed" },
    });
  });

  test("a report came with a token that was made up: it changes nothing", async () => {
    const id = await use.app.run("flaky", { goodAttempt: 1 }).then(({ runId }) => runId);
    const before = await use.app.tree(id);
    await reportAgain("flaky:attempt", "forged", { step: "nonsense" });
    expect(await use.app.tree(id)).toEqual(before);
  });

  test(
    "a step left little of its transaction: its report still gets through",
    { tags: ["large"] },
    async () => {
      const status = await use.app.run("afterAction", { megabytes: 15 });
      expect(status).toMatchObject({ state: "completed", output: "done" });
    },
  );

  test(
    "[S109] a completion failed with what it executed: it is called again, with nothing beside it",
    { tags: ["large"] },
    async () => {
      const app = new TestApp({ settle: ({ fused }) => fused.length > 0 && fails-- > 0 });
      let fails = 1;
      const status = await app.run("afterAction", { megabytes: 1 });
      expect(status).toMatchObject({ state: "completed", output: "done" });
      const completions = app.counter.calls.filter(({ name }) => name.endsWith(":fetchedDone"));
      expect(completions.map(({ failed }) => failed)).toEqual([true, false]);
      await app.expectNothingLeft();
    },
  );

  test(
    "[S109] a completion fails for good: the run ends with that error",
    { tags: ["large"] },
    async () => {
      // Only the last resort gets through: a report of failure that the action itself makes.
      const app = new TestApp({ settle: ({ outcome }) => outcome.kind === "success" });
      const status = await app.run("afterAction", { megabytes: 1 });
      expect(status).toMatchObject({
        state: "failed",
        error: { node: "fetched", message: expect.stringContaining("injected") },
      });
      await app.expectNothingLeft();
    },
  );

  test("[S86] a child ended while its parent was being canceled: no sibling starts", async () => {
    const leaves = [
      { n: 0, ms: 100 },
      { n: 1, ms: 100 },
      { n: 2, ms: 100 },
    ];
    const id = await use.app.start("twoAtOnce", { leaves });
    await use.app.advance(50);
    await use.app.t.mutation(internal.runs.cancel, { runId: id });
    await use.app.drive();
    const works = use.app.counter.calls.filter(({ name }) => name.endsWith("leaf:work"));
    expect(works).toHaveLength(2);
    await use.app.expectNothingLeft();
  });

  test("[S107] an action died with its machine: within a minute it counts as an attempt, and the next one is made", async () => {
    const app = new TestApp(dying(1));
    const id = await app.start("flaky", { goodAttempt: 2 });
    const started = Date.now();
    await app.drive(async () => (await app.status("flaky", id))?.state === "completed");
    expect(Date.now() - started).toBeLessThan(60_000);
    const [top] = await app.tree(id);
    expect(top?.steps).toMatchObject([
      { state: "completed", attempt: 2, errors: [{ kind: "lost" }] },
    ]);
    await app.drive();
    expect(await app.slotsHeld()).toBe(0);
  });

  test("[S107] without another attempt, a run whose action died ends as lost", async () => {
    const app = new TestApp(dying(1));
    const status = await app.run("echo", { value: 1 });
    expect(status).toMatchObject({ state: "failed", error: { kind: "lost", node: "same" } });
    expect(await app.slotsHeld()).toBe(0);
  });

  test("[S112] one whose action dies at every attempt ends after maxAttempts", async () => {
    // Whatever an action tries to report does not come through.
    const app = new TestApp(dying());
    const { runId, ...status } = await app.run("flaky", { goodAttempt: 1 });
    expect(status).toMatchObject({ state: "failed", error: { kind: "lost", attempt: 4 } });
    const [top] = await app.tree(runId);
    expect(top?.steps).toMatchObject([
      {
        state: "failed",
        attempt: 4,
        errors: ["lost", "lost", "lost", "lost"].map((kind) => ({ kind })),
      },
    ]);
    expect(await app.slotsHeld()).toBe(0);
  });

  test("[S107] with a timeout, it is seen within seconds of it", async () => {
    const app = new TestApp(dying(1));
    const id = await app.start("slow", { ms: 0 });
    const started = Date.now();
    await app.drive(async () => (await app.status("slow", id))?.state === "completed");
    // Its timeout is 10 s; then comes the second attempt, after at most 1.5 s.
    expect(Date.now() - started).toBeLessThan(17_000);
  });

  test("[S107] an action that is merely long is left alone", async () => {
    const id = await use.app.start("list", { leaves: [{ n: 1, ms: 1_500_000 }] });
    await use.app.drive();
    expect(await use.app.status("list", id)).toMatchObject({ state: "completed", output: [10] });
    const sweeps = use.app.counter.calls.filter(isOf("watchdog:sweep"));
    expect(sweeps.length).toBeLessThanOrEqual(7);
  });
});
