import { expect, test } from "vitest";
import { Deployment, S16, S256, seeded } from "../../src/index.js";
import { deployed, EXACT, insert, type MutationCtx, numbers, played, watch } from "./app.js";

const add = async (ctx: MutationCtx) => {
  const row = await ctx.db.query("rows").first();
  await ctx.db.patch("rows", row!._id, { n: row!["n"] + 1 });
};
const first = async (ctx: MutationCtx) => (await ctx.db.query("rows").first())?.["n"] ?? null;

test("[B14] a transaction without writes commits unchecked", async () => {
  const deployment = await deployed({ mutations: { insert, look: first } });
  const seen = await played(deployment, [
    [0, "insert"],
    [10, "look"],
  ]);
  // Nothing was there when it began; that somebody has committed since is no matter.
  expect(seen[1]).toEqual({ at: 30, value: null });
});

test("[B15] a commit is checked against those that are validated and not yet published", async () => {
  const deployment = await deployed(
    { mutations: { insert, add } },
    { class: { ...EXACT, persistMs: [500, 500] } },
  );
  const conflicts = watch(deployment, "conflict");
  await played(deployment, [[0, "insert"]]);
  // Validated at 20 and published at 520; the other is validated at 30.
  const seen = await played(deployment, [
    [0, "add"],
    [10, "add"],
  ]);
  expect(conflicts).toHaveLength(1);
  expect(numbers(deployment)).toEqual([2]);
  expect(seen[1]!.at).toBeGreaterThan(520);
});

test("[B16] the window of conflict is the running time, the wait for a permit, and the latency of others", async () => {
  const deployment = await deployed({ mutations: { insert, add } });
  await played(deployment, [[0, "insert"]]);
  const conflicts = watch(deployment, "conflict");
  // 24 ms after the other's begin it is still pending, after 26 it is not.
  await played(deployment, [
    [0, "add"],
    [24, "add"],
  ]);
  expect(conflicts).toHaveLength(1);
  await played(deployment, [
    [0, "add"],
    [26, "add"],
  ]);
  expect(conflicts).toHaveLength(1);
});

test("[B17] commits are published strictly in the order of their validation", async () => {
  const deployment = await deployed(
    { mutations: { insert } },
    { class: { ...EXACT, persistMs: [1, 100] }, seed: 3 },
  );
  const order: unknown[] = [];
  deployment.onCommit(({ position, ts, publishedAt, writes }) =>
    order.push({ position, ts, publishedAt, n: writes[0]!.next!["n"] }),
  );
  await played(
    deployment,
    Array.from({ length: 30 }, (_, n) => [n, "insert", { n }] as const),
  );
  const all = order as { position: number; ts: bigint; publishedAt: number; n: number }[];
  expect(all.map(({ n }) => n)).toEqual(Array.from({ length: 30 }, (_, n) => n));
  for (const [index, { ts, publishedAt }] of all.entries()) {
    expect(ts > (all[index - 1]?.ts ?? 0n)).toBe(true);
    expect(publishedAt).toBeGreaterThanOrEqual(all[index - 1]?.publishedAt ?? 0);
  }
});

test("[B17] timestamps grow when the clock jumps back", async () => {
  const deployment = await deployed({ mutations: { insert } });
  const seen: bigint[] = [];
  deployment.onCommit(({ ts }) => seen.push(ts));
  await played(deployment, [[0, "insert"]]);
  deployment.jump(-60_000);
  await played(deployment, [[0, "insert"]]);
  expect(seen[1]! > seen[0]!).toBe(true);
});

test("[B18] a commit whose snapshot is older than the log fails", async () => {
  const deployment = await deployed(
    { mutations: { insert } },
    { class: { ...EXACT, mutationMs: [100, 100], logMs: 50, mutationPermits: 9 } },
  );
  const many = Array.from({ length: 20 }, (_, at) => [at * 200, "insert"] as const);
  const seen = await played(deployment, many);
  expect(seen.every(({ error }) => error === undefined)).toBe(true);
  const slow = await deployed(
    { mutations: { insert } },
    { class: { ...EXACT, mutationMs: [5_000, 5_000], logMs: 50 } },
  );
  const told = await played(slow, [
    [0, "insert"],
    [100, "insert"],
    [4_900, "insert"],
    [8_000, "insert"],
  ]);
  expect(told[2]!.error?.message).toContain("OutOfRetention");
});

test(
  "[B19] nothing is fair: a long transaction beside short ones on the same data starves",
  { tags: ["large"] },
  async () => {
    const ms = { short: 2, long: 40 };
    const deployment = await deployed(
      { mutations: { insert, add } },
      { class: { ...EXACT, mutationMs: [ms.short, ms.long], persistMs: [2, 2] }, seed: 5 },
    );
    await played(deployment, [[0, "insert"]]);
    const exhausted = watch(deployment, "exhausted");
    const calls = Array.from({ length: 200 }, (_, at) => [at * 8, "add"] as const);
    const seen = await played(deployment, calls);
    const done = seen.filter(({ error }) => error === undefined).length;
    expect(exhausted.length).toBeGreaterThan(0);
    expect(numbers(deployment)).toEqual([done]);
  },
);

test.each([S16, S256])(
  "all of a row's increments are there, or refused, on class $name",
  { tags: ["large"] },
  async (of) => {
    for (let seed = 1; seed <= 5; seed += 1) {
      const deployment = await deployed({ mutations: { insert, add } }, { class: of, seed });
      await played(deployment, [[0, "insert"]]);
      const seen = await played(
        deployment,
        Array.from({ length: 60 }, (_, at) => [at * 15, "add"] as const),
      );
      const done = seen.filter(({ error }) => error === undefined).length;
      expect(numbers(deployment)).toEqual([done]);
    }
  },
);

test("what comes out is what the transactions would have done one after another, in the order of their commits", async () => {
  for (let seed = 1; seed <= 10; seed += 1) {
    const random = seeded(seed);
    const move = async (ctx: MutationCtx, { from = 0, to = 0 }: Record<string, number>) => {
      const rows = await ctx.db
        .query("rows")
        .withIndex("by_n", (q) => q.gte("n", from))
        .take(2);
      for (const row of rows) await ctx.db.patch("rows", row._id, { n: to });
      await insert(ctx, { n: from + to });
    };
    const run = async (calls: readonly (readonly [number, string, Record<string, number>])[]) => {
      const deployment = await deployed({ mutations: { insert, move } }, { class: S256, seed });
      const done: unknown[] = [];
      deployment.onHappening((event) => {
        if (event.what === "committed") done.push(event);
      });
      const order: Record<string, number>[] = [];
      deployment.onCommit(({ writes }) => {
        const { next } = writes.at(-1)!;
        order.push(next as unknown as Record<string, number>);
      });
      const seen = await played(deployment, calls);
      return { seen, numbers: numbers(deployment).toSorted((a, b) => a - b), order };
    };
    const calls = Array.from({ length: 12 }, () => {
      const [from, to] = [Math.floor(random() * 20), Math.floor(random() * 20)] as const;
      return [random() * 60, "move", { from: from * 1_000, to }] as const;
    });
    const together = await run(calls);
    // What a call inserts tells which it was.
    const inOrder = together.order.map(({ n }) =>
      calls.find(([, , { from, to }]) => n === (from ?? 0) + (to ?? 0))!,
    );
    const alone = await run(inOrder.map(([, name, args], at) => [at * 1_000, name, args] as const));
    expect(alone.numbers).toEqual(together.numbers);
  }
});

test("the same seed gives the same trace, byte for byte, and another seed another", async () => {
  const trace = async (seed: number) => {
    const deployment: Deployment = await deployed(
      { mutations: { insert, add } },
      { class: S256, seed },
    );
    const lines: string[] = [];
    deployment.onCommit(({ by, ts, writes }) =>
      lines.push(`${deployment.clock.now()} ${by} ${ts} ${writes.map(({ id }) => id).join()}`),
    );
    deployment.onHappening(({ what }) => lines.push(`${deployment.clock.now()} ${what}`));
    await played(deployment, [
      [0, "insert"],
      ...Array.from({ length: 40 }, (_, at) => [200 + at * 5, "add"] as const),
    ]);
    return lines.join("\n");
  };
  expect(await trace(7)).toBe(await trace(7));
  expect(await trace(7)).not.toBe(await trace(8));
});

test("a listener that throws changes nothing: the next is told too, and drive throws it in the end", async () => {
  const deployment = await deployed({ mutations: { insert, add } });
  deployment.onCommit(({ by }) => {
    throw new Error(`seen ${by}`);
  });
  const seen: string[] = [];
  deployment.onCommit(({ by }) => seen.push(by));
  const calls = played(deployment, [
    [0, "insert"],
    [1_000, "add"],
  ]);
  await expect(calls).rejects.toThrow("seen f:insert");
  expect(seen).toEqual(["f:insert", "f:add"]);
  expect(numbers(deployment)).toEqual([1]);
  // What it threw is told once.
  await deployment.drive();
});
