import { expect, test } from "vitest";
import { deployed, EXACT, f, insert, type MutationCtx, numbers, played, watch } from "./app.js";

const count = async (ctx: MutationCtx): Promise<number> =>
  (await ctx.db.query("rows").collect()).length;

test("[B1] a transaction sees what is published when it begins, and its own writes", async () => {
  const deployment = await deployed({
    mutations: {
      insert,
      look: async (ctx) => {
        const before = await count(ctx);
        await insert(ctx, {});
        return [before, await count(ctx)];
      },
    },
  });
  // Published at 25: at 24 nobody sees it, at 26 everybody does.
  const seen = await played(deployment, [
    [0, "insert"],
    [24, "look"],
    [26, "look"],
  ]);
  // The first look conflicts with what it could not see yet, and runs again.
  expect(seen.map(({ value }) => value)).toEqual([expect.any(String), [2, 3], [1, 2]]);
  expect(seen[1]!.at).toBeGreaterThan(100);
});

test("[B2] the timestamp of a snapshot is that of the last commit, however long ago", async () => {
  const deployment = await deployed({
    mutations: { insert },
    queries: { ts: (ctx) => ctx.meta.getSnapshotTs() },
  });
  const told = deployment.mutation(f["insert"]!, {});
  await deployment.drive();
  await told;
  const before = await deployment.look(f["ts"]!);
  await deployment.advance(3_600_000);
  expect(await deployment.look(f["ts"]!)).toEqual(before);
});

test("[B3] a snapshot can be read for 10 s after its successor", async () => {
  const patient = {
    ...EXACT,
    mutationPermits: 1,
    permitWaitMs: 60_000,
    mutationMs: [6_000, 6_000],
  };
  const deployment = await deployed(
    { mutations: { insert } },
    { class: { ...patient, mutationMs: [6_000, 6_000] } },
  );
  // The third waits for the permits of two others, and a commit is published soon after it began.
  const seen = await played(deployment, [
    [0, "insert"],
    [1, "insert"],
    [2, "insert"],
    [3, "insert"],
  ]);
  expect(seen.slice(0, 3).map(({ error }) => error)).toEqual([undefined, undefined, undefined]);
  expect(seen[3]!.error?.message).toContain("OutOfRetention");
});

test("[B4] the snapshot is taken before the permit is waited for", async () => {
  const look = async (ctx: MutationCtx) => {
    const seen = await count(ctx);
    await ctx.db.insert("other", { seen });
    return seen;
  };
  const deployment = await deployed(
    { mutations: { insert, look } },
    { class: { ...EXACT, mutationPermits: 1 } },
  );
  const conflicts = watch(deployment, "conflict");
  await played(deployment, [
    [0, "insert"],
    [1, "look"],
  ]);
  // What it saw was older than its permit, so it lost, and ran again.
  expect(conflicts).toHaveLength(1);
  expect(deployment.rows<{ seen: number }>("", "other").map(({ seen }) => seen)).toEqual([1]);
});

test("[B5] Date.now() is that of the code's start, after the permit, and stands still, in nested calls too", async () => {
  const times: number[][] = [];
  const deployment = await deployed(
    {
      mutations: {
        time: async (ctx) => {
          const first = Date.now();
          await insert(ctx, {});
          times.push([
            first,
            Date.now(),
            new Date().getTime(),
            await ctx.runMutation(f["nested"]!, {}),
          ]);
        },
        nested: () => Date.now(),
      },
    },
    { class: { ...EXACT, mutationPermits: 1 } },
  );
  const began = deployment.clock.now();
  await played(deployment, [
    [0, "time"],
    [1, "time"],
  ]);
  expect(times.map((each) => each.map((at) => at - began))).toEqual([
    [0, 0, 0, 0],
    [20, 20, 20, 20],
  ]);
});

test("[B5] each attempt has a time and a seed of its own", async () => {
  const seen: unknown[] = [];
  const deployment = await deployed({
    mutations: {
      insert,
      draw: async (ctx) => {
        seen.push([await count(ctx), Date.now(), Math.random()]);
        await insert(ctx, {});
      },
    },
  });
  await played(deployment, [
    [0, "insert"],
    [10, "draw"],
  ]);
  const [first, second] = seen as number[][];
  expect(second![1]).toBeGreaterThan(first![1]!);
  expect(second![2]).not.toBe(first![2]);
});

test("[B6] times of creation begin when the code runs, after the permit, and grow within a transaction", async () => {
  const deployment = await deployed(
    {
      mutations: {
        two: async (ctx) => [await insert(ctx, { n: 1 }), await insert(ctx, { n: 2 })],
        late: async (ctx) => {
          await insert(ctx, { n: 3 });
          const row = await ctx.db.query("rows").order("desc").first();
          return Date.now() - row!._creationTime;
        },
      },
    },
    { class: { ...EXACT, mutationMs: [20, 20], mutationPermits: 1 } },
  );
  // Begun together; the second waits for the permit of the first.
  const [, late] = await played(deployment, [
    [0, "two"],
    [0, "late"],
  ]);
  const rows = deployment.rows<{ n: number; _creationTime: number }>("", "rows");
  const made = Object.fromEntries(rows.map(({ n, _creationTime }) => [n, _creationTime]));
  expect(made[2]).toBeGreaterThan(made[1]!);
  expect(made[3]! - made[1]!).toBe(20);
  expect(late!.value).toBe(0);
});

test("[B6] times of creation are not in the order of commits", async () => {
  const deployment = await deployed(
    {
      mutations: {
        slow: async (ctx) => {
          await ctx.runMutation(f["quick"]!, { n: 1 });
        },
        quick: async (ctx, { n }) => void (await insert(ctx, { n })),
      },
    },
    { class: { ...EXACT, mutationMs: [20, 20], nestedCallMs: 50 } },
  );
  const order: number[] = [];
  deployment.onCommit(({ writes }) =>
    writes.forEach(({ next }) => order.push(next?.["n"] as number)),
  );
  await played(deployment, [
    [0, "slow"],
    [5, "quick", { n: 2 }],
  ]);
  expect(order).toEqual([2, 1]);
  const rows = deployment.rows<{ n: number; _creationTime: number }>("", "rows");
  expect(rows.map(({ n }) => n)).toEqual([1, 2]);
});

test("[B6] v.commitTs() is the commit's own timestamp, in the order of commits", async () => {
  const deployment = await deployed({
    mutations: {
      stamp: async (ctx, { n }) => {
        const { commitTs } = ctx.db.vars;
        await ctx.db.insert("other", { n, at: commitTs, within: [{ at: commitTs }] });
      },
    },
  });
  const order: unknown[] = [];
  deployment.onCommit(({ ts }) => order.push(ts));
  await played(deployment, [
    [0, "stamp", { n: 1 }],
    [0, "stamp", { n: 2 }],
    [100, "stamp", { n: 3 }],
  ]);
  const rows = deployment.rows<{ at: bigint; within: { at: bigint }[] }>("", "other");
  expect(new Set(rows.map(({ at }) => at))).toEqual(new Set(order));
  expect(rows.every(({ at, within }) => within[0]!.at === at)).toBe(true);
  expect(order).toEqual(order.toSorted());
});

test("[B7] a stale snapshot is that of the transaction's begin, without its own writes, and leaves no trace", async () => {
  const seen: unknown[] = [];
  const deployment = await deployed({
    mutations: {
      insert,
      look: async (ctx) => {
        await insert(ctx, { n: 7 });
        const stale = await ctx.runQuery(f["all"]!, {}, { useStaleSnapshot: true });
        seen.push(stale);
      },
    },
    queries: { all: async (ctx) => (await ctx.db.query("rows").collect()).map(({ n }) => n) },
  });
  const conflicts = watch(deployment, "conflict");
  await played(deployment, [
    [0, "insert", { n: 1 }],
    [10, "look"],
  ]);
  expect(seen).toEqual([[]]);
  expect(conflicts).toEqual([]);
  expect(numbers(deployment).toSorted()).toEqual([1, 7]);
});

test("[B7] a stale snapshot may lack some of the newest commits, where that is asked for", async () => {
  const seen: unknown[] = [];
  const deployment = await deployed(
    {
      mutations: {
        insert,
        look: async (ctx) =>
          seen.push(await ctx.runQuery(f["all"]!, {}, { useStaleSnapshot: true })),
      },
      queries: { all: async (ctx) => (await ctx.db.query("rows").collect()).map(({ n }) => n) },
    },
    { faults: { staleLag: () => 1 } },
  );
  await played(deployment, [
    [0, "insert", { n: 1 }],
    [50, "insert", { n: 2 }],
    [100, "look"],
  ]);
  expect(seen).toEqual([[1]]);
});

/** Found by seed 120001342 of S16. */
test("what is begun between two timers runs before the later one", async () => {
  const deployment = await deployed({
    mutations: {
      seen: async (ctx) => {
        for (let reads = 0; reads < 10; reads++) await count(ctx);
        await insert(ctx, { n: Date.now() });
      },
    },
  });
  const began = deployment.clock.now();
  deployment.at(10, () => {});
  deployment.at(60_000, () => {});
  let asked = 0;
  await deployment.drive({
    done: () => {
      asked += 1;
      if (asked === 2) void deployment.mutation("f:seen");
      return false;
    },
  });
  const [row] = deployment.rows<{ n: number; _creationTime: number }>("", "rows");
  expect(row!.n).toBe(began + 10);
  expect(Math.round(row!._creationTime - began)).toBe(10);
});
