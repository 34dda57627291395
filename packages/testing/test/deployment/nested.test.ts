import { componentsGeneric, createFunctionHandle, type FunctionReference } from "convex/server";
import { expect, test } from "vitest";
import {
  type Args,
  deployed,
  EXACT,
  f,
  insert,
  type MutationCtx,
  numbers,
  played,
  watch,
} from "./app.js";

type Any = FunctionReference<"mutation", "internal">;
// A component's functions have types only where they are generated.
const inner = (componentsGeneric() as Args)["inner"].f as Record<string, Any>;

test("[B26] a nested call sees and adds to what its caller has written, in the same transaction", async () => {
  const deployment = await deployed({
    mutations: {
      outer: async (ctx) => {
        await insert(ctx, { n: 1 });
        await ctx.runMutation(f["nested"]!, {});
        return (await ctx.db.query("rows").collect()).map(({ n }) => n);
      },
      nested: async (ctx) => {
        const row = await ctx.db.query("rows").first();
        await ctx.db.patch("rows", row!._id, { n: 2 });
      },
    },
  });
  let commits = 0;
  deployment.onCommit(() => (commits += 1));
  const [seen] = await played(deployment, [[0, "outer"]]);
  expect(seen!.value).toEqual([2]);
  expect(commits).toBe(1);
});

test("[B26] one that throws is rolled back, with what it has called, and may be caught", async () => {
  const deployment = await deployed({
    mutations: {
      outer: async (ctx) => {
        const id = (await insert(ctx, { n: 1 })) as never;
        const error: Error = await ctx
          .runMutation(f["fails"]!, { id })
          .catch((thrown: Error) => thrown);
        return [error.message, (await ctx.db.get("rows", id))?.["n"]];
      },
      fails: async (ctx, { id }) => {
        await ctx.db.patch("rows", id, { n: 2 });
        await ctx.runMutation(f["deeper"]!, { id });
        throw new Error("no");
      },
      deeper: async (ctx, { id }) => {
        await ctx.db.delete("rows", id);
        await insert(ctx, { n: 3 });
        await ctx.scheduler.runAfter(0, f["deeper"]!, {});
      },
    },
  });
  const [seen] = await played(deployment, [[0, "outer"]]);
  expect(seen!.value).toEqual(["no", 1]);
  expect(numbers(deployment)).toEqual([1]);
  expect(deployment.rows("", "_scheduled_functions")).toEqual([]);
});

test("[B26] a ConvexError of a nested call keeps its data", async () => {
  const { ConvexError } = await import("convex/values");
  const deployment = await deployed({
    mutations: {
      outer: async (ctx) =>
        await ctx.runMutation(f["fails"]!, {}).catch((error: { data: unknown }) => error.data),
      fails: () => {
        throw new ConvexError({ why: "full" });
      },
    },
  });
  const [seen] = await played(deployment, [[0, "outer"]]);
  expect(seen!.value).toEqual({ why: "full" });
});

test("[B26] calls are at most 8 deep", async () => {
  const deployment = await deployed({
    mutations: {
      down: async (ctx, { left }) =>
        left === 0 ? "there" : await ctx.runMutation(f["down"]!, { left: left - 1 }),
    },
  });
  const [eight, nine] = await played(deployment, [
    [0, "down", { left: 8 }],
    [0, "down", { left: 9 }],
  ]);
  expect(eight!.value).toBe("there");
  expect(nine!.error?.message).toContain("too deep");
});

test("[B27] the count of what was scheduled is not taken back by a rollback", async () => {
  const used = async (ctx: MutationCtx) => {
    const { functionsScheduled, documentsWritten } = await ctx.meta.getTransactionMetrics();
    return [functionsScheduled.used, documentsWritten.used];
  };
  const deployment = await deployed({
    mutations: {
      outer: async (ctx) => {
        await ctx.runMutation(f["fails"]!, {}).catch(() => {});
        return await used(ctx);
      },
      fails: async (ctx) => {
        await insert(ctx, {});
        for (let n = 0; n < 3; n += 1) await ctx.scheduler.runAfter(0, f["fails"]!, {});
        throw new Error("no");
      },
    },
  });
  const [seen] = await played(deployment, [[0, "outer"]]);
  expect(seen!.value).toEqual([3, 0]);
});

test("[B28] limits of a nested call are a budget on top of what is used, never above the caller's", async () => {
  const deployment = await deployed({
    mutations: {
      outer: async (ctx, { documentsWritten }) => {
        await insert(ctx, {});
        const transactionLimits = { documentsWritten };
        return await ctx.runMutation(f["two"]!, {}, { transactionLimits }).then(
          () => "fits",
          (error: Error) => error.message,
        );
      },
      two: async (ctx) => {
        await insert(ctx, {});
        await insert(ctx, {});
        const { documentsWritten } = await ctx.meta.getTransactionMetrics();
        return documentsWritten.remaining;
      },
    },
  });
  const seen = await played(deployment, [
    [0, "outer", { documentsWritten: 2 }],
    [0, "outer", { documentsWritten: 1 }],
  ]);
  expect(seen[0]!.value).toBe("fits");
  expect(seen[1]!.value).toContain("documentsWritten");
});

test("[B29] components have tables and scheduled functions of their own, and one snapshot and one committer", async () => {
  const deployment = await deployed(
    {
      mutations: {
        insert,
        both: async (ctx) => {
          await insert(ctx, { n: 1 });
          return await ctx.runMutation(inner["seen"]!, {});
        },
        within: async (ctx) =>
          void (await ctx.runMutation(inner["plan"]!, {
            to: await createFunctionHandle(f["insert"] as never),
          })),
      },
    },
    {},
    {
      mutations: {
        seen: async (ctx) => {
          await insert(ctx, { n: 5 });
          return (await ctx.db.query("rows").collect()).map(({ n }) => n);
        },
        plan: async (ctx, { to }) => await ctx.scheduler.runAfter(0, to, { n: 9 }),
      },
    },
  );
  const conflicts = watch(deployment, "conflict");
  const [seen, , again] = await played(deployment, [
    [0, "both"],
    // The app's own rows are others, so nothing conflicts.
    [10, "insert"],
    [15, "both"],
    [500, "within"],
  ]);
  expect(seen!.value).toEqual([5]);
  expect(again!.value).toEqual([5, 5]);
  expect(conflicts.map(({ with: { table } }) => table.path)).toEqual(["inner/rows"]);
  // Scheduled by the component, a function of the app.
  expect(deployment.rows("inner", "_scheduled_functions")).toHaveLength(1);
  expect(deployment.rows("", "_scheduled_functions")).toHaveLength(0);
  expect(numbers(deployment)).toContain(9);
});

test("[B30] system calls of a transaction run one after another", async () => {
  const order: string[] = [];
  const deployment = await deployed({
    mutations: {
      outer: async (ctx) => {
        await Promise.all([
          ctx.runMutation(f["nested"]!, { name: "a" }),
          ctx.runMutation(f["nested"]!, { name: "b" }),
        ]);
      },
      nested: async (ctx, { name }) => {
        order.push(`${name} begins`);
        for (let n = 0; n < 3; n += 1) await insert(ctx, {});
        order.push(`${name} ends`);
      },
    },
  });
  await played(deployment, [[0, "outer"]]);
  expect(order).toEqual(["a begins", "a ends", "b begins", "b ends"]);
});

test("[B31] nested calls cost latency, and so widen the window", async () => {
  const deployment = await deployed(
    {
      mutations: {
        outer: async (ctx) => {
          for (let n = 0; n < 3; n += 1) await ctx.runMutation(f["insert"]!, {});
        },
        insert,
      },
    },
    { class: { ...EXACT, nestedCallMs: 10 } },
  );
  const [seen] = await played(deployment, [[0, "outer"]]);
  expect(seen!.at).toBe(55);
});

test(
  "[B50] [B52] a transaction's limits are enforced, and an error of one may be caught",
  { tags: ["large"] },
  async () => {
    const deployment = await deployed({
      mutations: {
        fill: async (ctx) => {
          for (let n = 0; n < 4_000; n += 1) await ctx.db.insert("rows", { n, k: "a" });
        },
        scan: async (ctx) => {
          const ids = (await ctx.db.query("rows").collect()).map(({ _id }) => _id);
          const error: Error | undefined = await (async () => {
            for (let round = 0; round < 2; round += 1)
              for (const id of ids) await ctx.db.get("rows", id);
            return undefined;
          })().catch((thrown: Error) => thrown);
          return error?.message;
        },
      },
    });
    const [, scan] = await played(deployment, [
      [0, "fill"],
      [100, "scan"],
    ]);
    expect(scan!.value).toContain("4097 of databaseQueries");
  },
);

test("[B51] an action is ended when its time is over, and what it called goes on", async () => {
  const deployment = await deployed(
    {
      mutations: { insert },
      actions: {
        slow: async (ctx) => {
          setTimeout(() => void ctx.runMutation(f["insert"]!, { n: 7 }), 2_000);
          void ctx.runMutation(f["insert"]!, { n: 1 });
          await new Promise(() => {});
        },
      },
    },
    { class: { ...EXACT, actionLimitMs: 1_000 } },
  );
  let error: unknown;
  deployment.action("f:slow").catch((thrown: unknown) => (error = thrown));
  await deployment.drive();
  expect(error).toMatchObject({ message: "The action took too long." });
  expect(numbers(deployment)).toEqual([1]);
});

test("Convex refuses timers in queries and mutations, and gives actions virtual ones", async () => {
  const deployment = await deployed(
    {
      mutations: { wait: () => new Promise((resolve) => setTimeout(resolve, 1)) },
      actions: {
        wait2: async () => {
          const began = Date.now();
          let ticks = 0;
          const ticking = setInterval(() => (ticks += 1), 1_000);
          const never = setTimeout(() => (ticks += 100), 1_500);
          clearTimeout(never);
          await new Promise((resolve) => setTimeout(resolve, 3_600_000));
          clearInterval(ticking);
          return [Date.now() - began, ticks, typeof crypto.randomUUID()];
        },
      },
    },
    { class: { ...EXACT, actionLimitMs: Infinity } },
  );
  const said = deployment.action("f:wait2");
  const [seen] = await played(deployment, [[0, "wait"]]);
  expect(seen!.error?.message).toContain("setTimeout");
  expect(await said).toEqual([3_600_000, 3_599, "string"]);
});
