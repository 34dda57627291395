import { AsyncLocalStorage } from "node:async_hooks";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { convexTest } from "convex-test";
import { anyApi } from "convex/server";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { pinToClock } from "../src/back-end.js";
import { Counter, vitestTimers } from "../src/index.js";
import { canIndex, isKnown, withIndexes } from "../src/indexed/with-indexes.js";
import { RandomOperations } from "./indexed/random.js";
import schema from "./indexed/schema.js";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const { mutate, look } = anyApi["run"]!;
const modules = {
  "./_generated/api.ts": async () => ({}),
  "./run.ts": () => import("./indexed/run.js"),
};

function appWith(indexes: boolean) {
  vi.clearAllTimers();
  vi.setSystemTime(1_000_000);
  const counter = new Counter({ indexes });
  const t = counter.convexTest({ schema, modules });
  t.registerComponent("inner", schema, modules);
  return { counter, t };
}

/** What is seen by the transactions of one seed, by those that they scheduled, and in the end. */
async function history(seed: number, indexes: boolean): Promise<unknown[]> {
  const { counter, t } = appWith(indexes);
  const random = new RandomOperations(seed);
  const seen: unknown[] = [];
  for (let step = 0; step < 15; step += 1) {
    const operations = random.operations(14);
    const fails = random.upTo(9) === 0;
    const said = t.mutation(mutate!, { operations, fails });
    seen.push(await said.catch((error: Error) => error.message));
    if (random.upTo(1) === 0) seen.push(await t.query(look!, { operations: random.operations(8) }));
    const until = Date.now() + random.upTo(2) * 10;
    await counter.drive({ timers: vitestTimers(vi), done: () => Date.now() >= until });
    seen.push(
      await t.action(async (ctx) => {
        const kind = `k${random.upTo(2)}`;
        const filter = (q: { eq(...args: unknown[]): unknown }) => q.eq("kind", kind);
        const options = { vector: [1, 2], limit: 4, filter };
        return await ctx.vectorSearch("things", "by_vector", options as never);
      }),
    );
  }
  seen.push(counter.byFunction(), counter.totals());
  return seen;
}

describe("with indexes, all that is seen is what convex-test alone gives", () => {
  test.each(Array.from({ length: 20 }, (_, i) => i + 1))(
    "seed %i",
    { tags: ["large"] },
    async (seed) => {
      expect(await history(seed, true)).toStrictEqual(await history(seed, false));
    },
  );
});

test("a query's results are those of its start, whatever is written while they are read", async () => {
  const { t } = appWith(true);
  const seen = await t.run(async (ctx) => {
    const insert = async (a: number) =>
      await ctx.db.insert("things", { kind: "k", text: "", vector: [0, 0], a });
    const [first] = [await insert(1), await insert(2), await insert(4)];
    const found: unknown[] = [];
    for await (const { _id, a } of ctx.db.query("things").withIndex("by_a")) {
      found.push(a);
      if (_id !== first) continue;
      await insert(3);
      await ctx.db.patch("things", _id, { a: 5 });
    }
    return found;
  });
  expect(seen).toEqual([1, 2, 4]);
});

test("a stale snapshot lacks as many of the newest commits as the lag says, and what its own transaction has written", async () => {
  let lag = 0;
  const counter = new Counter({ lag: () => lag });
  const t = counter.convexTest({ schema, modules });
  const all = {
    do: "query",
    query: { table: "others", index: "by_a", bounds: [], filters: [] },
    end: "collect",
    most: 0,
  };
  const insert = (a: number) => ({ do: "insert", table: "others", document: { a: { value: a } } });
  const first = { table: "others", pick: 0 };
  const commit = async (...operations: object[]) => await t.mutation(mutate!, { operations });
  await commit(insert(1));
  await commit(insert(2));
  await commit({ do: "patch", place: first, document: { a: { value: 3 } } });
  await commit({ do: "delete", place: first }, insert(4));
  await t.mutation(mutate!, { operations: [insert(5)], fails: true }).catch(() => {});
  const lookedAt = async (...before: object[]) => {
    const look = { do: "look", stale: true, operations: [all] };
    const [stale, now] = (await commit(...before, look, all)).slice(before.length) as [
      { a: number }[][],
      { a: number }[],
    ];
    return { stale: stale[0]!.map(({ a }) => a), now: now.map(({ a }) => a) };
  };
  const seen: number[][] = [];
  for (lag = 0; lag <= 5; lag += 1) {
    const { stale, now } = await lookedAt();
    expect(now).toEqual([2, 4]);
    seen.push(stale);
  }
  expect(seen).toEqual([[2, 4], [2, 3], [1, 2], [1], [], []]);
  lag = 1;
  expect(await lookedAt(insert(6))).toEqual({ stale: [2, 3], now: [2, 4, 6] });
  expect(await lookedAt()).toEqual({ stale: [2, 4], now: [2, 4, 6] });
});

test("the first of many documents is found without a look at the others", async () => {
  const { t } = appWith(true);
  let read = 0;
  await t.run(async (ctx) => {
    for (let n = 0; n < 2_000; n += 1) await ctx.db.insert("others", { a: n });
  });
  const of = (n: number) =>
    t.query(async (ctx) => {
      const query = ctx.db.query("others").withIndex("by_a", (q) => q.gte("a", n));
      return (await query.first())?.a as number;
    });
  await of(0);
  // convex-test walks along a field's path anew for each document.
  const split = vi.spyOn(String.prototype, "split");
  for (let n = 0; n < 100; n += 1) expect(await of(n * 20)).toBe(n * 20);
  read = split.mock.calls.length;
  split.mockRestore();
  expect(read).toBeLessThan(5_000);
});

describe("another version of convex-test", () => {
  const found = new AsyncLocalStorage();
  const accessor = (context: unknown) => ({
    finishInProgressScheduledFunctions: () => found.run(context, async () => {}),
    registerComponent: () => {},
  });

  test.each([
    ["that keeps its documents elsewhere", {}],
    ["with another database", { components: { "": { db: new Map() } } }],
  ])("%s is used as it is, and refused where indexes are asked for", (_, other) => {
    expect(canIndex(accessor(other))).toBe(false);
    expect(() => withIndexes(accessor(other))).toThrow("This is not convex-test 0.0.71");
    expect(() => pinToClock(accessor(other))).not.toThrow();
  });

  test("is told by any change of its text but those of Vite", async () => {
    const file = fileURLToPath(import.meta.resolve("convex-test"));
    const text = await readFile(file, "utf8");
    const source = /^class DatabaseFake \{$.*?^\}$/ms.exec(text)![0];
    expect(isKnown(source)).toBe(true);
    const inlined = source
      .replaceAll(/\b(compareValues|jsonToConvex)\(/g, "(0,__vite_ssr_import_2__.$1)(")
      .replaceAll(/^ {8}\}$/gm, "$&;");
    expect(inlined).not.toBe(source);
    expect(isKnown(inlined)).toBe(true);
    expect(isKnown(source.replace("slice(0, limit)", "slice(0, limit + 1)"))).toBe(false);
  });

  test("is used as it is without indexes", () => {
    expect(() => new Counter({ indexes: false }).convexTest({ schema, modules })).not.toThrow();
  });
});

test("a convexTest() beside a counter's is left as it is", () => {
  appWith(true);
  expect(() => withIndexes(convexTest({ schema, modules }))).not.toThrow();
});
