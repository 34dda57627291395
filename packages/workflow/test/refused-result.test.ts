import { ConvexError } from "convex/values";
import { describe, expect, test } from "vitest";
import { callFor } from "../src/errors/calling.js";

const DATE = `Date "1970" is not a supported Convex type (present at path .at in original object {"at":"1970"}). To learn about Convex's supported types, see https://docs.convex.dev/using/types.`;
const CONVERTED = [
  "at convexToJsonInternal (../../node_modules/convex/src/values/value.ts:339:6)",
  "at <anonymous> (../../node_modules/convex/src/values/value.ts:335:4)",
  "at map [as map] (<anonymous>)",
  "at convexToJson (../../node_modules/convex/src/values/value.ts:417:0)",
];
const INVOKED =
  "at async invokeMutation (../../node_modules/convex/src/server/impl/registration_impl.ts:89:0)";
const VALIDATED =
  "at validateReturnValue (../../node_modules/convex/src/server/impl/registration_impl.ts:95:11)";
const INSERTED = "at insert (../../node_modules/convex/src/server/impl/database_impl.ts:95:3)";
const HANDLED = "at async handler (../convex/notes.ts:12:11)";

/** What comes of a call that fails as on a deployment: with the stack in the message. */
async function failing(message: string, frames: readonly string[]): Promise<unknown> {
  const stack = frames.map((frame) => `\n    ${frame}`).join("");
  try {
    return await callFor("save", {}, async () => {
      throw new Error(`Uncaught Error: ${message}${stack}\n`);
    });
  } catch (error) {
    return error;
  }
}

describe("[S22] what a deployment says of a function that was called", () => {
  test.each([
    ["a date in its result", DATE, [...CONVERTED, INVOKED]],
    ["a function in its result", "Cannot read properties of undefined", [...CONVERTED, INVOKED]],
    ["a query that was not run", "Return value is a Query.", [VALIDATED, INVOKED]],
    ["a cycle in its result", "Maximum call stack size exceeded", CONVERTED],
  ])("%s: its result was refused", async (_what, message, frames) => {
    const error = await failing(message, frames);
    expect(error).toMatchObject({ data: { "~stepwise": { kind: "invalidOutput" } } });
    expect((error as Error).message).toBe(`The result of "save" cannot be stored: ${message}`);
  });

  test.each([
    ["a date in a document", DATE, [...CONVERTED, INSERTED, HANDLED, INVOKED]],
    [
      "a date in the result of a function that it has called",
      DATE,
      [...CONVERTED, INVOKED, "at async runUdf (…/registration_impl.ts:770:5)", HANDLED, INVOKED],
    ],
    ["an error of its own", "no", [HANDLED, INVOKED]],
    ["an error of its own in those words", DATE, [HANDLED, INVOKED]],
    ["an endless recursion of its own", "Maximum call stack size exceeded", [HANDLED, HANDLED]],
  ])("%s: it has failed", async (_what, message, frames) => {
    expect(await failing(message, frames)).not.toBeInstanceOf(ConvexError);
  });

  test("[S110] there is no such function: the node was removed", async () => {
    const message =
      "Could not find public function for 'acts:gone'. Did you forget to run `npx convex dev` or `npx convex deploy`?";
    const call = callFor("save", {}, async () => {
      throw new Error(message);
    });
    await expect(call).rejects.toMatchObject({ data: { "~stepwise": { kind: "removedNode" } } });
    // Another that it calls is its own affair.
    expect(await failing(message, [HANDLED, INVOKED])).not.toBeInstanceOf(ConvexError);
  });

  test("data that says so is the function's own", async () => {
    const thrown = new ConvexError(DATE);
    await expect(
      callFor("save", {}, async () => {
        throw thrown;
      }),
    ).rejects.toBe(thrown);
  });

  test("arguments that no call takes are too large, and nothing is called", async () => {
    let calls = 0;
    const call = callFor("save", { text: "x".repeat(17 * 2 ** 20) }, async () => (calls += 1));
    await expect(call).rejects.toMatchObject({ data: { "~stepwise": { kind: "tooLarge" } } });
    await expect(call).rejects.toThrow(
      /^The args of "save" cannot be passed: they take 178\d+ bytes/,
    );
    expect(calls).toBe(0);
  });

  test("[S21] arguments that Convex refuses are refused before the call", async () => {
    let calls = 0;
    const call = callFor("save", { at: new Date(0) }, async () => (calls += 1));
    await expect(call).rejects.toMatchObject({ data: { "~stepwise": { kind: "invalidOutput" } } });
    await expect(call).rejects.toThrow(/args\.at is a Date, which is no Convex value/);
    expect(calls).toBe(0);
  });
});
