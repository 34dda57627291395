import { anyApi } from "convex/server";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { vitestTimers } from "../src/index.js";
import { countedApp } from "./app/index.js";

const tasks = anyApi["tasks"]!;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe("how a call was entered", () => {
  test("a client's call is root, one inside its transaction is nested", async () => {
    const { counter, t } = countedApp();
    await t.mutation(tasks["addAll"]!, { texts: ["a", "b"] });
    expect(counter.calls.map(({ name, how }) => [name, how])).toEqual([
      ["tasks:addAll", "root"],
      ["tasks:add", "nested"],
      ["tasks:add", "nested"],
    ]);
    expect(counter.calls.map(({ parent }) => parent)).toEqual([undefined, 0, 0]);
    expect(counter.totals()).toMatchObject({ rootExecutions: 1, executions: 3 });
  });

  test("what an action calls is a root execution of its own", async () => {
    const { counter, t } = countedApp();
    const running = t.action(tasks["busy"]!, { text: "a", forMs: 0 });
    await counter.drive({ timers: vitestTimers(vi) });
    await running;
    expect(counter.calls.map(({ name, how }) => [name, how])).toEqual([
      ["tasks:busy", "root"],
      ["tasks:list", "action"],
      ["tasks:add", "action"],
      ["tasks:add", "root"],
    ]);
    expect(counter.totals()).toMatchObject({ rootExecutions: 4, executions: 4 });
  });

  test("a scheduled function is root, even while the action that scheduled it is running", async () => {
    const { counter, t } = countedApp();
    const running = t.action(tasks["busy"]!, { text: "a", forMs: 60_000 });
    await counter.drive({ timers: vitestTimers(vi) });
    await running;
    const [action, , , scheduled] = counter.calls;
    expect(scheduled).toMatchObject({ name: "tasks:add", how: "root" });
    expect(scheduled?.parent).toBeUndefined();
    expect(scheduled!.startedAt - action!.startedAt).toBe(10);
    expect(action!.endedAt! - action!.startedAt).toBe(60_000);
  });

  test("so it is in real time, where the timer keeps the action's context", async () => {
    vi.useRealTimers();
    const { counter, t } = countedApp();
    await t.action(tasks["awaitScheduled"]!, { text: "a" });
    const added = counter.calls.filter(({ name }) => name === "tasks:add");
    expect(added).toMatchObject([{ how: "root" }]);
  });

  test("a component's function is counted under the component's path", async () => {
    const { counter, t } = countedApp();
    await t.mutation(tasks["addMarked"]!, { text: "a" });
    expect(counter.byFunction()).toMatchObject([
      { component: "", name: "tasks:addMarked", type: "mutation", how: "root", n: 1 },
      { component: "tally", name: "tally:mark", type: "mutation", how: "nested", n: 1 },
    ]);
  });

  test("an inline function counts as a call; t.run does not, what it calls does", async () => {
    const { counter, t } = countedApp();
    await t.mutation(async (ctx) => await ctx.runMutation(tasks["add"]!, { text: "a" }));
    await t.run(async (ctx) => await ctx.runMutation(tasks["add"]!, { text: "b" }));
    expect(counter.calls.map(({ name, how }) => [name, how])).toEqual([
      ["inline", "root"],
      ["tasks:add", "nested"],
      ["tasks:add", "nested"],
    ]);
  });

  test("calls under another identity are counted too", async () => {
    const { counter, t } = countedApp();
    await t.withIdentity({ name: "Ada" }).query(tasks["list"]!, {});
    expect(counter.totals().rootExecutions).toBe(1);
  });
});

test("transactions at one moment see the time of the virtual clock, however many have committed", async () => {
  const { t } = countedApp();
  const seen: number[] = [];
  for (let n = 0; n < 3; n += 1) {
    seen.push(
      await t.mutation(async (ctx) => {
        await ctx.db.insert("tasks", { text: "a" });
        return Date.now();
      }),
    );
  }
  expect(seen).toEqual(Array.from({ length: 3 }, () => Date.now()));
});

describe("what a call used", () => {
  test("self leaves out what was called, total holds it", async () => {
    const { counter, t } = countedApp();
    await t.mutation(tasks["addMarked"]!, { text: "a" });
    const [outer, inner] = counter.calls;
    expect(outer!.self.documentsWritten).toBe(1);
    expect(outer!.total.documentsWritten).toBe(2);
    expect(inner!.total.documentsWritten).toBe(1);
    expect(outer!.total.bytesWritten).toBe(outer!.self.bytesWritten + inner!.self.bytesWritten);
    expect(counter.totals()).toMatchObject({ documentsWritten: 2 });
  });

  test("the writes of a failed nested mutation are not counted, its reads are", async () => {
    const { counter, t } = countedApp();
    await t.mutation(tasks["addAll"]!, { texts: ["a", "refused", "b"] });
    expect(await t.query(tasks["list"]!, {})).toEqual(["a", "b"]);
    expect(counter.calls.map(({ failed }) => failed)).toEqual([false, false, true, false, false]);
    expect(counter.totals()).toMatchObject({ documentsWritten: 2, documentsRead: 2, failures: 1 });
  });

  test("a failed transaction takes back the writes of all that was nested in it", async () => {
    const { counter, t } = countedApp();
    await expect(t.mutation(tasks["addTwiceThenFail"]!, {})).rejects.toThrow("after all");
    expect(counter.totals().documentsWritten).toBe(0);
    expect(counter.calls.map(({ rolledBack }) => rolledBack)).toEqual([true, true, true, true]);
    expect(counter.calls.map(({ failed }) => failed)).toEqual([true, false, false, false]);
  });

  test("an action's total is the sum of its calls", async () => {
    const { counter, t } = countedApp();
    await t.mutation(tasks["add"]!, { text: "first" });
    counter.clear();
    const running = t.action(tasks["busy"]!, { text: "a", forMs: 0 });
    await counter.drive({ timers: vitestTimers(vi) });
    await running;
    const [action] = counter.calls;
    expect(action!.total).toMatchObject({ documentsRead: 1, documentsWritten: 1 });
    expect(action!.self).toMatchObject({ documentsRead: 0, functionsScheduled: 1 });
  });

  test("scheduled functions are counted where they are scheduled", async () => {
    const { counter, t } = countedApp();
    await t.mutation(tasks["scheduleAdd"]!, { texts: ["a", "b"], afterMs: 0 });
    expect(counter.totals().functionsScheduled).toBe(2);
    await counter.drive({ timers: vitestTimers(vi) });
    expect(counter.totals()).toMatchObject({ functionsScheduled: 2, documentsWritten: 2 });
  });

  test("an observer's calls are left out", async () => {
    const { counter, t } = countedApp();
    const seen = await counter.uncounted(async () => await t.query(tasks["list"]!, {}));
    expect(seen).toEqual([]);
    expect(counter.calls).toEqual([]);
  });

  test("sums can be narrowed, and clear() forgets", async () => {
    const { counter, t } = countedApp();
    await t.mutation(tasks["addMarked"]!, { text: "a" });
    expect(counter.totals((call) => call.component === "tally").documentsWritten).toBe(1);
    counter.clear();
    expect(counter.totals().executions).toBe(0);
  });

  test("a listener hears of each counted call at its end, until it is removed", async () => {
    const { counter, t } = countedApp();
    const heard: string[] = [];
    const remove = counter.onCall((call) => heard.push(call.name));
    await t.mutation(tasks["addMarked"]!, { text: "a" });
    remove();
    await t.mutation(tasks["add"]!, { text: "b" });
    expect(heard).toEqual(["tally:mark", "tasks:addMarked"]);
  });
});
