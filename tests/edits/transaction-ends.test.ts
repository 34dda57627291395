import { expect, test } from "vitest";
import { Deployment, type Files, released, useReleases } from "./deployed.js";
import { changesOf } from "./edited.js";

/*
 * Where a transaction ends depends on what a run has done in it: on stages of every sequence, on
 * iterations, on outputs and on time. So a run can be at any query or mutation for a moment.
 */

const releases = useReleases();

const filesOf = (nodes: string): Files => ({
  "flow.workflow.ts": `
import { child, defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
export const kid = defineWorkflow({ input: z.object({}) }).step("grown", { query: () => 1 });
export const flow = defineWorkflow({ input: z.object({}) })${nodes};`,
});

const queries = (name: string, many: number): string =>
  Array.from({ length: many }, (_, n) => `.step("${name}${n}", { query: () => ${n} })`).join("");

const X = `.step("x", { query: () => "made" })`;
const LAST = `.step("last", { query: () => "last" })`;

const branch = (name: string, nodes: string): string =>
  `.branch("${name}", { on: () => "one" as const, cases: { one: (b) => b${nodes} } })`;

const loop = (body: string, many: number): string =>
  `.loop("turn", { initial: () => 0, body: (b) => b${body}.step("count", { query: (_ctx, { loop }) => loop.iteration }), until: ({ loop }) => loop.iteration >= ${many}, maxIterations: 100 })`;

const large = [1, 2, 3, 4, 5]
  .map((n) => `.step("large${n}", { mutation: () => "x".repeat(900_000) })`)
  .join("");

/** Returns what `check` says, and what becomes of a run that is at a stage which has not begun. */
async function deployedAt(stage: string, before: string, now: string) {
  const [was, is] = [filesOf(before), filesOf(now)];
  const changes = await changesOf(was, is);
  const versions = await released(releases, was, is);
  const app = new Deployment(versions[0], versions);
  const id = (await app.call("start", { name: "flow", input: {} })) as string;
  const isThere = async () => (await app.see(id)).active.some(({ node }) => node === stage);
  await app.drive(isThere);
  expect((await app.see(id)).active).toContainEqual({ node: stage, state: "pending" });
  app.deploy(versions[1]);
  await app.drive();
  expect(await app.pending()).toBe(0);
  return { changes, seen: await app.see(id) };
}

const NAP = `.sleep("nap", "1h")`;

test.each<[where: string, stage: string, nodes: (x: string) => string]>([
  ["in a loop's body", "turn.x", (x) => NAP + queries("fill", 2) + loop(queries("in", 1) + x, 30)],
  [
    "in a case after others",
    "late.one.x",
    (x) => NAP + branch("early", queries("fill", 9)) + branch("late", queries("in", 10) + x) + LAST,
  ],
  ["after a loop of many iterations", "x", (x) => NAP + loop("", 20) + x + LAST],
  ["after outputs of 4 MB", "x", (x) => NAP + large + x + LAST],
])(
  "[S115] a query that is removed stops a run that is just at it, and check says so: %s",
  { tags: ["large"] },
  async (_where, stage, nodes) => {
    const { changes, seen } = await deployedAt(stage, nodes(X), nodes(""));
    expect(changes).toMatchObject([
      {
        node: stage,
        compatibility: "safe",
        message: expect.stringContaining("but for one that is just at it or paused there"),
      },
    ]);
    expect(seen).toMatchObject({ state: "failed", error: { kind: "removedNode", node: stage } });
  },
);

test(
  "[S114] a query that moved before one that a run is just at is not run, and check names its readers",
  { tags: ["large"] },
  async () => {
    const reads = `.step("reads", { query: (_ctx, { x }) => x ?? "nothing" })`;
    const nodes = (line: string) => NAP + loop("", 20) + line + reads;
    const [before, now] = [nodes(LAST + X), nodes(X + LAST)];
    const { changes, seen } = await deployedAt("last", before, now);
    expect(seen).toMatchObject({ state: "completed", output: "nothing" });
    expect(changes).toContainEqual(
      expect.objectContaining({
        node: "x",
        message: expect.stringMatching(/moved before "last".*"reads" reads undefined/),
      }),
    );
  },
);

test(
  "[S117] a finalize that is removed stops a run that is just at it, and check says so",
  { tags: ["large"] },
  async () => {
    const parent = (finalize: string) =>
      `.parent("x", { children: () => [child(kid, {})]${finalize} })`;
    // It is tried again alone, as it may have failed because it shared a transaction.
    const finalize = `, finalize: { query: () => { throw new Error("no room") } }`;
    const { changes, seen } = await deployedAt("x.finalize", parent(finalize), parent(""));
    expect(changes).toMatchObject([{ node: "x", compatibility: "safe" }]);
    expect(seen).toMatchObject({ state: "failed", error: { kind: "removedNode" } });
    expect(changes[0]?.message).toContain("; one that is just at x.finalize or paused there stops");
  },
);
