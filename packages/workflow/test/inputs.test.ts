import { describe, expect, test, vi } from "vitest";
import { WorkflowManager } from "../src/index.js";
import { parseValue } from "../src/runtime/input.js";
import { isOf } from "./component.js";
import { components, internal } from "./convex/_generated/api.js";
import { workflows } from "./convex/_workflows/index.js";
import { useTestApp } from "./harness.js";

const use = useTestApp();

describe("input", () => {
  test("[S13] handlers see what the schema made of it, and that is what is stored", async () => {
    expect(await use.app.output("parsed", { text: "four" })).toEqual({ count: 3, text: 4 });
  });

  test("[S14] start names the workflow and every issue with its path, and there is no run", async () => {
    const start = use.app.start("parsed", { count: 0, text: 5 });
    await expect(start).rejects.toThrow(/workflow "parsed".*\n.*input\.count:.*\n.*input\.text:/);
    expect(use.app.counter.totals(isOf("lib:start")).executions).toBe(0);
  });

  test("[S14] a caller that catches goes on with its transaction", async () => {
    await use.app.t.mutation(internal.runs.startOrLog, { name: "parsed", input: { text: 1 } });
    expect(await use.app.log()).toEqual([expect.stringContaining('workflow "parsed"')]);
  });

  test("[S15] a schema that checks asynchronously is refused with a clear error", async () => {
    await expect(use.app.start("checkedLater", { id: "x" })).rejects.toThrow(/asynchronous/i);
  });

  test("[S15] so is one whose check throws, of which a schema of zod makes the same", async () => {
    await expect(use.app.start("checkedLater", { id: "throws" })).rejects.toThrow(
      /^The input of workflow "checkedLater" has a schema whose check throws.*\(no check\)/,
    );
  });

  test.each([
    ["throws", () => expect.fail("no check"), "no check"],
    ["is asynchronous", () => Promise.reject(new Error("later")), "it gives a promise"],
  ])("[S15] so is any other schema whose check %s", (_how, validate, why) => {
    const schema = { "~standard": { version: 1, vendor: "own", validate } } as const;
    const parse = () => parseValue({ subject: "The input", root: "input" }, schema, 1);
    const message = `The input has a schema whose check throws or is asynchronous (${why})`;
    expect(parse).toThrow(expect.objectContaining({ message: expect.stringContaining(message) }));
    const hidden = { subject: "The input", root: "input", sensitive: ["input.card"] };
    expect(() => parseValue(hidden, schema, 1)).toThrow("why is not shown, as it is sensitive");
  });

  test("[S16] undefined fields vanish; null, bigint, bytes, arrays and records come back", async () => {
    const value = {
      none: null,
      big: 12345678901234567890n % 2n ** 63n,
      bytes: new Uint8Array([1, 2, 255]).buffer,
      nested: [[1], [[2, "three"]]],
      record: { a: { b: true } },
    };
    expect(await use.app.output("echo", { value: { ...value, gone: undefined } })).toEqual(value);
  });

  test("[S18] an input that is too large is refused, with its size and the limit", async () => {
    const start = use.app.start("echo", { value: "x".repeat(1_200_000) });
    await expect(start).rejects.toThrow(/takes 12\d{5} bytes; at most 1000000/);
  });

  test("[S14] an input that the schema makes into what cannot be stored is refused, with its workflow", async () => {
    await expect(use.app.start("dated", { at: "2020-01-01" })).rejects.toThrow(
      /workflow "dated" cannot be stored.*input\.at is a Date/,
    );
  });

  test("Convex validators check the input too", async () => {
    expect(await use.app.output("checkedByConvex", { id: "a" })).toEqual({ id: "a" });
    await expect(use.app.start("checkedByConvex", { id: 1 })).rejects.toThrow(
      /workflow "checkedByConvex"/,
    );
  });

  test("[S99] the same key of the same workflow gives the same run, whatever its state", async () => {
    const id = await use.app.start("echo", { value: 1 }, "k");
    expect(await use.app.start("echo", { value: 2 }, "k")).toBe(id);
    await use.app.drive();
    expect(await use.app.start("echo", { value: 3 }, "k")).toBe(id);
    expect(await use.app.start("parsed", { text: "" }, "k")).not.toBe(id);
    expect(await use.app.status("echo", id)).toMatchObject({ output: 1 });
  });

  test("[S106] the status of an unknown run is null; to cancel it throws", async () => {
    expect(await use.app.status("echo", "nonsense")).toBeNull();
    const cancel = use.app.t.mutation(internal.runs.cancel, { runId: "nonsense" });
    await expect(cancel).rejects.toThrow(/no such run/);
  });

  test("the definition in the place of the compiled workflow: what to start is told", async () => {
    const { definition } = workflows.echo;
    const start = use.app.t.mutation(async (ctx) => {
      const manager = new WorkflowManager(components.workflow);
      // @ts-expect-error that is no compiled workflow
      return await manager.start(ctx, definition, { value: 1 });
    });
    await expect(start).rejects.toThrow(/one of the `workflows` that workflow-codegen generates/);
  });

  test("a pause is not undone by the next start, but by another value in the manager", async () => {
    const { t } = use.app;
    const reference = workflows.echo;
    const startWith = async (maxParallelism: number) =>
      await t.mutation(async (ctx) => {
        const manager = new WorkflowManager(components.workflow, { maxParallelism });
        return await manager.start(ctx, reference, { value: 1 });
      });
    await startWith(2);
    await t.mutation(components.workflow.config.update, { maxParallelism: 0 });
    const paused = await startWith(2);
    await use.app.drive();
    expect((await use.app.status("echo", paused))?.active).toMatchObject([{ state: "pending" }]);
    await startWith(3);
    await use.app.drive();
    expect(await use.app.status("echo", paused)).toMatchObject({ state: "completed" });
    await expect(
      t.mutation(components.workflow.config.update, { maxParallelism: 201 }),
    ).rejects.toThrow(/0 \(paused\) to 200/);
  });
});

describe("what an app gives and gets", () => {
  const use = useTestApp();

  const issues = async (input: unknown) => {
    const error: unknown = await use.app.start("checkedDeeply", input).then(String, String);
    return String(error).split("\n").slice(1);
  };

  test("[S14] a Convex validator: every issue with its path", async () => {
    const found = await issues({ a: 1, b: { c: "x" }, extra: 3 });
    expect(found).toEqual([
      "  input.a: Expected `string`, got `number`",
      "  input.b.c: Expected `number`, got `string`",
      "  input.extra: Expected `nothing`, got `number`",
    ]);
  });

  test("[S14] the same in lists, records and unions, and of what is missing", async () => {
    const found = await issues({
      b: { c: 1, d: null },
      list: [{ n: 1 }, { n: "2" }, 3, { n: 4, more: [] }],
      record: { good: true, bad: 0, worse: 1n, gone: undefined },
      union: { kind: "y", many: "few" },
    });
    expect(found).toEqual([
      "  input.a: Expected `string`, got `undefined`",
      "  input.b.d: Expected `number`, got `null`",
      "  input.list.1.n: Expected `number`, got `string`",
      "  input.list.2: Expected `object`, got `number`",
      "  input.list.3.more: Expected `nothing`, got `object`",
      "  input.record.bad: Expected `boolean`, got `number`",
      "  input.record.worse: Expected `boolean`, got `bigint`",
      "  input.union: Expected `x`, got `object`; for many: Expected `number`, got `string`",
    ]);
  });

  test("[S14] a value in the place of a literal is not shown", async () => {
    const whole = { a: "", b: { c: 1 } };
    expect(await issues({ ...whole, union: "secret\n`" })).toEqual([
      "  input.union: Expected `x`, got something else; Expected `object`, got `string`",
    ]);
    expect(await issues({ ...whole, union: { kind: "secret", many: 1 } })).toEqual([
      "  input.union: Expected `x`, got `object`; for kind: Expected `y`, got something else",
    ]);
  });

  test("[S14] what is no plain object is one issue, and no list of fields that it lacks", async () => {
    expect(await issues(null)).toEqual(["  input: Expected `object`, got `null`"]);
    const list = ["  input.b: Expected `object`, got a list"];
    expect(await issues({ a: "", b: [] })).toEqual(list);
  });

  test("[S10] children of a workflow that only a function of the file names", async () => {
    expect(await use.app.output("mixedChildren", {})).toEqual([10, [20, 30]]);
  });

  test("[S15] a schema whose asynchronous check fails is refused, and nothing is left to handle", async () => {
    const unhandled = vi.fn();
    process.on("unhandledRejection", unhandled);
    try {
      await expect(use.app.start("refusedLater", { id: "x" })).rejects.toThrow(/asynchronous/);
      await use.app.drive();
      expect(unhandled).not.toHaveBeenCalled();
    } finally {
      process.off("unhandledRejection", unhandled);
    }
  });

  test("[S17] the input of a .child that does not fit fails that child", async () => {
    expect(await use.app.error("badOnlyChild", {})).toMatchObject({
      kind: "childFailed",
      node: "below",
      cause: {
        kind: "invalidInput",
        workflow: "leaf",
        message: expect.stringMatching(/input\.n/),
      },
    });
    await use.app.expectNothingLeft();
  });

  test("[S22] a bigint of more than 64 bits in a result fails with its path", async () => {
    expect(await use.app.error("givesBigint", { large: true })).toMatchObject({
      kind: "invalidOutput",
      message: expect.stringContaining("result.a.b[1] is a bigint that does not fit into 64 bits"),
    });
    expect(await use.app.output("givesBigint", { large: false })).toEqual({
      a: { b: [1n, 2n ** 63n - 1n] },
    });
  });

  test.each([
    ["bigint", "10n"],
    ["bigintInside", '{"code":10n,"message":"bad"}'],
    ["number", "NaN"],
    ["cycle", '["bad",{"list":[cyclic]}]'],
    ["map", 'Map [["a",{"n":1n}],[2,"b"]]'],
    ["set", '{"names":Set ["x","y"]}'],
    [
      "mixed",
      '{"error":TypeError: no,"at":"1970-01-01T00:00:00.000Z","none":undefined,"call":Symbol(s)}',
    ],
    ["unreadable", "[unreadable object]"],
  ])(
    "[S37] a value that JSON does not have is kept readably when it is thrown: %s",
    async (what, text) => {
      expect(await use.app.error("oddThrows", { what })).toMatchObject({
        kind: "thrown",
        message: `Thrown: ${text}`,
      });
    },
  );

  test("[S57] what step puts into the value it begins with is not there for the next run", async () => {
    expect(await use.app.output("reducedInPlace", { of: 3 })).toEqual([0, 10, 20]);
    expect(await use.app.output("reducedInPlace", { of: 2 })).toEqual([0, 10]);
  });
});
