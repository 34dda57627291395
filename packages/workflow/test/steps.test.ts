import { getConvexSize, type Value } from "convex/values";
import { describe, expect, test } from "vitest";
import { useTestApp } from "./harness.js";

const use = useTestApp();

describe("steps", () => {
  test("[S19] actions, mutations and queries, inline and referenced, run once with their scope", async () => {
    const output = await use.app.output("kinds", { n: 21 });
    expect(output).toEqual({
      doubled: 42,
      counted: 2,
      read: "doubled 42",
      plain: { inserted: null },
    });
    expect(await use.app.log()).toEqual(["doubled 42", "inserted 21"]);
    await use.app.expectNothingLeft();
  });

  test("[S20] a handler may be synchronous; returning nothing stores null", async () => {
    expect(await use.app.output("kinds", { n: 1 })).toMatchObject({ plain: { inserted: null } });
  });

  test("[S21] an error in args fails the step, at that node", async () => {
    expect(await use.app.error("argsThrow", { n: 1 })).toMatchObject({
      kind: "thrown",
      message: "no arguments today",
      workflow: "argsThrow",
      node: "doubled",
    });
  });

  test("[S227] a field that a function or a child does not take fails the node, and the error names both", async () => {
    expect(await use.app.error("givesMore", { to: "function" })).toMatchObject({
      node: "given.function.said",
      message: expect.stringContaining("`more`"),
    });
    expect(await use.app.error("givesMore", { to: "child" })).toMatchObject({
      node: "given.child.made",
      message: expect.stringContaining("input.more"),
      cause: { kind: "invalidInput" },
    });
    expect(await use.app.log()).toEqual([]);
  });

  test.each(["action", "mutation"])(
    "[S22] a result of an %s that is no Convex value fails with its path",
    async (kind) => {
      const error = await use.app.error("results", { what: "date", in: kind });
      expect(error).toMatchObject({
        kind: "invalidOutput",
        node: kind === "action" ? "second" : "first",
      });
      expect(error.message).toMatch(/result\[0\]\.at is a Date/);
    },
  );

  test.each(["action", "mutation"])(
    "[S22] a result of an %s that is too large fails with its size and what to do",
    async (kind) => {
      const error = await use.app.error("results", { what: "large", in: kind });
      expect(error.kind).toBe("tooLarge");
      expect(error.message).toMatch(/takes 12\d{5} bytes; at most 1000000.*return its id/);
    },
  );

  test.each(
    Object.entries({
      long: ["tooLarge", /has 9000 elements at result\[0\]\.list; .* at most 8192.*return its id/],
      wide: ["tooLarge", /has 1025 fields at result\[0\]; .* at most 1024/],
      deep: ["invalidOutput", /result(\[0\])+ is nested more than 14 deep/],
      cyclic: ["invalidOutput", /result\[0\]\[0\]\.again.* is nested more than 14 deep/],
      dollar: ["invalidOutput", /result\[0\] has a field "\$a"/],
      function: ["invalidOutput", /result\[0\]\.call is a function, which is no Convex value/],
      symbol: ["invalidOutput", /result\[0\]\.0 is a symbol, which is no Convex value/],
    } as const).flatMap(([what, comes]) =>
      ["action", "mutation"].map((kind) => [what, kind, ...comes] as const),
    ),
  )(
    "[S22] a result that Convex refuses only when it is stored: %s, of an %s",
    { tags: ["large"] },
    async (what, kind, error, message) => {
      expect(await use.app.error("results", { what, in: kind })).toMatchObject({
        kind: error,
        message: expect.stringMatching(message),
      });
    },
  );

  test.each(
    ["action", "mutation", "query"].flatMap((kind) =>
      (
        [
          ["date", /Date.* at path \.at\[0\] /],
          ["missing", /undefined is not .* at path \.list\[0\] /],
          ["large", /BigInt 1180\d+ does not fit/],
          ["dollar", /Field name \$a/],
        ] as const
      )
        .map(([what, message]) => [kind, what as string, message] as const)
        .concat(kind === "query" ? [["query", "query", /Return value is a Query/]] : []),
    ),
  )(
    "[S22] a result of a function that an %s step refers to, which is no Convex value: %s",
    { tags: ["large"] },
    async (kind, what, message) => {
      const error = await use.app.error("givesNoValue", { in: kind, what });
      expect(error).toMatchObject({
        kind: "invalidOutput",
        attempt: 1,
        message: expect.stringMatching(message),
      });
      expect(await use.app.log()).toEqual([]);
    },
  );

  test.each(["action", "mutation"])(
    "[S21] arguments for an %s that are no Convex values are refused at once",
    async (kind) => {
      const error = await use.app.error("givesNoArguments", { in: kind });
      expect(error).toMatchObject({
        kind: "invalidOutput",
        attempt: 1,
        message: expect.stringMatching(
          /^The args of "[\w.]+" cannot be passed: args.what is a Date/,
        ),
      });
    },
  );

  test.each([
    [false, "asked", /has refused its arguments or its result; the value is not shown/],
    [true, "given", /^What it gives cannot be stored: details are not shown, as .{21}$/],
  ])(
    "[S97] what Convex refuses of a sensitive node is not shown: it gives something: %s",
    async (gives, node, message) => {
      const error = await use.app.error("refusedSecrets", { gives });
      expect(error).toMatchObject({ node, message: expect.stringMatching(message) });
      const all = await use.app.inComponent(async (ctx) => [
        await ctx.db.query("runs").collect(),
        await ctx.db.query("steps").collect(),
        await ctx.db.system.query("_scheduled_functions").collect(),
      ]);
      expect(JSON.stringify(all)).not.toContain("s3cret");
    },
  );

  test("[S25] a mutation step that throws leaves none of its writes", async () => {
    await use.app.error("results", { what: "date", in: "mutation" });
    expect(await use.app.log()).toEqual([]);
  });

  test.each(["givesOnlyMuch", "actsAndGivesMuch"])(
    "[S24] a referenced mutation whose result is too large leaves none of its writes (%s)",
    { tags: ["large"] },
    async (name) => {
      const id = await use.app.start(name, {});
      await use.app.drive();
      expect(await use.app.status(name, id)).toMatchObject({
        state: "failed",
        error: { kind: "tooLarge", node: "much" },
      });
      expect(await use.app.log()).toEqual(name === "givesOnlyMuch" ? [] : ["before"]);
    },
  );

  test(
    "[S24] the steps beside such a mutation have run once, and it can recover",
    { tags: ["large"] },
    async () => {
      expect(await use.app.output("givesMuch", { goesOn: true })).toBeNull();
      expect(await use.app.log()).toEqual(["before", "after tooLarge"]);
      const error = await use.app.error("givesMuch", { goesOn: false });
      expect(error).toMatchObject({ node: "much", cause: { kind: "tooLarge" } });
    },
  );

  test(
    "[S24] after an action that is seen at once: nothing waits for the watchdog",
    { tags: ["large"] },
    async () => {
      const begun = Date.now();
      const id = await use.app.start("actsAndGivesMuch", {});
      const hasEnded = async () =>
        (await use.app.status("actsAndGivesMuch", id))?.state === "failed";
      await use.app.drive(hasEnded);
      expect(Date.now() - begun).toBeLessThan(1_000);
    },
  );

  test("[S26] of fused steps the third fails alone: the first two stay done, with their records", async () => {
    const id = await use.app.start("thirdFails", {});
    await use.app.drive();
    expect(await use.app.log()).toEqual(["one", "two"]);
    expect(await use.app.steps(id)).toEqual(["one completed", "two completed", "three failed"]);
    expect(await use.app.status("thirdFails", id)).toMatchObject({
      state: "failed",
      error: { node: "three", kind: "thrown", data: { code: 3 } },
    });
    await use.app.expectNothingLeft();
  });

  test("[S27] steps that together exceed a transaction's limits end, in several transactions", async () => {
    expect(await use.app.output("heavy", {})).toBe("done");
    const entries = use.app.counter.calls.filter(({ name }) => name.endsWith("heavy:entry"));
    expect(entries.length).toBeGreaterThan(1);
    expect(entries.length).toBeLessThan(6);
  });

  test(
    "[S26] a step that fails beside others is run again alone: it may have been the company",
    { tags: ["large"] },
    async () => {
      const id = await use.app.start("heavyTogether", {});
      await use.app.drive();
      expect(await use.app.steps(id)).toEqual(["six completed", "twelve completed"]);
      expect(await use.app.status("heavyTogether", id)).toMatchObject({ state: "completed" });
    },
  );

  test(
    "[S109] a step that uses up a whole transaction fails, and the run with it: it does not hang",
    { tags: ["large"] },
    async () => {
      const error = await use.app.error("tooHeavy", {});
      expect(error).toMatchObject({ node: "all", kind: "thrown" });
      expect(error.message).toMatch(/wrote too much data/i);
      expect(await use.app.log()).toEqual(["before"]);
      await use.app.expectNothingLeft();
    },
  );

  test("[S28] isolate gives a step a transaction of its own", async () => {
    expect(await use.app.output("isolated", {})).toBe(3);
    const entries = use.app.counter.calls.filter(({ name }) => name.endsWith("isolated:entry"));
    expect(entries).toHaveLength(3);
  });

  test("[S30] a query step sees the writes of the steps before it", async () => {
    expect(await use.app.output("kinds", { n: 1 })).toMatchObject({ counted: 2 });
  });

  test("[S23] a scope that escapes holds the input and every earlier output", async () => {
    expect(await use.app.output("everything", { n: 1 })).toEqual(["input", "one"]);
  });

  test("a scope of more than 256 KB is loaded, not passed along", async () => {
    expect(await use.app.output("large", { length: 400_000 })).toBe(800_000);
    const scheduled = use.app.counter.totals().scheduledFunctionArgsBytes;
    expect(scheduled).toBeLessThan(10_000);
  });
});

describe("retry", () => {
  test("[S29] [S31] a failing action is tried again; attempt and key say which and of what", async () => {
    const id = await use.app.start("flaky", { goodAttempt: 3 });
    await use.app.drive();
    expect(await use.app.status("flaky", id)).toMatchObject({
      state: "completed",
      output: {
        attempt: 3,
        idempotencyKey: `${id}/attempt`,
        previous: "attempt 2 failed",
      },
    });
  });

  test("[S29] the args of a reference know the attempt and the key, too", async () => {
    const id = await use.app.start("delivers", {});
    await use.app.drive();
    expect(await use.app.log()).toEqual([
      `1: ${id}/delivered`,
      `2: ${id}/delivered`,
      `noted ${id}/noting.noted#1`,
      `noted ${id}/noting.noted#2`,
    ]);
  });

  test("[S31] it runs maxAttempts times in all, and the last error is the step's", async () => {
    const id = await use.app.start("flaky", { goodAttempt: 99 });
    await use.app.drive();
    expect(await use.app.status("flaky", id)).toMatchObject({
      state: "failed",
      error: { message: "attempt 4 failed", attempt: 4 },
    });
    const [top] = await use.app.tree(id);
    expect(top?.steps[0]?.errors.map(({ message }) => message)).toEqual([
      "attempt 1 failed",
      "attempt 2 failed",
      "attempt 3 failed",
      "attempt 4 failed",
    ]);
    await use.app.expectNothingLeft();
  });

  test("[S32] the waits grow by the base, each within its random factor", async () => {
    const starts: number[] = [];
    use.app.counter.onCall(({ name, startedAt }) => {
      if (name.endsWith("flaky:attempt")) starts.push(startedAt);
    });
    await use.app.run("flaky", { goodAttempt: 4 });
    const waits = starts.slice(1).map((at, i) => at - (starts[i] ?? 0));
    for (const [i, wait] of waits.entries()) {
      const backoff = 1_000 * 2 ** i;
      expect(wait).toBeGreaterThanOrEqual(backoff * 0.5 - 1);
      expect(wait).toBeLessThanOrEqual(backoff * 1.5 + 1);
    }
    expect(waits).toHaveLength(3);
  });

  test("[S33] a NonRetryableError stops at once, and keeps its data", async () => {
    expect(await use.app.error("throws", { what: "nonRetryable" })).toMatchObject({
      kind: "nonRetryable",
      message: "not this one",
      data: { code: 7 },
      attempt: 1,
    });
  });

  test("[S35] a step without retry has the workflow's", async () => {
    expect(await use.app.error("inheritsRetry", {})).toMatchObject({ attempt: 2 });
  });

  test("[S35] retry: true means five attempts", async () => {
    expect(await use.app.error("throws", { what: "class" })).toMatchObject({
      kind: "thrown",
      message: "wrong type",
      attempt: 5,
    });
  });

  test("[S36] while it waits for a retry a step holds no slot, and says when it is due", async () => {
    const id = await use.app.start("flaky", { goodAttempt: 2 });
    await use.app.drive(async () => {
      const status = await use.app.status("flaky", id);
      return status?.active[0]?.state === "waiting";
    });
    const status = await use.app.status("flaky", id);
    expect(status?.active).toMatchObject([{ node: "attempt", attempt: 2, state: "waiting" }]);
    expect(status?.active[0]?.dueAt).toBeGreaterThan(Date.now());
    expect(await use.app.slotsHeld()).toBe(0);
  });

  test.each([
    ["string", 'Thrown: "just text"', undefined],
    ["undefined", "Thrown: undefined", undefined],
    ["convex", expect.any(String), { code: 4 }],
  ])("[S37] a thrown %s is kept readably", async (what, message, data) => {
    const error = await use.app.error("throws", { what });
    expect(error).toMatchObject({ kind: "thrown", message });
    expect(error.data).toEqual(data);
  });
});

describe("an error that nobody expects to be thrown", () => {
  const record = async () =>
    await use.app.inComponent(async (ctx) => {
      const steps = await ctx.db.query("steps").collect();
      return steps.find(({ stage }) => stage === "attempt");
    });

  test.each([
    ["objectMessage", '{"code":5}'],
    ["cyclic", 'Thrown: {"self":[cyclic]}'],
    ["prefixed", "QuotaError: at 10:00\n  at noon"],
    ["long", expect.stringContaining("(20000 characters)")],
    ["unstorable", expect.stringContaining("its data is no Convex value")],
    ["large", expect.stringContaining("its data takes 4000")],
    ["nested", expect.stringMatching(/its data(\[0\])+ is nested more than 6 deep/)],
  ])("[S37] %s: it is kept readably, and tried again as any other", async (what, message) => {
    const error = await use.app.error("oddErrors", { what });
    expect(error).toMatchObject({ kind: "thrown", message, attempt: 3 });
    await use.app.expectNothingLeft();
  });

  test(
    "[S31] the errors of many attempts fit into the step's record: the first and the newest",
    { tags: ["large"] },
    async () => {
      await use.app.run("longErrors", {});
      const errors = (await record())?.errors ?? [];
      expect(errors[0]?.attempt).toBe(1);
      expect(errors.at(-1)?.attempt).toBe(100);
      expect(getConvexSize(errors)).toBeLessThan(140_000);
    },
  );

  test("[S31] a large output after long errors fits into the step's record", async () => {
    await use.app.output("goodAtLast", {});
    expect(getConvexSize((await record()) as Value)).toBeLessThan(1024 * 1024);
  });
});

describe("timeout", () => {
  test("[S38] one that is longer than a timer takes does not end at once", async () => {
    expect(await use.app.output("longTimeout", {})).toBe("done");
  });

  test("[S34] [S38] an attempt over its timeout counts as a failure, and is tried again", async () => {
    expect(await use.app.error("slow", { ms: 60_000 })).toMatchObject({
      kind: "timedOut",
      attempt: 2,
      message: expect.stringContaining("10s"),
    });
    await use.app.expectNothingLeft();
  });

  test("[S38] what the handler does after its timeout changes nothing", async () => {
    const id = await use.app.start("slow", { ms: 10_500 });
    await use.app.drive();
    expect(await use.app.status("slow", id)).toMatchObject({ state: "failed" });
    expect(await use.app.steps(id)).toEqual(["wait timedOut"]);
  });

  test("[S42] an attempt in time leaves no timer behind", async () => {
    expect(await use.app.output("slow", { ms: 1_000 })).toEqual({ aborted: false });
    await use.app.expectNothingLeft();
  });
});
