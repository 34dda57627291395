import { expect, test } from "vitest";
import type { Files } from "./deployed.js";
import { verdictOf } from "./edited.js";

/* Options whose values the compiler cannot see, and that can stop runs: what `check` says of them. */

const filesOf = (nodes: string, most: number): Files => ({
  "flow.workflow.ts": `
import { child, defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
import { failures, most } from "./most";
const few = 3;
export const kid = defineWorkflow({ input: z.object({}) }).step("k", { query: () => 1 });
export const flow = defineWorkflow({ input: z.object({}) })${nodes};`,
  "most.ts": `export const most = Number(${most}); export const failures = { failures: most };`,
});

/** What is said of an edit, in which what is imported may become less, too. */
const verdict = async (before: string, now: string, most = 5): Promise<string[]> =>
  await verdictOf(filesOf(before, 5), filesOf(now, most));

const PLAIN = /^x safe: changed: runs in flight go on, and run the new code when they get there$/;
const LOWER = "if it is lower now, runs that have made as many iterations stop";
const LOST = "runs stop in which one has failed";

const loop = (most: string, until = "true") =>
  `.loop("x", { initial: () => 1, body: (b) => b.step("y", { query: () => 1 }), until: () => ${until}, maxIterations: ${most} })`;

test.each<[what: string, before: string, now: string, most: number, said: RegExp | string]>([
  ["it was imported", "most", "4", 5, `x stops: its maxIterations is 4, and was one that cannot`],
  ["it is imported now", "50", "most", 5, `x stops: its maxIterations was 50, and is one that`],
  ["a const becomes one", "few", "most", 5, `x stops: its maxIterations was 3, and is one that`],
  ["another is imported", "most", "most", 4, `; its maxIterations cannot be seen: ${LOWER}`],
  ["a higher one is written out", "few", "4", 5, PLAIN],
  ["none is higher than the one that is written out", "most", "100_000", 5, PLAIN],
])(
  "[S117] maxIterations that cannot be seen may be lower, and check says so: %s",
  async (_what, before, now, most, said) => {
    const told = await verdict(loop(before), loop(now), most);
    expect(told).toEqual([
      typeof said === "string" ? expect.stringContaining(said) : expect.stringMatching(said),
    ]);
  },
);

test("[S117] of a loop that was no loop, nothing is said of its iterations", async () => {
  expect((await verdict(`.sleep("x", "1h")`, loop("4"))).join()).not.toContain("maxIterations");
});

const parallel = (option: string) =>
  `.parallel("x", { branches: { a: (b) => b.step("y", { query: () => 1 }) }${option} })`;
const parent = (option: string) => `.parent("x", { children: () => [child(kid, {})]${option} })`;
const each = (option: string) =>
  `.each("x", { of: () => [1], body: (b) => b.step("y", { query: () => 1 })${option} })`;
const FEW = ", tolerate: failures";

test.each([
  ["parallel", parallel],
  ["parent", parent],
  ["each", each],
])(
  "[S256] a tolerate that was seen and is not may be removed, and check says so: %s",
  async (_kind, node) => {
    for (const [before, now] of [
      [`, tolerate: "all"`, FEW],
      [`, tolerate: "all"`, ""],
    ] as const)
      expect(await verdict(node(before), node(now))).toEqual([
        expect.stringContaining(
          `x stops: it has no tolerate that can be seen: if it has none, ${LOST}`,
        ),
      ]);
    // The plan does not tell one that is not seen from none.
    for (const now of ["", `, tolerate: "all"`])
      expect(await verdict(node(FEW), node(now))).toEqual([expect.stringMatching(PLAIN)]);
  },
);

test("[S113] of nodes that take no tolerate, nothing is said of one", async () => {
  const race = (ms: number) =>
    `.race("x", { cases: { a: (b) => b.step("y", { query: () => 1 }) }, compensateLosers: f(${ms}) })`;
  const one = (more: string) => `.child("x", kid, () => ({}${more}))`;
  for (const [before, now] of [
    [race(1), race(2)],
    [one(""), one(" as {}")],
  ] as const)
    expect((await verdict(before, now)).join()).not.toContain("tolerate");
});
