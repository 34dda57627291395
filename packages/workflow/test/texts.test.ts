import { v } from "convex/values";
import { messageOf } from "@stepwise/workpool/core";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { reportOf } from "../src/attempts.js";
import { NonRetryableError, RetryAfter } from "../src/index.js";
import { callFor } from "../src/errors/calling.js";
import { describeThrown, Failure } from "../src/errors/failure.js";
import { parseValue } from "../src/runtime/input.js";
import { checkedOutput } from "../src/values.js";
import { internal } from "./convex/_generated/api.js";
import { useTestApp } from "./harness.js";

const use = useTestApp();

/** A text that `slice` has cut inside an emoji. */
const HALF = "so good 😀".slice(0, -1);
const PATH = String.raw`\.said\[0\] is a text with half a surrogate pair`;

function refusedAs(act: () => unknown): unknown {
  try {
    return act();
  } catch (error) {
    return describeThrown(error);
  }
}

describe("[S140] a text with half a surrogate pair is refused at once, with its path", () => {
  test("in a result", () => {
    const said = { said: [HALF] };
    expect(refusedAs(() => checkedOutput("ask", said))).toMatchObject({
      kind: "invalidOutput",
      message: expect.stringMatching(`The result of "ask" cannot be stored: result${PATH}`),
    });
    expect(checkedOutput("ask", { said: ["so good 😀"] })).toEqual({ said: ["so good 😀"] });
  });

  test.each([
    ["zod", z.object({ said: z.array(z.string()) })],
    ["Convex", v.object({ said: v.array(v.string()) })],
  ])("in an input or a payload that a schema of %s has parsed", (_whose, schema) => {
    const parse = () =>
      parseValue({ subject: "The input", root: "input" }, schema, { said: [HALF] });
    expect(refusedAs(parse)).toMatchObject({
      kind: "invalidInput",
      message: expect.stringMatching(`input${PATH}`),
    });
  });

  test("in the arguments of a function, which is not called", async () => {
    let calls = 0;
    const call = async () => calls++;
    const error: unknown = await callFor("ask", { said: [HALF] }, call).catch((thrown) => thrown);
    expect(error).toMatchObject({ data: { "~stepwise": { kind: "invalidOutput" } } });
    expect((error as Error).message).toMatch(new RegExp(`The args of "ask" .*: args${PATH}`));
    expect(calls).toBe(0);
  });

  test("in a key, or in the context of onComplete: the message names the option", async () => {
    const start = (options: object) =>
      use.app.t.mutation(internal.manager.start, { name: "leaf", input: { n: 1 }, ...options });
    await expect(start({ key: HALF })).rejects.toThrow(/Starting "leaf": key cannot .* half a/);
    await expect(start({ context: { said: [HALF] } })).rejects.toThrow(
      new RegExp(`Starting "leaf": onComplete.context cannot .*: onComplete.context${PATH}`),
    );
  });

  test.each([
    ["an error", new Error(HALF)],
    ["a text", HALF],
    ["a failure", new Failure("thrown", HALF)],
    ["an error that is cut there", new Error(`${"x".repeat(7_978)}😀${"x".repeat(9_000)}`)],
    ["a cause", new Error("no", { cause: new Error(HALF) })],
  ])("but a message is made well-formed: %s", (_what, thrown) => {
    const { message } = describeThrown(thrown);
    expect(message).toBe(message.replace(/\p{Surrogate}/gu, ""));
    expect(message).toMatch(/^Thrown|so good �|no: so good �|x�/);
  });
});

describe("[S141] a list with a hole is refused, with its place", () => {
  const sparse: number[] = [];
  sparse[0] = 1;
  sparse[2] = 3;

  test("in a result, where Convex would make null of it", () => {
    expect(refusedAs(() => checkedOutput("ask", { list: sparse }))).toMatchObject({
      kind: "invalidOutput",
      message: expect.stringContaining("result.list[1] is a hole in the list"),
    });
  });

  test("in the payload of an event", () => {
    const parse = () => parseValue({ subject: "The event", root: "paid" }, v.any(), sparse);
    expect(refusedAs(parse)).toMatchObject({
      kind: "invalidInput",
      message: expect.stringContaining("paid[1] is a hole in the list"),
    });
  });
});

test("[S21] arguments that no call takes are refused at once, with their size", async () => {
  const call = async () => await Promise.reject(new Error("called"));
  const error: unknown = await callFor("ask", { text: "x".repeat(17 << 20) }, call).catch(
    (thrown) => thrown,
  );
  expect(describeThrown(error)).toMatchObject({
    kind: "tooLarge",
    message: expect.stringMatching(/The args of "ask" .* take 1782\d+ bytes of 16777216/),
  });
});

test.each([null, [1], "text", 5n])("[S141] arguments that are no object: %s", async (args) => {
  const call = async () => await Promise.reject(new Error("called"));
  await expect(callFor("ask", args, call)).rejects.toThrow(
    'The args of "ask" cannot be passed: they are no object',
  );
});

test.each([
  [new Date(0), /result\.a\[0\] is a Date, which is no Convex value: write its getTime\(\)/],
  [Promise.resolve(1), /result\.a\[0\] is a Promise, which is no Convex value: await it$/],
  [new Map(), /result\.a\[0\] is a Map,/],
  [new Uint8Array(2), /result\.a\[0\] is an? Uint8Array, .*buffer/],
  [() => 1, /result\.a\[0\] is a function,/],
  [Symbol("s"), /result\.a\[0\] is a symbol,/],
  [
    Object.create({ constructor: { name: "Money" } }) as unknown,
    /result\.a\[0\] is a Money, .*plain object/,
  ],
  [undefined, /result\.a\[0\] is undefined in the list: write null/],
  // Convex would make {} of them.
  [[1].values(), /result\.a\[0\] is an Array Iterator, .*write \[\.\.\.it\]/],
  [new Map([["a", 1]]).entries(), /result\.a\[0\] is a Map Iterator, /],
  [(function* () {})(), /result\.a\[0\] is a Generator, /],
  [{ ["f".repeat(1_025)]: 1 }, /result\.a\[0\] has a field "f{100}…": .*more than 1024 of them/],
])("[S22] a result that is no Convex value is refused with its place: %s", (value, message) => {
  const result = { a: [value], secret: "in no message" };
  expect(refusedAs(() => checkedOutput("ask", result))).toMatchObject({
    kind: "invalidOutput",
    message: expect.stringMatching(message),
  });
  expect(refusedAs(() => checkedOutput("ask", result))).not.toMatchObject({
    message: expect.stringContaining("in no message"),
  });
});

test("[S141] a field that Convex would drop is refused", () => {
  const parsed: unknown = JSON.parse('{ "list": [{ "__proto__": { "x": 1 } }] }');
  expect(refusedAs(() => checkedOutput("ask", parsed))).toMatchObject({
    kind: "invalidOutput",
    message: expect.stringContaining('result.list[0] has a field "__proto__"'),
  });
});

describe("[S141] options of start that cannot be stored are refused by name", () => {
  const deep = (levels: number): unknown => (levels === 0 ? 1 : { a: deep(levels - 1) });
  const wide = Object.fromEntries(Array.from({ length: 1_025 }, (_, n) => [`f${n}`, n]));

  test.each([
    ["a context of 1.2 MB", { context: "x".repeat(1_200_000) }, /onComplete.context takes 12\d+/],
    ["a deep context", { context: deep(15) }, /onComplete.context.*nested more than 14 deep/],
    ["a context with many fields", { context: wide }, /onComplete.context has 1025 fields/],
    ["a large key", { key: "k".repeat(1_200_000) }, /Starting "leaf": key takes 1200\d+ bytes/],
  ])("%s", async (_what, options, message) => {
    const args = { name: "leaf", input: { n: 1 }, ...options };
    await expect(use.app.t.mutation(internal.manager.start, args)).rejects.toThrow(message);
  });
});

describe("[S37] a step may throw anything", () => {
  const refuses = () => {
    throw new Error("a trap");
  };
  const traps = { get: refuses, has: refuses, getPrototypeOf: refuses, ownKeys: refuses };
  const at = { workflow: "flow", node: "ask", attempt: 1 };

  test.each<[unknown, string, RegExp]>([
    [new Proxy({}, traps), "thrown", /cannot be read/],
    [new Proxy(new Error("no"), { get: refuses }), "thrown", /cannot be read/],
    [new NonRetryableError(new Error("why") as never), "nonRetryable", /^why$/],
    [new NonRetryableError(undefined as never), "nonRetryable", /^undefined$/],
    [new RetryAfter(1, { message: new Error("why") as never }), "thrown", /^why$/],
  ])("and it is reported: %#", async (thrown, kind, message) => {
    const reported = await reportOf(Promise.reject(thrown), at, 0);
    const error = { kind, message: expect.stringMatching(message) };
    expect(reported).toMatchObject({ kind: "failed", error });
    expect(messageOf(thrown)).toMatch(message);
  });
});

describe("[S142] a message tells the causes of the error", () => {
  const refused = (host: string) => new Error(`connect ECONNREFUSED ${host}`);
  const both = new AggregateError([refused("::1:1"), refused("127.0.0.1:1")]);

  test.each([
    [
      "of fetch",
      new TypeError("fetch failed", { cause: refused("127.0.0.1:1") }),
      "fetch failed: connect ECONNREFUSED 127.0.0.1:1",
    ],
    [
      "of fetch, which has tried two addresses",
      new TypeError("fetch failed", { cause: both }),
      "fetch failed: connect ECONNREFUSED ::1:1; connect ECONNREFUSED 127.0.0.1:1",
    ],
    ["a text", new Error("no", { cause: "bad luck" }), "no: bad luck"],
    ["one that it tells already", new Error("no: why", { cause: new Error("why") }), "no: why"],
    ["none", new Error("no", { cause: null }), "no"],
  ])("%s", (_what, error, message) => {
    expect(describeThrown(error)).toEqual({ kind: "thrown", message, data: undefined });
  });

  test("up to five of them", () => {
    const chain = (at: number): Error =>
      new Error(`e${at}`, at < 9 ? { cause: chain(at + 1) } : {});
    expect(describeThrown(chain(0)).message).toBe("e0: e1: e2: e3: e4: e5");
    const circle = new Error("round");
    circle.cause = circle;
    expect(describeThrown(circle).message).toBe("round");
  });
});

test("a payload that is undefined is refused by its name", () => {
  const named = { subject: 'The event "paid"', root: "paid" };
  expect(refusedAs(() => parseValue(named, z.any(), undefined))).toMatchObject({
    kind: "invalidInput",
    message:
      'The event "paid" cannot be stored as its schema gives it: paid is undefined: write null',
  });
});
