/** @module-tag large */
import { expect, test } from "vitest";
import { CallError, S16 } from "../../src/index.js";
import { Draws } from "../../src/deployment/random.js";
import {
  type ActionCtx,
  deployed,
  EXACT,
  f,
  insert,
  type MutationCtx,
  played,
  watch,
} from "./app.js";

const add = async (ctx: MutationCtx) => {
  const row = await ctx.db.query("rows").first();
  await ctx.db.patch("rows", row!._id, { n: row!["n"] + 1 });
};
/** One that always loses: others write between its begin and its commit. */
const BUSY = { ...EXACT, mutationMs: [20, 20], persistMs: [1, 1] } as const;

test("[B20] a backoff is min(initial · 2^failures, most) · U(0,1)", () => {
  const draws = new Draws(1);
  for (const [failures, most] of [
    [0, 100],
    [1, 200],
    [3, 800],
    [9, 2_000],
  ] as const) {
    const drawn = Array.from({ length: 2_000 }, () => draws.backoff(100, 2_000, failures));
    expect(Math.max(...drawn)).toBeLessThanOrEqual(most);
    expect(Math.max(...drawn)).toBeGreaterThan(0.99 * most);
    expect(Math.min(...drawn)).toBeLessThan(0.01 * most);
    const mean = drawn.reduce((sum, ms) => sum + ms, 0) / drawn.length;
    expect(Math.abs(mean / most - 0.5)).toBeLessThan(0.03);
  }
});

/** Writes the only row every 10 ms. */
async function contended(actions = {}) {
  const deployment = await deployed(
    { mutations: { insert, add, touch: add, slow: add }, actions },
    { class: BUSY },
  );
  await played(deployment, [[0, "insert"]]);
  const { documents } = deployment.store.table("", "rows");
  for (let at = 0; at < 8_000; at += 10)
    deployment.at(at, () => {
      const [row] = documents.documents.values();
      deployment.edit({ component: "", name: "rows" }, row!._id, { ...row!, by: at });
    });
  return deployment;
}

test("[B21] a mutation called from outside is attempted 5 times", async () => {
  const deployment = await contended();
  const conflicts = watch(deployment, "conflict");
  const seen = await played(deployment, [[5, "add"]]);
  expect(conflicts).toHaveLength(5);
  expect(seen[0]!.error).toBeInstanceOf(CallError);
});

test("[B21] after its pause a mutation waits until what it lost to is published", async () => {
  const deployment = await deployed(
    { mutations: { insert, add } },
    { class: { ...EXACT, persistMs: [3_000, 3_000] } },
  );
  await played(deployment, [[0, "insert"]]);
  const conflicts = watch(deployment, "conflict");
  const seen = await played(deployment, [
    [0, "add"],
    [10, "add"],
  ]);
  // Without that it would have lost to the same commit five times.
  expect(conflicts).toHaveLength(1);
  expect(seen[1]!.at).toBeGreaterThan(6_000);
});

test("[B22] used up, the error names the table and the writer", async () => {
  const deployment = await contended();
  const [seen] = await played(deployment, [[5, "add"]]);
  expect(seen!.error!.message).toMatch(/the "rows" table changed.*every subsequent retry.*by hand/);
  expect(seen!.error).toMatchObject({ kind: "conflict" });
});

test("[B22] in an action a call that is used up is an error that it may catch", async () => {
  const deployment = await contended({
    act: async (ctx: ActionCtx) => {
      const error: Error = await ctx.runMutation(f["add"]!, {}).catch((thrown: Error) => thrown);
      return [error.constructor.name, error.message.slice(0, 9)];
    },
  });
  const said = deployment.action("f:act");
  await deployment.drive();
  expect(await said).toEqual(["Error", "Documents"]);
});

test("[B22] a ConvexError keeps its data, through an action and out of it", async () => {
  const { ConvexError } = await import("convex/values");
  const deployment = await deployed({
    mutations: {
      fails: () => {
        throw new ConvexError({ why: "full" });
      },
    },
    actions: {
      act: async (ctx) =>
        await ctx.runMutation(f["fails"]!, {}).catch((error: { data: unknown }) => error.data),
    },
  });
  const said = deployment.action("f:act");
  const [direct] = await played(deployment, [[0, "fails"]]);
  expect(await said).toEqual({ why: "full" });
  expect(direct!.error).toMatchObject({ data: { why: "full" }, kind: "user" });
});

test("[B23] a scheduled mutation is repeated without end, and keeps its place meanwhile", async () => {
  const deployment = await deployed(
    {
      mutations: {
        insert,
        add,
        begin: async (ctx) => {
          await ctx.scheduler.runAfter(0, f["add"]!, {});
          await ctx.scheduler.runAfter(0, f["insert"]!, { k: "later" });
        },
      },
    },
    { class: { ...BUSY, scheduledAtOnce: 1 } },
  );
  await played(deployment, [[0, "insert"]]);
  const { documents } = deployment.store.table("", "rows");
  for (let at = 0; at < 20_000; at += 10)
    deployment.at(at, () => {
      const row = [...documents.documents.values()].find(({ k }) => k === "a")!;
      deployment.edit({ component: "", name: "rows" }, row._id, { ...row, by: at });
    });
  const conflicts = watch(deployment, "conflict");
  const ends: string[] = [];
  deployment.onCommit(({ by }) => {
    if (by.startsWith("f:") && by !== "f:begin") ends.push(by);
  });
  await played(deployment, [[0, "begin"]]);
  expect(conflicts.length).toBeGreaterThan(5);
  expect(ends).toEqual(["f:add", "f:insert"]);
});

test("[B24] an action's schedule is a transaction of the system's, repeated where it conflicts", async () => {
  const deployment = await deployed({
    mutations: { insert },
    actions: {
      act: async (ctx) => {
        const id = await ctx.scheduler.runAfter(50, f["insert"]!, {});
        const other = await ctx.scheduler.runAfter(50, f["insert"]!, { k: "b" });
        await ctx.scheduler.cancel(other);
        return [id, other].length;
      },
    },
  });
  const said = deployment.action("f:act");
  await deployment.drive();
  expect(await said).toBe(2);
  expect(deployment.rows<{ k: string }>("", "rows").map(({ k }) => k)).toEqual(["a"]);
});

test("[B25] after so many bytes in a second mutations are refused before they run, and come again like a conflict", async () => {
  let runs = 0;
  const fill = async (ctx: MutationCtx) => {
    runs += 1;
    await insert(ctx, { text: "x".repeat(1_000_000) });
  };
  const deployment = await deployed(
    { mutations: { fill, insert } },
    { class: { ...EXACT, bytesPerSecond: 2 ** 21 } },
  );
  const seen = await played(deployment, [
    [0, "fill"],
    [50, "fill"],
    [100, "fill"],
    [200, "insert"],
    [5_000, "insert"],
  ]);
  expect(runs).toBe(3);
  expect(seen.slice(0, 3).map(({ error }) => error)).toEqual([undefined, undefined, undefined]);
  // 3 MB are written by 125: nothing begins before 1,025.
  expect(seen[3]!.error === undefined ? seen[3]!.at : 9_999).toBeGreaterThan(1_025);
  expect(seen[4]).toMatchObject({ at: 5_025 });
  const refusals = watch(deployment, "refused");
  await played(deployment, [
    [0, "fill"],
    [0, "fill"],
    [0, "fill"],
    ...Array.from({ length: 30 }, () => [100, "insert"] as const),
  ]);
  // Mean pauses of 50, 100, 200 and 400 ms are less than a second for most of them.
  expect(refusals.length).toBeGreaterThan(0);
  expect(refusals.every(({ why }) => why === "TooManyWrites")).toBe(true);
});

test("[B25] a system transaction is not throttled, and a scheduled mutation is repeated until it goes through", async () => {
  let isThrottled = true;
  const deployment = await deployed(
    {
      mutations: { insert },
      actions: {
        act: async (ctx) => {
          const error: Error = await ctx
            .runMutation(f["insert"]!, {})
            .catch((thrown: Error) => thrown);
          await ctx.scheduler.runAfter(0, f["insert"]!, {});
          return error.message;
        },
      },
    },
    { faults: { refuses: () => (isThrottled ? "TooManyWrites" : undefined) } },
  );
  deployment.at(600_000, () => (isThrottled = false));
  const said = deployment.action("f:act");
  await deployment.drive();
  expect(await said).toBe("TooManyWrites");
  expect(deployment.rows("", "rows")).toHaveLength(1);
});

test("[B38] [B48] a scheduled mutation that gets no permit is put off, not lost", async () => {
  let left = 3;
  const deployment = await deployed(
    {
      mutations: {
        insert,
        begin: async (ctx) => await ctx.scheduler.runAfter(0, f["insert"]!, {}),
      },
    },
    {
      faults: {
        refuses: ({ name }) =>
          name === "f:insert" && left-- > 0 ? "TooManyConcurrentRequests" : undefined,
      },
    },
  );
  await played(deployment, [[0, "begin"]]);
  expect(left).toBeLessThan(0);
  expect(deployment.rows("", "rows")).toHaveLength(1);
});

test("[B25] what counts is documents and entries of indexes, of all components", async () => {
  const count = async (indexEntryBytes: number) => {
    const deployment = await deployed(
      {
        mutations: { insert },
      },
      { class: { ...S16, indexEntryBytes, bytesPerSecond: 20_000 } },
    );
    await played(
      deployment,
      Array.from({ length: 60 }, () => [0, "insert"] as const),
    );
    const refusals = watch(deployment, "refused");
    await played(
      deployment,
      Array.from({ length: 20 }, () => [0, "insert"] as const),
    );
    return refusals.length;
  };
  expect(await count(1_000)).toBeGreaterThan(await count(0));
});

test("[B47] [B48] a mutation waits for a permit 5 s, and is then refused to its caller", async () => {
  const deployment = await deployed(
    { mutations: { insert } },
    { class: { ...EXACT, mutationPermits: 1, mutationMs: [3_000, 3_000] } },
  );
  const seen = await played(
    deployment,
    Array.from({ length: 4 }, () => [0, "insert"] as const),
  );
  expect(seen.map(({ at, error }) => [at, error?.message])).toEqual([
    [3_005, undefined],
    [expect.any(Number), undefined],
    [5_000, "TooManyConcurrentRequests"],
    [5_000, "TooManyConcurrentRequests"],
  ]);
});

test("[B47] nested calls take no permit; what an action calls takes one, and the action keeps its own", async () => {
  const deployment = await deployed(
    {
      mutations: { outer: async (ctx) => await ctx.runMutation(f["insert"]!, {}), insert },
      actions: { act: async (ctx) => void (await ctx.runMutation(f["outer"]!, {})) },
    },
    { class: { ...EXACT, mutationPermits: 1, actionPermits: 1 } },
  );
  const first = deployment.action("f:act");
  const second = deployment.action("f:act");
  await deployment.drive();
  await Promise.all([first, second]);
  expect(deployment.rows("", "rows")).toHaveLength(2);
});

test("[B48] an action that is not scheduled waits for its permit 10 s", async () => {
  const deployment = await deployed(
    { actions: { sleep: () => new Promise((resolve) => setTimeout(() => resolve(null), 20_000)) } },
    { class: { ...EXACT, actionPermits: 1 } },
  );
  const began = deployment.clock.now();
  const first = deployment.action("f:sleep");
  const refused: number[] = [];
  deployment.action("f:sleep").catch(() => refused.push(deployment.clock.now() - began));
  await deployment.drive();
  expect(await first).toBe(null);
  expect(refused).toEqual([10_000]);
});

test("[B48] a refusal that an action throws on is told apart from one of the action itself", async () => {
  const deployment = await deployed(
    {
      mutations: { insert },
      actions: {
        inner: async (ctx) => void (await ctx.runMutation(f["insert"]!, {})),
        outer: async (ctx) => void (await ctx.runAction(f["inner"]!, {})),
      },
    },
    { class: { ...EXACT, mutationPermits: 0 } },
  );
  const message = deployment.action("f:outer").catch((error: Error) => error.message);
  await deployment.drive();
  expect(await message).toMatch(/^Uncaught Error: .*TooManyConcurrentRequests$/);
});

test("[B49] a client's own mutations run one after another", async () => {
  const deployment = await deployed({ mutations: { insert, add } });
  const client = deployment.client();
  const began = deployment.clock.now();
  const ends: number[] = [];
  const all = ["f:insert", "f:add", "f:add"].map(async (name) => {
    await client.mutation(name);
    ends.push(deployment.clock.now() - began);
  });
  await deployment.drive();
  await Promise.all(all);
  expect(ends).toEqual([25, 50, 75]);
});
