import { describe, expect, test } from "vitest";
import { deployed, f, insert, type MutationCtx, played, watch } from "./app.js";

type Read = (ctx: MutationCtx) => Promise<unknown>;

/** Rows with n of 10, 20 and 30, one for each of the kinds a, b and c. */
const ROWS = [
  { n: 10, k: "a" },
  { n: 20, k: "b" },
  { n: 30, k: "c" },
];

/**
 * Says whether a transaction that reads in this way, and writes elsewhere, conflicts with one that
 * is under way.
 */
async function conflicts(read: Read, write: (ctx: MutationCtx) => Promise<unknown>) {
  const deployment = await deployed({
    mutations: {
      fill: async (ctx) => {
        for (const row of ROWS) await ctx.db.insert("rows", row);
      },
      write,
      read: async (ctx) => {
        await read(ctx);
        await ctx.db.insert("other", {});
      },
    },
  });
  const seen = watch(deployment, "conflict");
  // The writer validates at 220, the reader at 230: that began at 210, when nothing of it was
  // published.
  await played(deployment, [
    [0, "fill"],
    [200, "write"],
    [210, "read"],
  ]);
  return seen.length > 0;
}

const rowOf = async (ctx: MutationCtx, n: number) =>
  (await ctx.db
    .query("rows")
    .withIndex("by_n", (q) => q.eq("n", n))
    .first())!;
const inserts =
  (n: number, k = "z") =>
  async (ctx: MutationCtx) =>
    await insert(ctx, { n, k });
const patches = (n: number, fields: object) => async (ctx: MutationCtx) =>
  await ctx.db.patch("rows", (await rowOf(ctx, n))._id, fields);
const deletes = (n: number) => async (ctx: MutationCtx) =>
  await ctx.db.delete("rows", (await rowOf(ctx, n))._id);
const byN = (ctx: MutationCtx, from = 0, to = 100) =>
  ctx.db.query("rows").withIndex("by_n", (q) => q.gte("n", from).lte("n", to));

describe("what a query has read is what a write may conflict with", () => {
  const first: Read = (ctx) => byN(ctx, 5).first();
  const none: Read = (ctx) => byN(ctx, 40).first();
  const last: Read = (ctx) => byN(ctx).order("desc").first();
  const two: Read = (ctx) => byN(ctx).take(2);
  const five: Read = (ctx) => byN(ctx).take(5);
  const unique: Read = (ctx) =>
    ctx.db
      .query("rows")
      .withIndex("by_k", (q) => q.eq("k", "b"))
      .unique();
  const collect: Read = (ctx) => byN(ctx, 10, 20).collect();
  const stop: Read = async (ctx) => {
    for await (const { n } of byN(ctx)) if (n === 20) break;
  };
  const page: Read = (ctx) => byN(ctx).paginate({ numItems: 2, cursor: null });
  const wholePage: Read = (ctx) => byN(ctx).paginate({ numItems: 5, cursor: null });
  const filter: Read = (ctx) =>
    byN(ctx)
      .filter((q) => q.eq(q.field("k"), "b"))
      .first();
  const count: Read = (ctx) =>
    (ctx.db.query("rows") as unknown as { count(): Promise<number> }).count();
  const created: Read = (ctx) => ctx.db.query("rows").order("desc").first();
  const patched: Read = (ctx) => patches(20, { k: "y" })(ctx);

  test.each<[string, Read, (ctx: MutationCtx) => Promise<unknown>, boolean]>([
    ["[B8] a query without an index reads by the time of creation", created, inserts(1), true],
    ["[B9] first() has read up to what it found", first, inserts(7), true],
    ["[B9] … and nothing behind that", first, inserts(15), false],
    ["[B9] first() that finds nothing has read its whole range", none, inserts(90), true],
    ["[B9] … and nothing before it", none, inserts(39), false],
    ["[B9] a descending first() has read from the end", last, inserts(31), true],
    ["[B9] … and nothing before what it found", last, inserts(29), false],
    ["[B9] take(n) has read up to the n-th", two, inserts(15), true],
    ["[B9] … and nothing behind it", two, inserts(25), false],
    ["[B9] take(n) that finds fewer has read to the end", five, inserts(99), true],
    ["[B9] unique() has read its whole range", unique, inserts(99, "b"), true],
    ["[B9] … and nothing beside it", unique, inserts(99, "c"), false],
    ["[B9] collect() has read its whole range", collect, inserts(20), true],
    ["[B9] … and nothing behind it", collect, inserts(21), false],
    ["[B9] a loop that breaks has read up to the last document seen", stop, inserts(15), true],
    ["[B9] … and nothing behind it", stop, inserts(21), false],
    ["[B9] a page has read up to its last document", page, inserts(15), true],
    ["[B9] … and nothing behind it", page, inserts(21), false],
    ["[B9] a page that comes to the end has read that", wholePage, inserts(90), true],
    [
      "[B9] a filter narrows nothing: what was scanned was read",
      filter,
      patches(10, { k: "x" }),
      true,
    ],
    ["[B9] … and what was not scanned was not", filter, patches(30, { k: "x" }), false],
    ["[B9] count() has read the whole table", count, deletes(30), true],
    [
      "[B15] a patch of a field that is in no index conflicts with who read the document",
      first,
      patches(10, { more: 1 }),
      true,
    ],
    [
      "[B15] a change of an indexed field into a range conflicts",
      collect,
      patches(30, { n: 15 }),
      true,
    ],
    [
      "[B15] a change of an indexed field out of a range conflicts",
      collect,
      patches(20, { n: 50 }),
      true,
    ],
    ["[B15] a delete conflicts with who read over the place", collect, deletes(20), true],
    ["[B15] a change beside the range does not", collect, patches(30, { n: 40 }), false],
    ["[B10] two who patch one document conflict", patched, patches(20, { more: 2 }), true],
    ["[B10] a patch that changes nothing writes nothing", first, patches(10, { k: "a" }), false],
    ["[B11] inserts do not conflict with each other", inserts(1), inserts(1), false],
  ])("%s", async (_title, read, write, isConflict) => {
    expect(await conflicts(read, write)).toBe(isConflict);
  });

  test("[B9] db.get reads one point, found or not", async () => {
    const deployment = await deployed({
      mutations: {
        make: async (ctx) => [await insert(ctx, { n: 1 }), await insert(ctx, { n: 2 })],
        gone: async (ctx, { id }) => await ctx.db.delete("rows", id),
        set: async (ctx, { id }) => await ctx.db.patch("rows", id, { n: 9 }),
        get: async (ctx, { id }) => {
          await ctx.db.get("rows", id);
          await ctx.db.insert("other", {});
        },
      },
    });
    const seen = watch(deployment, "conflict");
    const [{ value }] = (await played(deployment, [[0, "make"]])) as unknown as [
      { value: string[] },
    ];
    const [one, two] = value;
    await played(deployment, [
      [0, "set", { id: one }],
      [10, "get", { id: two }],
    ]);
    expect(seen).toHaveLength(0);
    await played(deployment, [
      [0, "gone", { id: one }],
      [10, "get", { id: one }],
    ]);
    expect(seen).toHaveLength(1);
    // Found by nobody, and conflicting with nobody.
    await played(deployment, [[0, "get", { id: one }]]);
    expect(seen).toHaveLength(1);
  });

  test("[B9] pages continue one another, in both directions, and hold all documents once", async () => {
    const deployment = await deployed({
      mutations: {
        fill: async (ctx) => {
          for (let n = 0; n < 7; n += 1) await ctx.db.insert("rows", { n: n % 3, k: String(n) });
        },
        walk: async (ctx, { order, numItems }) => {
          const found: string[] = [];
          let cursor: string | null = null;
          for (let isDone = false; !isDone;) {
            const page: { page: { k: string }[]; isDone: boolean; continueCursor: string } =
              await byN(ctx).order(order).paginate({ numItems, cursor });
            found.push(...page.page.map(({ k }) => k));
            ({ isDone, continueCursor: cursor } = page);
          }
          return found;
        },
      },
    });
    await played(deployment, [[0, "fill"]]);
    const walks = await played(deployment, [
      [0, "walk", { order: "asc", numItems: 2 }],
      [0, "walk", { order: "desc", numItems: 3 }],
    ]);
    expect(walks[0]!.value).toEqual(["0", "3", "6", "1", "4", "2", "5"]);
    expect(walks[1]!.value).toEqual(["5", "2", "4", "1", "6", "3", "0"]);
  });
});

test("[B12] what a nested mutation that threw has read stays read, and its writes are taken back", async () => {
  const deployment = await deployed({
    mutations: {
      insert,
      outer: async (ctx) => {
        await ctx.db.insert("other", {});
        await ctx.runMutation(f["fails"]!, {}).catch(() => {});
      },
      fails: async (ctx) => {
        await ctx.db.query("rows").collect();
        await ctx.db.insert("other", { more: true });
        throw new Error("no");
      },
    },
  });
  const seen = watch(deployment, "conflict");
  await played(deployment, [
    [0, "insert"],
    [10, "outer"],
  ]);
  expect(seen).toHaveLength(1);
  expect(deployment.rows("", "other")).toHaveLength(1);
});

test("[B13] an action has no read set: each of its calls is a transaction of its own", async () => {
  const deployment = await deployed({
    mutations: { insert },
    queries: { all: async (ctx) => (await ctx.db.query("rows").collect()).length },
    actions: {
      act: async (ctx) => {
        const before = await ctx.runQuery(f["all"]!, {});
        await ctx.runMutation(f["insert"]!, {});
        return [before, await ctx.runQuery(f["all"]!, {})];
      },
    },
  });
  const seen = watch(deployment, "conflict");
  deployment.at(5, () => deployment.mutation("f:insert", {}));
  const said = deployment.action("f:act", {});
  await deployment.drive();
  expect(await said).toEqual([0, 2]);
  expect(seen).toEqual([]);
});
