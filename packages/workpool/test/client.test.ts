import { createFunctionHandle } from "convex/server";
import { describe, expect, test, vi } from "vitest";
import { enqueue, enqueueBatch, type WorkId } from "../src/client/index.js";
import { literalText } from "../src/core/literal.js";
import { NOTHING_LEFT, TestApp, virtualTime } from "./app.js";
import { components, internal } from "./convex/_generated/api.js";

virtualTime();

const { echo, flaky, write } = internal.jobs;
const onComplete = internal.callbacks.ended;

describe("the free functions", () => {
  test("enqueue, with the pool's settings among their options", async () => {
    const app = new TestApp();
    const retryBehavior = { maxAttempts: 3, initialBackoffMs: 10, base: 1 };
    const [id, ...more] = await app.t.mutation(async (ctx) => [
      await enqueue(
        components.workpool,
        ctx,
        "action",
        flaky,
        { label: "f", succeedsAt: 3 },
        {
          retryBehavior,
          onComplete,
          context: "one",
          maxParallelism: 3,
          logLevel: "WARN",
        },
      ),
      ...(await enqueueBatch(components.workpool, ctx, "mutation", write, [{ label: "a" }], {
        onComplete,
      })),
    ]);
    expect(more).toHaveLength(1);
    const gate = await app.inPool((ctx) => ctx.db.query("gate").first());
    expect(gate).toMatchObject({ maxParallelism: 3, logLevel: "WARN" });
    await app.drive();
    const ends = (await app.events("ended")).map((event) => event.data);
    expect(ends.find((end) => end.workId === id)).toMatchObject({
      context: "one",
      result: { kind: "success", returnValue: 3 },
    });
  });

  test("without a retryBehavior an action is not tried again", async () => {
    const app = new TestApp();
    await app.t.mutation((ctx) =>
      enqueue(components.workpool, ctx, "action", flaky, { label: "f" }),
    );
    await app.drive();
    expect(await app.labels("attempt")).toHaveLength(1);
  });
});

describe("function handles", () => {
  test("are taken in the place of references, for the work and for its callback", async () => {
    const app = new TestApp();
    await app.t.mutation(async (ctx) => {
      // A handle is a string that stands for its function.
      const fn = (await createFunctionHandle(echo)) as unknown as typeof echo;
      const callback = (await createFunctionHandle(onComplete)) as unknown as typeof onComplete;
      await app.pool.enqueueAction(ctx, fn, { value: 7 }, { onComplete: callback });
    });
    await app.drive();
    expect((await app.events("ended"))[0]?.data.result).toEqual({
      kind: "success",
      returnValue: 7,
    });
  });
});

describe("statusBatch", () => {
  test("takes more ids than an array may hold, from an action", { tags: ["large"] }, async () => {
    const app = new TestApp({ maxParallelism: 0 });
    const known = await app.t.mutation((ctx) =>
      app.pool.enqueueMutationBatch(ctx, write, [{ label: "a" }, { label: "b" }]),
    );
    const unknown = Array.from({ length: 8_500 }, (_, i) => `unknown ${i}` as WorkId);
    // An action may not return so many itself.
    const states = await app.t.action(async (ctx) => {
      const ids = [...known.slice(0, 1), ...unknown, ...known.slice(1)];
      const all = await app.pool.statusBatch(ctx, ids);
      return { count: all.length, first: all[0], middle: all[4_000], last: all.at(-1) };
    });
    const pending = { state: "pending", previousAttempts: 0 };
    expect(states).toEqual({
      count: 8_502,
      first: pending,
      middle: { state: "finished" },
      last: pending,
    });
    expect(app.counter.violations).toEqual([]);
  });

  test("of nothing is nothing", async () => {
    const app = new TestApp();
    expect(await app.t.query((ctx) => app.pool.statusBatch(ctx, []))).toEqual([]);
  });
});

describe("what cannot be meant", () => {
  const reached = vi.fn();
  const caller = { runMutation: reached, runQuery: reached } as never;

  const refused = async (options: object, message: string | RegExp) => {
    const app = new TestApp();
    const enqueued = app.t.mutation((ctx) =>
      app.pool.enqueueAction(ctx, echo, { value: 1 }, options),
    );
    await expect(enqueued).rejects.toThrow(message);
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  };

  test.each([["sucess"], [undefined], Array<undefined>(1)])(
    "an excluded kind that is none is refused before anything is written: %s",
    async (...kinds) =>
      await refused(
        { onComplete, onCompleteExcludeKinds: kinds },
        /onCompleteExcludeKinds holds ("sucess"|undefined): a result is one of success/,
      ),
  );

  test.each([NaN, Infinity, -Infinity])(
    "a number that is none is refused by the name of its option: %s",
    async (odd) => {
      await refused({ runAt: odd }, `jobs:echo: runAt is ${odd}: give ms since the epoch`);
      await refused({ runAfter: odd }, `jobs:echo: runAfter is ${odd}: give a number of ms`);
      await refused({ waitAtMost: odd }, `jobs:echo: waitAtMost is ${odd}: give a number of ms`);
      await refused({ priority: odd }, `jobs:echo: priority is ${odd}: give a number of ms`);
      await refused({ fairness: { key: "a", weight: odd } }, `weight of fairness is ${odd}`);
      for (const field of ["maxAttempts", "initialBackoffMs", "base", "maxBackoffMs"]) {
        const retry = { maxAttempts: 2, initialBackoffMs: 1, base: 2, [field]: odd };
        await refused({ retry }, `retry.${field} is ${odd}: it must be`);
      }
    },
  );

  test.each([{ runAt: -1 }, { runAt: 0 }, { runAfter: -1 }, { runAfter: -60_000 }])(
    "what is past means now: %o",
    async (options) => {
      const app = new TestApp();
      const of = { ...options, onComplete };
      await app.t.mutation((ctx) => app.pool.enqueueAction(ctx, echo, { value: 1 }, of));
      await app.drive();
      expect(await app.labels("ended")).toEqual(["success"]);
    },
  );

  // What types forbid, but plain JavaScript lets through.
  test.each<[string, (odd: unknown) => unknown]>([
    ["options", (odd) => odd],
    ["onCompleteExcludeKinds", (onCompleteExcludeKinds) => ({ onCompleteExcludeKinds })],
    ["runAt", (runAt) => ({ runAt })],
    ["runAfter", (runAfter) => ({ runAfter })],
    ["waitAtMost", (waitAtMost) => ({ waitAtMost })],
    ["priority", (priority) => ({ priority })],
    ["fairness", (fairness) => ({ fairness })],
    ["The weight of fairness", (weight) => ({ fairness: { key: "a", weight } })],
    ["limits", (limits) => ({ limits })],
    ["onComplete", (callback) => ({ onComplete: callback })],
    ["retry", (retry) => ({ retry })],
    ["retry.base", (base) => ({ retry: { maxAttempts: 2, initialBackoffMs: 1, base } })],
    ["name", (name) => ({ name })],
  ])("an option of another type is refused by its name: %s", async (name, options) => {
    const { pool } = new TestApp();
    const enqueue = async (odd: unknown) =>
      await pool.enqueueAction(
        { runMutation: reached } as never,
        echo,
        { value: 1 },
        options(odd) as {},
      );
    for (const odd of [5n, Symbol("s"), new Date(0), new Map(), () => 1, Promise.resolve(1)])
      await expect(enqueue(odd)).rejects.toThrow(`${name} is `);
    expect(reached).not.toHaveBeenCalled();
  });

  test.each([null, 0, "", NaN])("so is a retry that is none: %s", async (retry) => {
    await refused({ retry }, `retry is ${literalText(retry)}: give true, false or { maxAttempts`);
  });

  test("so is what an enqueue without a class is to try again, by the name that it has there", async () => {
    const behavior = { maxAttempts: 0, initialBackoffMs: 1, base: 2 };
    for (const [retryBehavior, name] of [
      [5, "retryBehavior"],
      [behavior, "retryBehavior.maxAttempts"],
    ]) {
      const options = { retryBehavior } as object;
      const enqueued = enqueue(components.workpool, caller, "action", echo, { value: 1 }, options);
      await expect(enqueued).rejects.toThrow(`${name} is `);
    }
    await refused({ retry: behavior }, "retry.maxAttempts is ");
    expect(reached).not.toHaveBeenCalled();
  });

  test("[S260] an option that there is not is refused, with those that there are", async () => {
    // The work would begin at once.
    await refused(
      { runAftr: 60_000 },
      /^Enqueueing: there is no "runAftr": there is .*\brunAfter\b/,
    );
    await refused({ definedLimits: {} }, /there is no "definedLimits"/);
    const loose = { retrys: true, maxParallelism: 3 } as object;
    const free = enqueue(components.workpool, caller, "action", echo, { value: 1 }, loose);
    await expect(free).rejects.toThrow('Enqueueing jobs:echo: there is no "retrys"');
    // No attempt of it would follow.
    const retried = enqueue(components.workpool, caller, "action", echo, { value: 1 }, {
      retry: true,
    } as object);
    await expect(retried).rejects.toThrow(
      /^Enqueueing jobs:echo: there is no "retry": there is .*\bretryBehavior\b/,
    );
    expect(() => new TestApp({ maxParalelism: 3 } as object)).toThrow(
      'The Workpool: there is no "maxParalelism": there is maxParallelism, ',
    );
  });

  test.each<[string, unknown]>([
    ["logLevel", "VERBOSE"],
    ["retryActionsByDefault", 1],
    ["defaultRetryBehavior", true],
    ["defaultRetryBehavior.maxAttempts", { maxAttempts: 0, initialBackoffMs: 1, base: 2 }],
  ])("an option of the pool is refused by its name: %s", (name, value) => {
    const [option = ""] = name.split(".");
    expect(() => new TestApp({ [option]: value })).toThrow(`${name} is `);
  });

  const { pool } = new TestApp();
  const odd: unknown[] = [
    undefined,
    null,
    5,
    NaN,
    5n,
    Symbol("s"),
    new Date(0),
    new Map(),
    () => 1,
  ];
  const refusedAs = async (call: (odd: any) => Promise<unknown>, message: string, not = odd) => {
    for (const given of not) await expect(call(given)).rejects.toThrow(message);
    expect(reached).not.toHaveBeenCalled();
  };

  test("a function that is none is refused by its name", async () => {
    const not = [...odd, "", {}, [], Object.create(null), { fn: echo }];
    const enqueueOdd = (fn: any) => pool.enqueueAction(caller, fn, { value: 1 });
    await refusedAs(enqueueOdd, "Enqueueing an action: fn is ", not);
  });

  test("arguments that are no object, and lists that are none, are refused by their name", async () => {
    const one = (args: any) => pool.enqueueAction(caller, echo, args);
    await refusedAs(one, "Enqueueing jobs:echo: args is ", [...odd, "text", [1]]);
    const each = (args: any) => pool.enqueueActionBatch(caller, echo, [{ value: 1 }, args]);
    await refusedAs(each, "Enqueueing jobs:echo: argsList[1] is ", [...odd, "text", [1]]);
    // A text, a map and a set have items, too.
    const batch = (list: any) => pool.enqueueActionBatch(caller, echo, list);
    await refusedAs(batch, "Enqueueing jobs:echo: argsList is ", [...odd, "text", new Set([{}])]);
    await refusedAs(() => batch([, { value: 1 }]), "argsList[0] is undefined"); // eslint-disable-line no-sparse-arrays
  });

  const circle: Record<string, unknown> = {};
  circle["self"] = circle;
  const nested = (levels: number): unknown => (levels === 0 ? 1 : [nested(levels - 1)]);
  test.each<[string, unknown]>([
    [".a is a Date, which is no Convex value: write its getTime()", { a: new Date(0) }],
    [".a[1] is undefined in the list", { a: [1, undefined] }],
    // Convex would make null of it.
    [".a[0] is a hole in the list", { a: [, 1] }], // eslint-disable-line no-sparse-arrays
    [".a is a text with half a surrogate pair", { a: "😀".slice(0, 1) }],
    [".a is a bigint that does not fit into 64 bits", { a: 2n ** 64n }],
    [' has a field "$a"', { $a: 1 }],
    [" is nested more than 1", circle],
    [" is nested more than 1", { a: nested(15) }],
    [" has 8193 elements at ", { a: Array.from({ length: 8_193 }, () => 1) }],
    [" has 1025 fields at ", Object.fromEntries(Array.from({ length: 1_025 }, (_, n) => [n, n]))],
    [" or more than 1024 of them", { ["f".repeat(1_025)]: 1 }],
  ])(
    "[S140] [S141] what cannot be stored is refused with its place: …%s",
    async (message, value) => {
      const place = (name: string) => new RegExp(`^Enqueueing jobs:echo: ${name}`);
      const refusal = async (call: Promise<unknown>) => {
        const error: unknown = await call.catch((thrown: unknown) => thrown);
        expect(reached).not.toHaveBeenCalled();
        expect(String((error as Error).message)).toContain(message);
        return (error as Error).message;
      };
      const args = value as { value: unknown };
      expect(await refusal(pool.enqueueAction(caller, echo, args))).toMatch(place("args"));
      const batch = pool.enqueueActionBatch(caller, echo, [{ value: 1 }, args]);
      expect(await refusal(batch)).toMatch(place("argsList\\[1\\]"));
      const options = { onComplete, context: value };
      expect(await refusal(pool.enqueueAction(caller, echo, { value: 1 }, options))).toMatch(
        place("context"),
      );
    },
  );

  test("arguments of 15 levels and a context of 14 are taken, as a record holds them", async () => {
    const app = new TestApp();
    const options = { onComplete, context: nested(14) };
    await app.t.mutation((ctx) =>
      app.pool.enqueueAction(ctx, echo, { value: nested(14) }, options),
    );
    await app.drive();
    expect((await app.events("ended"))[0]?.data).toMatchObject({
      context: nested(14),
      result: { kind: "success" },
    });
  });

  test("[S141] what is no id is refused by its name", async () => {
    await refusedAs((id) => pool.cancel(caller, id), "Canceling a work: its id is ");
    await refusedAs((id) => pool.status(caller, id), "status of a work: its id is ");
    await refusedAs((id) => pool.statusBatch(caller, [id]), "status of works: ids[0] is ");
    await refusedAs((ids) => pool.statusBatch(caller, ids), "status of works: ids is ", [
      ...odd,
      "text",
    ]);
    await refusedAs((limit) => pool.cancelAll(caller, { limit }), "cancelAll: limit is ", [
      ...odd.filter((each) => each !== undefined && each !== 5),
      0,
      1.5,
    ]);
    await refusedAs((options) => pool.cancelAll(caller, options), "cancelAll: options is ", [null]);
  });

  // No timer could end that wait.
  test.each([Infinity, 1e300, Number.MAX_SAFE_INTEGER, 365 * 86_400_000 + 1])(
    "[S264] a work that may wait for more than a year is refused: %d",
    async (waitAtMost) =>
      await refused({ waitAtMost }, /waitAtMost is .*: give a number of ms above 0, 31536000000/),
  );

  test.each([-1, 201, 0.5, NaN])(
    "maxParallelism %d is refused where it is given",
    (maxParallelism) => {
      expect(() => new TestApp({ maxParallelism })).toThrow(`maxParallelism is ${maxParallelism}`);
    },
  );

  test("more at once than the deployment runs is taken, with one warning", async () => {
    const app = new TestApp({ maxParallelism: 9 }, undefined, "s16");
    await app.setMaxParallelism(8);
    expect(console.warn).not.toHaveBeenCalled();
    for (let i = 0; i < 2; i++)
      await app.t.mutation((ctx) => app.pool.enqueueMutation(ctx, write, { label: `${i}` }));
    expect(vi.mocked(console.warn).mock.calls).toEqual([
      [
        expect.stringContaining(
          "maxParallelism is 9: this deployment runs 8 scheduled functions at once",
        ),
      ],
    ]);
  });
});

describe("onCompleteExcludeKinds", () => {
  test("leaves the callback out for each kind, and runs it for the others", async () => {
    const app = new TestApp();
    await app.t.mutation(async (ctx) => {
      for (const excluded of ["success", "failed", "canceled"] as const) {
        const options = { onComplete, context: excluded, onCompleteExcludeKinds: [excluded] };
        await app.pool.enqueueMutation(ctx, write, { label: "a" }, options);
        await app.pool.enqueueMutation(ctx, write, { label: "b", fails: true }, options);
        await app.pool.cancel(ctx, await app.pool.enqueueAction(ctx, echo, { value: 1 }, options));
      }
    });
    await app.drive();
    const got = (await app.events("ended")).map((event) => `${event.data.context} ${event.label}`);
    expect(got.sort()).toEqual([
      "canceled failed",
      "canceled success",
      "failed canceled",
      "failed success",
      "success canceled",
      "success failed",
    ]);
  });

  test("an excluded kind calls nothing, and writes nothing for it", async () => {
    const app = new TestApp();
    await app.t.mutation((ctx) =>
      app.pool.enqueueMutation(
        ctx,
        write,
        { label: "a" },
        {
          onComplete: internal.callbacks.throwing,
          onCompleteExcludeKinds: ["success"],
        },
      ),
    );
    await app.drive();
    expect(app.counter.totals((call) => call.name === "callbacks:throwing").executions).toBe(0);
    expect(await app.inPool((ctx) => ctx.db.query("failedCallbacks").collect())).toEqual([]);
  });
});
