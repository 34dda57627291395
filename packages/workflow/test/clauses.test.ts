import { describe, expect, test } from "vitest";
import { internal } from "./convex/_generated/api.js";
import { useTestApp } from "./harness.js";

const use = useTestApp();
const HOUR = 60 * 60_000;

async function cancel(runId: string): Promise<void> {
  await use.app.t.mutation(internal.runs.cancel, { runId });
}

describe("retry", () => {
  test("[S32] no wait is longer than maxBackoffMs", async () => {
    const starts: number[] = [];
    use.app.counter.onCall(({ name, startedAt }) => {
      if (name.endsWith("capped:attempt")) starts.push(startedAt);
    });
    await use.app.run("capped", {});
    const waits = starts.slice(1).map((at, i) => at - (starts[i] ?? 0));
    expect(waits).toHaveLength(4);
    expect(Math.max(...waits)).toBeLessThanOrEqual(2_001);
    expect(waits[0]).toBeLessThanOrEqual(1_501);
  });

  test.each(["action", "mutation", "query"])(
    "[S33] a NonRetryableError of a nested %s stops at once, and keeps its data",
    async (of) => {
      expect(await use.app.error("nestedRefusal", { of })).toMatchObject({
        kind: "nonRetryable",
        message: "never again",
        data: { code: 9 },
        attempt: 1,
      });
    },
  );

  test("[S33] so does that of a referenced one", async () => {
    expect(await use.app.error("referencedRefusal", {})).toMatchObject({
      kind: "nonRetryable",
      attempt: 1,
    });
  });

  test("[S35] the step's own settings go before the workflow's, and without any there is one attempt", async () => {
    expect(await use.app.output("overridden", {})).toEqual(["attempt 2", "attempt 1", "attempt 4"]);
    expect(await use.app.error("notRetried", {})).toMatchObject({ message: "once", attempt: 1 });
  });
});

describe("what a handler can ask", () => {
  test("[S29] [S38] the run's id; the signal is aborted when its time is over", async () => {
    const id = await use.app.start("watchful", { canceled: false });
    await use.app.drive();
    expect(await use.app.status("watchful", id)).toMatchObject({ error: { kind: "timedOut" } });
    expect(await use.app.log()).toEqual([`${id} aborted true canceled true`]);
  });

  test("[S84] whether the run was canceled, which aborts no signal", async () => {
    const id = await use.app.start("watchful", { canceled: true });
    await use.app.pass(1_000);
    await cancel(id);
    await use.app.drive();
    expect(await use.app.log()).toEqual([`${id} aborted false canceled true`]);
    await use.app.expectNothingLeft();
  });
});

describe("parents", () => {
  test("[S43] [S44] a record of children, and one without any", async () => {
    expect(await use.app.output("recordOf", { names: ["b", "a"] })).toEqual({ b: 0, a: 10 });
    expect(await use.app.output("recordOf", { names: [] })).toEqual({});
  });

  test("[S47] an action that finalizes is tried again by its own settings, and nothing before it is", async () => {
    expect(await use.app.output("finalizedAgain", {})).toEqual({ attempt: 3, children: [0, 10] });
    expect(await use.app.log()).toEqual(["handler"]);
  });

  test("[S55] every run in a tree knows its root", async () => {
    const id = await use.app.start("grandparent", { leaves: [{ n: 1 }] });
    await use.app.drive();
    const roots = await use.app.inComponent(async (ctx) =>
      (await ctx.db.query("runs").collect())
        .filter(({ _id }) => _id !== id)
        .map(({ root }) => root),
    );
    expect(roots.length).toBeGreaterThan(1);
    expect(new Set(roots)).toEqual(new Set([id]));
  });
});

describe("events", () => {
  const call = async (run: string, payload: string) =>
    await use.app.t.mutation(internal.manager.sendEvent, {
      name: "patientTwice",
      run,
      event: "call",
      payload,
    });

  test("[S73] one that comes after the time for it is kept for a later node of its name", async () => {
    const id = await use.app.start("patientTwice", {});
    await use.app.pass(HOUR + 1_000);
    expect(await call(id, "late")).toBe("kept");
    await use.app.drive();
    expect(await use.app.status("patientTwice", id)).toMatchObject({
      output: { call: { timedOut: true }, again: { name: "call", value: "late" } },
    });
  });

  test("[S85] nothing waits for an event any more when its run is canceled", async () => {
    const id = await use.app.start("patientTwice", {});
    await use.app.pass(1_000);
    await cancel(id);
    await use.app.drive();
    await use.app.expectNothingLeft();
    await expect(call(id, "late")).rejects.toThrow(/takes no events any more: it is canceled/);
  });
});
