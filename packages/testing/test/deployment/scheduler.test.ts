import { componentsGeneric, type GenericDatabaseReader } from "convex/server";
import { expect, test } from "vitest";
import type { DeploymentClass } from "../../src/index.js";
import {
  type ActionCtx,
  type Args,
  deployed,
  EXACT,
  f,
  insert,
  type MutationCtx,
  numbers,
  played,
  type Tables,
  watch,
} from "./app.js";

const JOBS = "_scheduled_functions";
interface Row {
  readonly _id: string;
  readonly state: { readonly kind: string; readonly error?: string };
}
type Deployed = Awaited<ReturnType<typeof deployed>>;
const states = (deployment: Deployed, component = "") =>
  deployment.rows<Row>(component, JOBS).map(({ state: { kind } }) => kind);

const schedule = async (ctx: MutationCtx, { name, ms = 0, args = {}, times = 1 }: Args) => {
  const ids: string[] = [];
  for (let n = 0; n < times; n += 1) ids.push(await ctx.scheduler.runAfter(ms, f[name]!, args));
  return ids;
};
const cancel = async (ctx: MutationCtx, { id }: Args) => await ctx.scheduler.cancel(id);
/** An action that takes some time, and then does something. */
const acting =
  (ms: number, then: (ctx: ActionCtx) => unknown = () => {}) =>
  async (ctx: ActionCtx) => {
    await new Promise((resolve) => setTimeout(resolve, ms));
    await then(ctx);
  };

test("[B32] scheduling conflicts with nothing, and what is scheduled is there with its transaction", async () => {
  const deployment = await deployed({
    mutations: {
      insert,
      schedule,
      fails: async (ctx) => {
        await schedule(ctx, { name: "insert" });
        throw new Error("no");
      },
    },
  });
  const conflicts = watch(deployment, "conflict");
  await played(
    deployment,
    Array.from(
      { length: 20 },
      (_, at) => [at, at % 4 === 0 ? "fails" : "schedule", { name: "insert" }] as const,
    ),
  );
  expect(conflicts).toEqual([]);
  expect(numbers(deployment)).toHaveLength(15);
  expect(states(deployment)).toEqual(Array.from({ length: 15 }, () => "success"));
});

test("[B25] [B32] arguments have a row of their own: no change of a job's state writes them again", async () => {
  const args = { text: "x".repeat(1_000_000) };
  const deployment = await deployed(
    {
      mutations: {
        insert,
        begin: async (ctx) => await ctx.scheduler.runAfter(0, f["sleep"]!, args),
      },
      actions: { sleep: acting(200) },
    },
    { class: { ...EXACT, bytesPerSecond: 1_100_000 } },
  );
  const refusals = watch(deployment, "refused");
  const seen = await played(deployment, [
    [0, "begin"],
    // Behind the begin and the end of the action.
    [400, "insert"],
  ]);
  expect(refusals).toEqual([]);
  expect(seen[1]).toEqual({ at: 425, value: expect.any(String) });
});

test("[B32] [B42] who schedules from within a job with large arguments does not read them", async () => {
  let bytesRead = 0;
  const deployment = await deployed({
    mutations: {
      insert,
      begin: async (ctx) => {
        const args = { text: "x".repeat(1_000_000) };
        await ctx.scheduler.runAfter(0, f["schedulesMuch"]!, args);
      },
      schedulesMuch: async (ctx) => {
        for (let n = 0; n < 30; n += 1) await ctx.scheduler.runAfter(0, f["insert"]!, {});
        bytesRead = (await ctx.meta.getTransactionMetrics()).bytesRead.used;
      },
    },
  });
  await played(deployment, [[0, "begin"]]);
  expect(numbers(deployment)).toHaveLength(30);
  expect(bytesRead).toBe(0);
});

test("[B32] what is due in the past is due now", async () => {
  const ends: number[] = [];
  const deployment = await deployed({
    mutations: { late: (ctx) => void ctx.scheduler.runAt(5, f["insert"]!, {}), insert },
  });
  const began = deployment.clock.now();
  deployment.onCommit(({ by }) => by === "f:insert" && ends.push(deployment.clock.now() - began));
  await played(deployment, [[0, "late"]]);
  // Published at 25, seen by a round at 27, and then as long as any mutation.
  expect(ends).toEqual([52]);
});

test("[B33] so many run at once, the earliest due first, over all components", async () => {
  const inner = (componentsGeneric() as Args)["inner"].f;
  const order: number[] = [];
  const deployment = await deployed(
    {
      mutations: {
        schedule,
        plan: async (ctx) => {
          await schedule(ctx, { name: "act", ms: 300, args: { n: 3 } });
          await schedule(ctx, { name: "act", ms: 100, args: { n: 1 } });
          await ctx.runMutation(inner["plan"], {});
        },
      },
      actions: {
        act: async (ctx, { n }) => {
          order.push(n);
          await acting(1_000)(ctx);
        },
      },
    },
    { class: { ...EXACT, scheduledAtOnce: 1 } },
    {
      mutations: { plan: async (ctx) => await ctx.scheduler.runAfter(200, f["act"]!, { n: 2 }) },
      actions: {
        act: async (ctx, { n }) => {
          order.push(n);
          await acting(1_000)(ctx);
        },
      },
    },
  );
  let most = 0;
  deployment.onHappening(() => (most = Math.max(most, deployment.scheduler.running)));
  await played(deployment, [[0, "plan"]]);
  expect(order).toEqual([1, 2, 3]);
  expect(most).toBe(1);
});

test("[B34] an action that sleeps, and a mutation that backs off, keep their places", async () => {
  const deployment = await deployed(
    { mutations: { insert, schedule }, actions: { sleep: acting(60_000) } },
    { class: { ...EXACT, scheduledAtOnce: 2 } },
  );
  const began = deployment.clock.now();
  let at = 0;
  deployment.onCommit(({ by }) => by === "f:insert" && (at = deployment.clock.now() - began));
  await played(deployment, [
    [0, "schedule", { name: "sleep", times: 2 }],
    [100, "schedule", { name: "insert" }],
  ]);
  expect(at).toBeGreaterThan(60_000);
});

test("[B35] a paused deployment starts nothing; rows wait", async () => {
  const deployment = await deployed({ mutations: { insert, schedule } });
  deployment.pause();
  await played(deployment, [[0, "schedule", { name: "insert" }]]);
  await deployment.advance(60_000);
  expect(states(deployment)).toEqual(["pending"]);
  deployment.pause(false);
  await deployment.drive();
  expect(states(deployment)).toEqual(["success"]);
});

test("[B36] a scheduled mutation and its row change in one transaction; others see it pending until then", async () => {
  const deployment = await deployed({ mutations: { insert, schedule } });
  const seen: unknown[] = [];
  deployment.onCommit(({ by, writes }) => {
    if (by !== "f:insert") return;
    seen.push(writes.map(({ table }) => table.name).sort());
    seen.push(writes.find(({ table }) => table.name === JOBS)!.old!["state"]);
  });
  await played(deployment, [[0, "schedule", { name: "insert" }]]);
  expect(seen).toEqual([[JOBS, "rows"], { kind: "pending" }]);
});

test("[B36] [B40] a crash at any time: a scheduled mutation runs exactly once", async () => {
  for (let at = 0; at < 130; at += 3) {
    const deployment = await deployed({
      mutations: { insert, schedule },
    });
    deployment.at(at, () => deployment.crash(() => at % 2 === 0));
    const [seen] = await played(deployment, [[0, "schedule", { name: "insert", ms: 20 }]]);
    const rows = numbers(deployment).length;
    // Its caller may have lost the connection without knowing whether it was done.
    if (seen!.error === undefined) expect(rows, `${at}`).toBe(1);
    expect(states(deployment)).toEqual(Array.from({ length: rows }, () => "success"));
  }
});

test("[B37] one that throws is marked failed with its message, and never repeated", async () => {
  let runs = 0;
  const deployment = await deployed({
    mutations: {
      schedule,
      fails: async (ctx) => {
        runs += 1;
        await insert(ctx, {});
        throw new Error("no such luck");
      },
    },
  });
  await played(deployment, [[0, "schedule", { name: "fails" }]]);
  expect(runs).toBe(1);
  expect(numbers(deployment)).toEqual([]);
  expect(deployment.rows<Row>("", JOBS)[0]!.state).toEqual({
    kind: "failed",
    error: "no such luck",
  });
});

test("[B38] after a system error the row stays pending, and is due later", async () => {
  const of: DeploymentClass = { ...EXACT, mutationPermits: 1, mutationMs: [6_000, 6_000] };
  const deployment = await deployed({ mutations: { insert, schedule } }, { class: of });
  const refusals = watch(deployment, "refused");
  await played(deployment, [[0, "schedule", { name: "insert", times: 4 }]]);
  expect(refusals.length).toBeGreaterThan(0);
  expect(states(deployment)).toEqual(["success", "success", "success", "success"]);
});

test("[B39] a scheduled action is marked in progress before it runs, and then as it ended: two commits more", async () => {
  const seen: unknown[] = [];
  const deployment = await deployed({
    mutations: { schedule },
    actions: {
      well: acting(100, () => seen.push(states(deployment))),
      badly: acting(100, () => {
        throw new Error("oh no");
      }),
    },
  });
  let commits = 0;
  deployment.onCommit(({ by }) => (commits += Number(by === "scheduler")));
  await played(deployment, [[0, "schedule", { name: "well" }]]);
  expect(seen).toEqual([["inProgress"]]);
  expect(commits).toBe(2);
  await played(deployment, [[0, "schedule", { name: "badly" }]]);
  const last = deployment.rows<Row>("", JOBS).at(-1)!;
  expect(last.state).toEqual({ kind: "failed", error: "oh no" });
});

test("[B39] a scheduled action waits for its permit without limit", async () => {
  const deployment = await deployed(
    { mutations: { schedule }, actions: { sleep: acting(60_000) } },
    { class: { ...EXACT, actionPermits: 1 } },
  );
  await played(deployment, [[0, "schedule", { name: "sleep", times: 3 }]]);
  expect(states(deployment)).toEqual(["success", "success", "success"]);
});

test("[B40] an action that a crash takes is marked failed, and never run again", async () => {
  let runs = 0;
  const deployment = await deployed({
    mutations: { schedule },
    actions: {
      sleep: async (ctx) => {
        runs += 1;
        await acting(10_000)(ctx);
      },
    },
  });
  deployment.at(1_000, () => deployment.crash());
  await played(deployment, [[0, "schedule", { name: "sleep" }]]);
  expect(runs).toBe(1);
  expect(deployment.rows<Row>("", JOBS)[0]!.state).toEqual({
    kind: "failed",
    error: "Transient error while executing action",
  });
});

test("[B41] a pending function that is canceled never starts", async () => {
  const deployment = await deployed({ mutations: { insert, schedule, cancel } });
  let id = "";
  deployment.at(0, async () => {
    [id = ""] = (await deployment.mutation(f["schedule"]!, {
      name: "insert",
      ms: 60_000,
    })) as string[];
    await deployment.mutation(f["cancel"]!, { id });
  });
  await deployment.drive();
  expect(states(deployment)).toEqual(["canceled"]);
  expect(numbers(deployment)).toEqual([]);
});

test("[B41] of a running mutation and its cancel the first to commit wins", async () => {
  const outcomes = new Set<string>();
  // It runs from 27 to 47; the cancel takes 20 ms from its begin.
  for (let at = 20; at < 70; at += 2) {
    const deployment = await deployed({ mutations: { insert, schedule, cancel } });
    deployment.at(0, async () => {
      const made = (await deployment.mutation(f["schedule"]!, { name: "insert" })) as string[];
      deployment.at(at - 25, () => deployment.mutation(f["cancel"]!, { id: made[0] }));
    });
    await deployment.drive();
    const [state] = states(deployment);
    expect(numbers(deployment).length).toBe(state === "success" ? 1 : 0);
    outcomes.add(state!);
  }
  expect([...outcomes].sort()).toEqual(["canceled", "success"]);
});

test("[B41] a running action that is canceled goes on; what it schedules from then on is canceled, and its mutations are committed", async () => {
  const deployment = await deployed({
    mutations: { insert, schedule, cancel },
    actions: {
      act: acting(1_000, async (ctx) => {
        await ctx.runMutation(f["insert"]!, { n: 1 });
        await ctx.runMutation(f["schedule"]!, { name: "insert", args: { n: 2 } });
        await ctx.scheduler.runAfter(0, f["insert"]!, { n: 3 });
      }),
    },
  });
  deployment.at(0, async () => {
    const made = (await deployment.mutation(f["schedule"]!, { name: "act" })) as string[];
    deployment.at(200, () => deployment.mutation(f["cancel"]!, { id: made[0] }));
  });
  await deployment.drive();
  expect(numbers(deployment)).toEqual([1]);
  expect(states(deployment)).toEqual(["canceled", "canceled", "canceled"]);
});

test("[B42] whoever schedules from within a scheduled function conflicts with its cancel only", async () => {
  const deployment = await deployed({
    mutations: { insert, schedule, cancel },
    actions: { act: acting(100, (ctx) => ctx.runMutation(f["schedule"]!, { name: "insert" })) },
  });
  const conflicts = watch(deployment, "conflict");
  await played(deployment, [[0, "schedule", { name: "act", times: 5 }]]);
  expect(conflicts).toEqual([]);
  deployment.at(0, async () => {
    const [id] = (await deployment.mutation(f["schedule"]!, { name: "act" })) as string[];
    // The action's call runs from 142 to 162; the cancel, begun at 130, is validated while it does.
    deployment.at(105, () => deployment.mutation(f["cancel"]!, { id }));
  });
  await deployment.drive();
  expect(conflicts.map(({ path: { name } }) => name)).toEqual(["f:schedule"]);
});

test.each([
  ["is an error from convex 1.50 on", true, "failed"],
  ["was ignored before", false, "success"],
])("[B43] a mutation that cancels its own job %s", async (_title, selfCancelFails, kind) => {
  const deployment = await deployed(
    {
      mutations: {
        schedule,
        self: async (ctx) => {
          const { scheduledFunctionId } = await ctx.meta.getRequestMetadata();
          await ctx.scheduler.cancel(scheduledFunctionId as never);
        },
      },
    },
    { class: { ...EXACT, selfCancelFails } },
  );
  await played(deployment, [[0, "schedule", { name: "self" }]]);
  expect(states(deployment)).toEqual([kind]);
});

test("[B44] reading a scheduled function's row conflicts with its start and its end; a stale read does not", async () => {
  const look = async ({ db }: { db: GenericDatabaseReader<Tables> }, { id }: Args) => {
    const row = await db.system.get("_scheduled_functions", id);
    return row?.state.kind;
  };
  for (const [isStale, count] of [
    [false, 1],
    [true, 0],
  ] as const) {
    const deployment = await deployed({
      mutations: {
        schedule,
        watch: async (ctx, { id }) => {
          const kind = isStale
            ? await ctx.runQuery(f["look"]!, { id }, { useStaleSnapshot: true })
            : await look(ctx, { id });
          await ctx.db.insert("other", { kind });
        },
      },
      queries: { look },
      actions: { act: acting(1_000) },
    });
    const conflicts = watch(deployment, "conflict");
    deployment.at(0, async () => {
      const [id] = (await deployment.mutation(f["schedule"]!, { name: "act" })) as string[];
      deployment.at(1_020, () => deployment.mutation(f["watch"]!, { id }));
    });
    await deployment.drive();
    expect(conflicts).toHaveLength(count);
    expect(deployment.rows("", "other")).toHaveLength(1);
  }
});

test("[B45] finished rows are deleted after 7 days", async () => {
  const deployment = await deployed({ mutations: { insert, schedule } });
  await played(deployment, [[0, "schedule", { name: "insert", times: 3 }]]);
  const day = 24 * 3_600_000;
  await deployment.advance(6 * day);
  await played(deployment, [[0, "schedule", { name: "insert" }]]);
  expect(states(deployment)).toHaveLength(4);
  await deployment.advance(1.5 * day);
  await played(deployment, [[0, "schedule", { name: "insert" }]]);
  expect(states(deployment)).toHaveLength(2);
});

test("[B46] a transaction schedules at most 1,000 functions", { tags: ["large"] }, async () => {
  const deployment = await deployed({
    mutations: {
      insert: () => null,
      schedule: async (ctx, args) => (await schedule(ctx, args)).length,
    },
  });
  const [fits, not] = await played(deployment, [
    [0, "schedule", { name: "insert", times: 1_000 }],
    [0, "schedule", { name: "insert", times: 1_001 }],
  ]);
  expect(fits!.value).toBe(1_000);
  expect(not!.error?.message).toContain("functionsScheduled");
});

test("after a deploy the function that is there by then runs; one that is gone fails", async () => {
  const deployment = await deployed({ mutations: { insert, schedule, gone: insert } });
  deployment.at(100, async () => {
    const { internalMutationGeneric } = await import("convex/server");
    const other = internalMutationGeneric({
      handler: async (ctx: MutationCtx) => await insert(ctx, { n: 42 }),
    } as never);
    const modules = {
      "./_generated/api.js": async () => ({}),
      "./f.js": async () => ({ insert: other }),
    };
    await deployment.deploy([{ path: "", modules }]);
  });
  await played(deployment, [
    [0, "schedule", { name: "insert", ms: 10_000 }],
    [0, "schedule", { name: "gone", ms: 10_000 }],
  ]);
  expect(numbers(deployment)).toEqual([42]);
  expect(states(deployment).sort()).toEqual(["failed", "success"]);
});

test("when the clock jumps ahead, what is due by then runs", async () => {
  const deployment = await deployed({ mutations: { insert, schedule } });
  const began = deployment.clock.now();
  let at = 0;
  deployment.onCommit(({ by }) => by === "f:insert" && (at = deployment.clock.now() - began));
  deployment.at(1_000, () => deployment.jump(3_600_000));
  await played(deployment, [[0, "schedule", { name: "insert", ms: 3_600_000 }]]);
  expect(at).toBeLessThan(1_100);
});
