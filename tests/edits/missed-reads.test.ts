import { describe, expect, test } from "vitest";
import { Deployment, Releases, type Files, useReleases } from "./deployed.js";

/*
 * A scope holds what the generated code loads. What a function reads besides is an error, and never
 * `undefined`.
 */

const releases = useReleases();

const flow = (nodes: string): Files => ({
  "flow.workflow.ts": `
import { child, defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
import { internal } from "./_generated/api";
export const kid = defineWorkflow({ input: z.object({ of: z.string() }) })
  .step("only", { query: (_ctx, { input }) => input.of });
export const flow = defineWorkflow({ input: z.object({}) })
  .step("a", { query: () => "a made" })
  .step("b", { query: () => "b made" })
  ${nodes};`,
});

interface Outcome {
  readonly state: string;
  readonly output?: unknown;
  readonly error?: unknown;
}

async function outcomeOf(
  release: Promise<Awaited<ReturnType<Releases["release"]>>>,
): Promise<Outcome> {
  const app = new Deployment(await release);
  const runId = String(await app.call("start", { name: "flow", input: {} }));
  await app.drive();
  return await app.see(runId);
}

type Reader = readonly [
  what: string,
  /** What messages call it. */
  reader: string,
  node: (name: "a" | "b") => string,
  output: unknown,
];

const READERS: Reader[] = [
  [
    "an action",
    'action of "x"',
    (n) => `.step("x", { action: (_ctx, { ${n} }) => ${n} })`,
    "b made",
  ],
  [
    "a mutation",
    'mutation of "x"',
    (n) => `.step("x", { mutation: (_ctx, scope) => scope.${n} })`,
    "b made",
  ],
  ["a query", 'query of "x"', (n) => `.step("x", { query: (_ctx, { ${n} }) => ${n} })`, "b made"],
  [
    "the args of a mutation",
    'args of "x"',
    (n) => `.step("x", { mutation: internal.runs.log, args: ({ ${n} }) => ({ text: ${n} }) })`,
    expect.any(String),
  ],
  [
    "the args of an action",
    'args of "x"',
    (n) => `.step("x", { action: internal.acts.echo, args: ({ ${n} }) => ({ text: ${n} }) })`,
    "b made",
  ],
  [
    "recover",
    'recover of "x"',
    (n) =>
      `.step("x", { query: () => { throw new Error("x fails"); }, recover: (_error, { ${n} }) => ${n} })`,
    "b made",
  ],
  [
    "a handler inside a loop",
    'mutation of "x.inside"',
    (n) => `.loop("x", { initial: () => 0,
      body: (l) => l.step("inside", { mutation: (_ctx, { ${n} }) => ${n} }),
      until: () => true, maxIterations: 2 })`,
    "b made",
  ],
  ["a duration", 'duration of "x"', (n) => `.sleep("x", ({ ${n} }) => ${n}.length)`, "b made"],
  [
    "an on",
    'on of "x"',
    (n) => `.branch("x", { on: ({ ${n} }) => (${n} === "" ? "no" : "yes"), cases: {
      yes: (c) => c.step("y", { query: () => 1 }), no: (c) => c.step("n", { query: () => 2 }) } })`,
    1,
  ],
  [
    "an initial",
    'initial of "x"',
    (n) => `.loop("x", { initial: ({ ${n} }) => ${n},
      body: (l) => l.step("inside", { mutation: (_ctx, { loop }) => loop.state }),
      until: () => true, maxIterations: 2 })`,
    "b made",
  ],
  [
    "an until",
    'until of "x"',
    (n) => `.loop("x", { initial: () => 0,
      body: (l) => l.step("inside", { mutation: (_ctx, { loop }) => loop.state }),
      until: ({ ${n}, loop }) => ${n} !== loop.state, maxIterations: 2 })`,
    0,
  ],
  [
    "children",
    'children of "x"',
    (n) => `.parent("x", { children: ({ ${n} }) => [child(kid, { of: ${n} })] })`,
    { children: ["b made"] },
  ],
  [
    "the handler of a parent",
    'mutation of "x.output"',
    (n) => `.parent("x", { mutation: (_ctx, { ${n} }) => ${n},
      children: ({ output }) => [child(kid, { of: output })] })`,
    { output: "b made", children: ["b made"] },
  ],
  [
    "the timeout of an event",
    'timeout of "x"',
    (n) => `.event("x", { schema: z.string(), timeout: ({ ${n} }) => ${n}.length })
      .step("y", { query: (_ctx, { x }) => x.timedOut })`,
    true,
  ],
  [
    "the recover of a child",
    'recover of "x"',
    (n) => `.child("x", kid, () => ({ of: 1 as never }), { recover: (_error, { ${n} }) => ${n} })`,
    "b made",
  ],
  [
    "the finalize of a parent",
    'mutation of "x.finalize"',
    (n) => `.parent("x", { children: () => [child(kid, { of: "" })],
      finalize: { mutation: (_ctx, { children, ${n} }) => [...children, ${n}] } })`,
    ["", "b made"],
  ],
  [
    "the input of a child",
    'args of "x"',
    (n) => `.child("x", kid, ({ ${n} }) => ({ of: ${n} }))`,
    "b made",
  ],
  [
    "a finalize",
    'query of "finalize"',
    (n) => `.finalize({ query: (_ctx, { ${n} }) => ${n} })`,
    "b made",
  ],
];

const ACTS: Files = {
  "acts.ts": `import { internalActionGeneric } from "convex/server";
export const echo = internalActionGeneric(async (_ctx, { text }) => text);`,
};
const version = (node: string): Files => ({ ...ACTS, ...flow(node) });

describe("a name that the generated code does not load", () => {
  test.each(READERS)(
    "is an error when %s reads it, which names both",
    { tags: ["large"] },
    async (_what, reader, node) => {
      const { state, error } = await outcomeOf(
        releases.releaseStale(version(node("b")), version(node("a"))),
      );
      expect(state).toBe("failed");
      expect(error).toMatchObject({
        kind: "nonRetryable",
        message: expect.stringContaining(
          `The ${reader} in workflow "flow" reads "b", which the generated code does not load. Run workflow-codegen.`,
        ),
      });
    },
  );

  test.each(READERS)(
    "is read by %s when the compiler was run",
    { tags: ["large"] },
    async (_what, _reader, node, output) => {
      expect(await outcomeOf(releases.release(version(node("b"))))).toMatchObject({
        state: "completed",
        output,
      });
    },
  );

  test(
    "is an error when a compensation reads it, which is not taken for done",
    { tags: ["large"] },
    async () => {
      const undoing = (n: string) =>
        version(`.step("x", { query: () => 1, compensate: { mutation: (_ctx, { ${n} }) => ${n} } })
        .step("y", { query: () => { throw new Error("y fails"); } })`);
      const stale = await outcomeOf(releases.releaseStale(undoing("b"), undoing("a")));
      expect(JSON.stringify(stale)).toContain(
        String.raw`The mutation of \"x.compensate\" in workflow \"flow\" reads \"b\"`,
      );
    },
  );

  const step = (handler: string) => version(`.step("x", { query: ${handler} })`);
  test.each([
    ["a rest element", "(_ctx, { a, ...rest }) => rest"],
    ["a spread", "(_ctx, scope) => ({ ...scope })"],
    ["a list of the names", "(_ctx, scope) => Object.keys(scope)"],
    ["a question for the name", '(_ctx, scope) => "b" in scope'],
    ["another question for it", '(_ctx, scope) => Object.hasOwn(scope, "b")'],
    ["JSON", "(_ctx, scope) => JSON.stringify(scope)"],
  ])(
    "is an error when %s asks for it; when the compiler was run, everything is there",
    { tags: ["large"] },
    async (_what, handler) => {
      const stale = await outcomeOf(
        releases.releaseStale(step(handler), step("(_ctx, { a }) => a")),
      );
      expect(stale).toMatchObject({ state: "failed", error: { kind: "nonRetryable" } });
      expect((await outcomeOf(releases.release(step(handler)))).state).toBe("completed");
    },
  );

  test("is no error when the function only has a name that is no node's", async () => {
    const handler =
      "async (_ctx, scope) => [scope.a, scope.toJSON, scope.x, (await scope).a].map(String)";
    expect(
      await outcomeOf(releases.releaseStale(step(handler), step("(_ctx, { a }) => a"))),
    ).toMatchObject({
      output: ["a made", "undefined", "undefined", "a made"],
    });
  });
});

describe("an action that was scheduled by an earlier version", () => {
  const trying = (reads: string, before = "") =>
    version(`${before}.step("x", {
      action: (_ctx, { ${reads} }, { attempt }) => { if (attempt === 1) throw new Error("once"); return [${reads}].map(String); },
      retry: { maxAttempts: 2, initialBackoffMs: 3_600_000, base: 1 },
    })`);

  test.each([
    ["[S113] gets what it reads now", trying("a, b"), ["a made", "b made"]],
    [
      "[S114] gets `undefined` for a node that its run has not run",
      trying("b, added", '.step("added", { query: () => 1 })'),
      ["b made", "undefined"],
    ],
  ])("%s", { tags: ["large"] }, async (_what, now, output) => {
    const before = trying("a");
    const versions = [await releases.release(before), await releases.release(now, before)] as const;
    const app = new Deployment(versions[0], [versions[1]]);
    const runId = String(await app.call("start", { name: "flow", input: {} }));
    await app.drive(async () =>
      (await app.see(runId)).active.some(({ state }) => state === "waiting"),
    );
    app.deploy(versions[1]);
    await app.drive();
    expect(await app.see(runId)).toMatchObject({ state: "completed", output });
  });
});
