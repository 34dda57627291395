import { expect, test, vi } from "vitest";
import { components } from "./convex/_generated/api.js";
import { isOf } from "./component.js";
import { TestApp, useTestApp } from "./harness.js";

const use = useTestApp();

/** How many root executions a run takes from its start, which is one of them, to its end. */
async function rootExecutions(name: string, input: unknown): Promise<number> {
  return (await whole(name, input)).rootExecutions;
}

async function whole(name: string, input: unknown) {
  use.app.counter.clear();
  const id = await use.app.start(name, input);
  await use.app.drive(async () => (await use.app.status(name, id))?.state === "completed");
  return watchless();
}

/** The watchdog's sweeps belong to no node. */
const watchless = () => use.app.counter.totals(({ name }) => !name.startsWith("watchdog:"));

test("[S66] a sleep costs one root execution, and reads seven documents", async () => {
  const none = await whole("sleeps", { ms: 0 });
  const one = await whole("sleeps", { ms: 60_000 });
  expect(one.rootExecutions - none.rootExecutions).toBe(1);
  expect(one.documentsRead - none.documentsRead).toBe(7);
});

test("[S69] an event costs none beyond the sender's", async () => {
  const id = await use.app.start("approval", {});
  await use.app.drive();
  use.app.counter.clear();
  await use.app.t.mutation(components.workflow.events.send, {
    workflow: "approval",
    run: { runId: id },
    name: "decision",
    value: { by: "Ada", ok: true },
    receivers: [{ stage: "decision" }],
  });
  await use.app.drive();
  expect((await use.app.status("approval", id))?.state).toBe("completed");
  expect(watchless().rootExecutions).toBe(1);
});

test("[S76] [S78] the conditions of branches and loops cost none", async () => {
  // The start, what it schedules, and two for the action in the case.
  expect(await rootExecutions("routed", { n: 7 })).toBe(4);
  // Each iteration has a branch, an action and a mutation.
  const [three, nine] = [
    await rootExecutions("counted", { to: 3, inAction: true }),
    await rootExecutions("counted", { to: 9, inAction: true }),
  ];
  expect(nine - three).toBe(2 * 6);
});

test("[S240] a parallel of two queries costs no execution, nor do its branches", async () => {
  // The start, and what it schedules.
  expect(await rootExecutions("toldFacts", {})).toBe(2);
});

test("[S250] one more item with an action costs at most 2.2 root executions, reads 12 documents, writes 6", async () => {
  const cost = async (length: number) => {
    const app = new TestApp({ deploymentClass: "s256" });
    const items = Object.fromEntries(Array.from({ length }, (_none, n) => [`i${n}`, n]));
    const id = await app.start("doubled", { items, most: length });
    await app.drive(async () => (await app.status("doubled", id))?.state === "completed");
    return app.counter.totals();
  };
  const [one, ten] = [await cost(1), await cost(10)];
  const each = (of: "rootExecutions" | "documentsRead" | "documentsWritten") =>
    (ten[of] - one[of]) / 9;
  expect(each("rootExecutions")).toBeLessThanOrEqual(2.2);
  expect(each("documentsRead")).toBeLessThanOrEqual(12);
  expect(each("documentsWritten")).toBeLessThanOrEqual(6);
});

test("[S82] a child run with k action steps costs 2k + 1 at most", async () => {
  // The start, what it schedules, the child with its one action, and the join.
  expect(await rootExecutions("single", { n: 1, fails: false })).toBeLessThanOrEqual(2 + 2 * 1 + 1);
});

test("[S45] the children of a run that has just woken the pool start at once: no drain is needed", async () => {
  vi.spyOn(Math, "random").mockReturnValue(0.5);
  // Its handler succeeds 100 ms after its first attempt has woken the pool.
  const id = await use.app.start("handled", { n: 3 });
  await use.app.drive();
  expect((await use.app.status("handled", id))?.state).toBe("completed");
  const roots = use.app.counter.calls.filter(({ how }) => how === "root");
  const first = roots.findIndex(({ name }) => name === "_workflows/leaf:work");
  expect(first).toBeGreaterThan(0);
  expect(roots.slice(0, first).filter(isOf("watchdog:drainQueue"))).toEqual([]);
});

test("[S56] children that end at the same time write no document in common", async () => {
  const runsOf = new Map<string, Set<string>>();
  const app = new TestApp({
    writes: ({ token }, document) =>
      runsOf.set(document, (runsOf.get(document) ?? new Set()).add(token.run)),
  });
  await app.t.mutation(components.workflow.config.update, { maxParallelism: 100 });
  const leaves = Array.from({ length: 60 }, (_, n) => ({ n, ms: 60_000 }));
  const id = await app.start("list", { leaves });
  await app.drive();
  expect(await app.status("list", id)).toMatchObject({ state: "completed" });
  // The parent's documents are written by itself, and by the last of its children.
  const children = [...runsOf.values()].map((runs) => [...runs].filter((run) => run !== id));
  expect(new Set(children.flat()).size).toBe(60);
  expect(children.filter((writers) => writers.length > 1)).toEqual([]);
});

test.each(["longLoop", "longActionLoop"])(
  "[S80] %s: every transaction reads and writes as much as the first ones; every hundredth iteration has old ones removed, in a transaction of its own",
  { tags: ["large"] },
  async (name) => {
    const iterations = 450;
    await use.app.start(name, { iterations });
    await use.app.drive();
    const roots = use.app.counter.calls.filter(({ how }) => how === "root");
    const costs = roots
      .filter((call) => call.name.includes(`/${name}:`))
      .map(({ total: { documentsRead, documentsWritten, bytesRead } }) => ({
        documentsRead,
        documentsWritten,
        bytesRead,
      }));
    // Beginning and end are no iterations; what an action itself reads differs from what its
    // completion does.
    const middle = costs.slice(4, -4);
    const usual = new Set(middle.slice(0, 12).map((cost) => JSON.stringify(cost)));
    expect(usual.size).toBeLessThanOrEqual(2);
    const others = middle.filter((cost) => !usual.has(JSON.stringify(cost)));
    expect(others).toHaveLength(3);
    const most = Math.max(...middle.slice(0, 12).map(({ documentsRead }) => documentsRead));
    for (const { documentsRead } of others) expect(documentsRead).toBeLessThanOrEqual(most + 2);
    const removals = roots.filter(isOf("features/iterations:removeMoreIterations"));
    // At the 200th, the 300th and the 400th, and when all is over.
    expect(removals).toHaveLength(4);
    for (const { total } of removals) expect(total.documentsRead).toBeLessThan(2.1 * 100);
  },
);

test(
  "[S80] what iterations cost with all that is done for them is the same at the 1,000th as at the 200th",
  { tags: ["large"] },
  async () => {
    const cost = async (iterations: number) => {
      use.app.counter.clear();
      const id = await use.app.start("longLoop", { iterations });
      await use.app.drive(
        async () => (await use.app.status("longLoop", id))?.state === "completed",
      );
      const { documentsRead, documentsWritten, bytesRead } = use.app.counter.totals(
        ({ name }) => !name.startsWith("watchdog:"),
      );
      return { documentsRead, documentsWritten, bytesRead };
    };
    const [from200, to400, from800, to1000] = [
      await cost(200),
      await cost(400),
      await cost(800),
      await cost(1_000),
    ];
    for (const count of ["documentsRead", "documentsWritten", "bytesRead"] as const) {
      const [early, late] = [to400[count] - from200[count], to1000[count] - from800[count]];
      expect(Math.abs(late - early) / early, count).toBeLessThan(0.05);
    }
  },
);
