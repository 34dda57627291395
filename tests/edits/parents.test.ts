import { expect, test, vi } from "vitest";
import { Deployment, type Files, type Seen, released, useReleases } from "./deployed.js";

/* Parents that are changed while their children go on. */

const releases = useReleases();

const flow = (node: string): Files => ({
  "flow.workflow.ts": `
import { child, defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
export const kid = defineWorkflow({ input: z.object({ n: z.number() }) })
  .step("fails", { mutation: (_ctx, { input }) => { if (input.n < 0) throw new Error("below zero"); return null; } })
  .sleep("rest", "1h")
  .step("made", { query: (_ctx, { input }) => input.n });
export const flow = defineWorkflow({ input: z.object({ ns: z.array(z.number()) }) })${node};`,
});
const parent = (more: string) =>
  `.parent("kids", { children: ({ input }) => input.ns.map((n) => child(kid, { n }))${more} })`;
const one = `.child("kids", kid, ({ input }) => ({ n: input.ns[0] ?? 0 }))`;

/** A run whose children sleep under one version ends under the next. */
async function endsUnder(before: string, now: string, ns: number[]): Promise<Seen> {
  vi.useRealTimers();
  const [was, is] = [flow(before), flow(now)];
  const versions = [await releases.release(was), await releases.release(is, was)] as const;
  vi.useFakeTimers();
  const app = new Deployment(versions[0], versions);
  const id = (await app.call("start", { name: "flow", input: { ns } })) as string;
  await app.drive(async () => (await app.see(id)).active[0]?.state === "waiting");
  app.deploy(versions[1]);
  await app.drive();
  expect(await app.pending()).toBe(0);
  return await app.see(id);
}

test(
  "[S117] the handler of a parent, removed at any moment while it is tried, stops the run; later it goes on",
  { tags: ["large"] },
  async () => {
    const tried = `, action: (_ctx, _scope, { attempt }) => { if (attempt === 1) throw new Error("once"); return attempt; }, retry: { maxAttempts: 2, initialBackoffMs: 3_600_000, base: 1 }`;
    const [was, is] = [
      flow(parent("").replace("{ children", `{ ${tried.slice(2)}, children`)),
      flow(parent("")),
    ];
    const versions = await released(releases, was, is);
    const ends = new Map<string, Set<string>>();
    for (let moment = 0; moment < 8; moment++) {
      const app = new Deployment(versions[0], versions);
      const id = (await app.call("start", { name: "flow", input: { ns: [1] } })) as string;
      let left = moment;
      await app.drive(() => left-- <= 0);
      const [at] = (await app.see(id)).active;
      app.deploy(versions[1]);
      await app.drive();
      const { state, error } = await app.see(id);
      const where = `${at?.node} ${at?.state}`;
      ends.set(where, (ends.get(where) ?? new Set()).add(error?.kind ?? state));
    }
    expect(Object.fromEntries([...ends].map(([where, how]) => [where, [...how]]))).toEqual({
      "kids.output running": ["removedNode"],
      "kids.output waiting": ["removedNode"],
      "kids waiting": ["completed"],
    });
  },
);

const TOLERANT = ", tolerate: { failures: 2 }";
const outcomes = ", finalize: { query: (_ctx, { children }) => children.map(({ ok }) => ok) }";
const sum =
  ", finalize: { query: (_ctx, { children }) => children.reduce((all, n) => all + n, 0) }";
const reduced = ", reduce: { initial: 0, step: (all: number, n) => all + n }";

test.each([
  ["a finalize", sum, 6],
  ["a reduce", reduced, { children: 6 }],
  ["neither", "", { children: [1, 2, 3] }],
])(
  "[S49] [S113] children that are not tolerated any more are given as they are then, to %s",
  { tags: ["large"] },
  async (_what, more, output) => {
    const seen = await endsUnder(parent(TOLERANT + outcomes), parent(more), [1, 2, 3]);
    expect(seen).toMatchObject({ state: "completed", output });
  },
);

test.each([
  ["a finalize", sum],
  ["a reduce", reduced],
  ["neither", ""],
])(
  "[S48] [S113] a failure that was let pass, and is not any more, fails the parent before %s",
  { tags: ["large"] },
  async (_what, more) => {
    const seen = await endsUnder(parent(TOLERANT + outcomes), parent(more), [1, -1, 3]);
    expect(seen).toMatchObject({ state: "failed", error: { kind: "childFailed" } });
    expect(seen.error?.message).toContain("does not tolerate any more: below zero");
  },
);

test(
  "[S49] [S113] children that are tolerated by now are given as they are then",
  { tags: ["large"] },
  async () => {
    const seen = await endsUnder(parent(sum), parent(TOLERANT + outcomes), [1, 2]);
    expect(seen).toMatchObject({ state: "completed", output: [true, true] });
  },
);

test.each([
  ["a parent that became a child", parent(sum), one],
  ["a child that became a parent", one, parent(sum)],
  ["a parent that became a sleep", parent(sum), `.sleep("kids", "1h")`],
  [
    "a parent that became an event",
    parent(sum),
    `.event("kids", { schema: z.string(), timeout: "1h" })`,
  ],
])("[S117] %s stops the runs that are at it", { tags: ["large"] }, async (_what, before, now) => {
  const seen = await endsUnder(before, now, [1, 2]);
  expect(seen).toMatchObject({ state: "failed", error: { kind: "removedNode", node: "kids" } });
});
