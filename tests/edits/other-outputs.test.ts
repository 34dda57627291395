import { expect, test } from "vitest";
import { type Files, useReleases } from "./deployed.js";
import { edited } from "./edited.js";

/* Another node makes an output: what has ended keeps the one that it gave, and check says so. */

const releases = useReleases();

const HEAD = `
import { child, defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";`;
const text = `.step("text", { query: () => "text" })`;
const object = `.step("object", { query: () => ({ of: "object" }) })`;
const told = `.step("told", { query: (_ctx, scope) => JSON.stringify(scope.given) })`;
const CHANGED = "changed: runs in flight go on, and run the new code when they get there";

const flow = (given: string): Files => ({
  "flow.workflow.ts": `${HEAD}
export const flow = defineWorkflow({ input: z.object({}) })
  .sleep("before", "1h")${given}.sleep("after", "1h")${told};`,
});
const inCase = (nodes: string) =>
  flow(`.branch("given", { on: () => "x" as const, cases: { x: (b) => b${nodes} } })`);
const inBranch = (nodes: string) =>
  flow(`.parallel("given", { branches: { x: (b) => b${nodes} } })`);
const inItem = (nodes: string) => flow(`.each("given", { of: () => [1], body: (b) => b${nodes} })`);
const inRace = (nodes: string) => flow(`.race("given", { cases: { x: (b) => b${nodes} } })`);
const inBoth = (nodes: string) =>
  flow(
    `.branch("given", { on: () => "x" as const, cases: { x: (b) => b.parallel("inner", { branches: { y: (c) => c${nodes} } }) } })`,
  );
const GETS =
  'given safe: another node makes its output now: in runs that are past it, "told" gets what the one before gave';

test.each<[string, (nodes: string) => Files, (text: string) => unknown, more?: string[]]>([
  ["a case", inCase, (made) => made],
  ["a branch", inBranch, (made) => ({ x: made })],
  ["an item", inItem, (made) => [made]],
  ["a race", inRace, (made) => ({ case: "x", output: made })],
  ["a branch in a case", inBoth, (made) => ({ y: made })],
])("[S114] a node added at the end of %s", { tags: ["large"] }, async (_what, of, around) => {
  const { verdict, outputs } = await edited(releases, of(text), of(text + object));
  expect(verdict).toContain(GETS);
  expect(verdict.filter((each) => each.includes("added"))).toEqual([
    expect.stringMatching(/: added at the end of .*: runs in flight that come to it run it too$/),
  ]);
  const [now, then] = [{ of: "object" }, "text"].map((made) =>
    JSON.stringify(around(made as never)),
  );
  expect(outputs).toEqual([now, then, then]);
});

test("[S115] the last node of a case is removed", { tags: ["large"] }, async () => {
  const { verdict, outputs } = await edited(releases, inCase(text + object), inCase(text));
  expect(verdict).toContain(GETS);
  expect(outputs).toEqual(['"text"', '{"of":"object"}', '{"of":"object"}']);
});

test("[S115] the last node of a case moves", { tags: ["large"] }, async () => {
  const { verdict } = await edited(releases, inCase(text + object), inCase(object + text));
  expect(verdict).toContain(GETS);
});

test(
  "[S167] of a case that ends, nothing is said: it makes no output of its node",
  { tags: ["large"] },
  async () => {
    const end = `.end(() => "over")`;
    const ending = (nodes: string) =>
      flow(
        `.branch("given", { on: (): "x" | "y" => "y", cases: { x: (b) => b${nodes}${end}, y: (b) => b } })`,
      );
    const { verdict } = await edited(releases, ending(text), ending(text + object));
    expect(verdict.join()).not.toContain("another node");
  },
);

test("[S174] a loop's state is made by another node", { tags: ["large"] }, async () => {
  const loop = (more: string) =>
    flow(
      `.loop("given", { initial: () => 0, body: (b) => b.sleep("rest", "30m").step("next", { query: (_ctx, { loop }) => loop.iteration })${more}, until: ({ loop }) => loop.iteration === 2, maxIterations: 9 })`,
    );
  const { verdict } = await edited(releases, loop(""), loop(object));
  expect(verdict).toContain(
    'given safe: another node makes its state now: an iteration that has begun keeps the state that it has; in runs that are past it, "told" gets what the one before gave',
  );
});

test("[S114] a child's output is made by another node", { tags: ["large"] }, async () => {
  const kids = (more: string, sum: string): Files => ({
    "flow.workflow.ts": `${HEAD}
export const kid = defineWorkflow({ input: z.object({ hours: z.number() }) })
  .sleep("rest", ({ input }) => input.hours * 3_600_000)
  .step("hours", { query: (_ctx, { input }) => input.hours })${more};
export const flow = defineWorkflow({ input: z.object({}) })
  .parent("given", { children: () => [1, 2].map((hours) => child(kid, { hours })), reduce: { initial: "", step: (all: string, each) => all + ${sum} } })
  .step("told", { query: (_ctx, { given }) => given.children });`,
  });
  const { verdict, outputs } = await edited(
    releases,
    kids("", `"" + each`),
    kids(`.step("long", { query: (_ctx, { hours }) => ({ hours }) })`, "(each.hours ?? each)"),
  );
  expect(verdict).toEqual([
    `given safe: ${CHANGED}`,
    "long safe: added at the end: runs in flight run it too",
    'safe: another node makes its output now: of children that have ended, "given" of flow gets what the one before gave',
  ]);
  expect(outputs).toEqual(["12", "12", "12"]);
});
