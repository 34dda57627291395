import { expect, test } from "vitest";
import { Deployment, type Files, type Seen, released, useReleases } from "./deployed.js";
import { changesOf } from "./edited.js";

/* What `check` says of an edit, and what a run does that is in flight meanwhile: the two agree. */

const releases = useReleases();

const REPAIR = `
import { WorkflowManager } from "@stepwise/workflow";
import { internalMutationGeneric } from "convex/server";
import { components } from "./_generated/api";
import { workflows } from "./_workflows/index";
const workflow = new WorkflowManager(components.workflow);
export const repair = internalMutationGeneric((ctx) => workflow.repair(ctx, workflows));
export const pause = internalMutationGeneric((ctx, { runId }) => workflow.pause(ctx, runId));
export const resume = internalMutationGeneric((ctx, { runId }) => workflow.resume(ctx, runId));
`;

const textOf = (nodes: string): string => `
import { child, defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
import { internal } from "./_generated/api";
export const kid = defineWorkflow({ input: z.object({}) }).sleep("rest", "1h").step("grown", { query: () => 1 });
export const flow = defineWorkflow({ input: z.object({}) })${nodes};`;
const filesOf = (nodes: string): Files => ({
  "steering.ts": REPAIR,
  "flow.workflow.ts": textOf(nodes),
});

const verdicts = async (before: string, now: string) =>
  await changesOf(filesOf(before), filesOf(now));

interface Place {
  /** The node at which the run waits. */
  readonly node: string;
  /** How often it has come there. Default: once. */
  readonly times?: number;
  /** What it does there. Default: it waits. */
  readonly state?: string;
}

/** A run waits at a place under one version, and goes on under the next. */
async function goesOn(
  before: string,
  now: string,
  place: Place,
): Promise<Seen & { readonly hangs: boolean; readonly logged: readonly string[] }> {
  const versions = await released(releases, filesOf(before), filesOf(now));
  const app = new Deployment(versions[0], versions);
  const id = (await app.call("start", { name: "flow", input: {} })) as string;
  const isThere = async () =>
    (await app.see(id)).active.some(
      ({ node, state }) => node === place.node && state === (place.state ?? "waiting"),
    );
  for (let time = 1; time <= (place.times ?? 1); time++) {
    const before = Date.now();
    await app.drive(async () => (time === 1 || Date.now() > before) && (await isThere()));
  }
  expect(await isThere()).toBe(true);
  app.deploy(versions[1]);
  await app.drive();
  const hangs = (await app.see(id)).active.some(({ state }) => state === "waiting");
  if (hangs) {
    await app.call("steering:repair", {});
    await app.drive();
  }
  return { ...(await app.see(id)), hangs, logged: await app.logged() };
}

const LAST = `.step("last", { query: () => "last" })`;

/** Node `x` of each kind that a run can be at for long, and where it then is. */
const KINDS: Record<string, { readonly text: string; readonly at: string }> = {
  action: {
    text: `.step("x", { action: (_ctx, _scope, { attempt }) => { if (attempt === 1) throw new Error("once"); return 1; }, retry: { maxAttempts: 2, initialBackoffMs: 3_600_000, base: 1 } })`,
    at: "x",
  },
  sleep: { text: `.sleep("x", "1h")`, at: "x" },
  event: { text: `.event("x", { schema: z.string(), timeout: "1h" })`, at: "x" },
  endless: { text: `.event("x", { schema: z.string() })`, at: "x" },
  parent: { text: `.parent("x", { children: () => [child(kid, {})] })`, at: "x" },
  child: { text: `.child("x", kid, () => ({}))`, at: "x" },
  branch: {
    text: `.branch("x", { on: () => "one" as const, cases: { one: (b) => b.sleep("rest", "1h") } })`,
    at: "x.one.rest",
  },
  loop: {
    text: `.loop("x", { initial: () => 1, body: (b) => b.sleep("rest", "1h").step("add", { query: () => 1 }), until: () => true, maxIterations: 2 })`,
    at: "x.rest",
  },
};
const QUERY = `.step("x", { query: () => 1 })`;

const pairs = Object.entries(KINDS).flatMap(([before, from]) =>
  [
    ...Object.entries(KINDS),
    ["query", { text: QUERY }] as const,
    ["nothing", { text: "" }] as const,
  ]
    .filter(([now]) => now !== before && !(before === "event" && now === "endless"))
    .map(([now, to]) => [before, now, from, to.text] as const),
);

test.each(pairs)(
  "[S117] a run at x, %s before and %s now, stops if check says so, and else goes on",
  { tags: ["large"] },
  async (before, now, from, to) => {
    const changes = await verdicts(from.text + LAST, to + LAST);
    const stops = changes.some(({ compatibility }) => compatibility !== "safe");
    const seen = await goesOn(from.text + LAST, to + LAST, { node: from.at });
    if (before === "endless" && now === "event")
      expect({ stops, hangs: seen.hangs }).toEqual({ stops: false, hangs: true });
    else if (before === "endless") {
      // Nothing wakes it; after a repair it ends, or goes on if the event is still there.
      expect({ stops, hangs: seen.hangs }).toEqual({ stops: true, hangs: true });
      expect(changes.some(({ hint }) => hint?.includes("workflow.repair(") === true)).toBe(true);
      expect(seen.active).toEqual(now === "event" ? expect.anything() : []);
    } else {
      expect({ stops, seen }).toEqual({ stops: seen.state === "failed", seen });
      if (stops) expect(seen).toMatchObject({ error: { kind: "removedNode" } });
    }
  },
);

test(
  "[S114] a node moved before the run's place is not run, and check names who reads undefined",
  { tags: ["large"] },
  async () => {
    const gate = `.sleep("gate", "1h")`;
    const x = `.step("x", { query: () => 1 })`;
    const reads = `.step("reads", { query: (_ctx, { x }) => x === undefined ? "nothing" : "something" })`;
    const [before, now] = [gate + x + reads, x + gate + reads];
    expect(await verdicts(before, now)).toContainEqual(
      expect.objectContaining({
        node: "x",
        message: expect.stringMatching(/moved before "gate".*"reads" reads undefined/),
      }),
    );
    expect(await goesOn(before, now, { node: "gate" })).toMatchObject({ output: "nothing" });
    // The other way round every run has done it.
    const back = await verdicts(now, before);
    expect(back.map(({ message }) => message).join()).not.toContain("undefined");
  },
);

test(
  "[S114] a node that nobody reads is not run either where it moved before the run's place, and check says so",
  { tags: ["large"] },
  async () => {
    const gate = `.sleep("gate", "1h")`;
    const pays = `.step("pays", { mutation: async (ctx) => { await ctx.runMutation(internal.runs.log, { text: "paid" }); } })`;
    const [before, now] = [gate + pays + LAST, pays + gate + LAST];
    expect(await verdicts(before, now)).toContainEqual(
      expect.objectContaining({
        node: "pays",
        message:
          'moved before "gate": runs that are there or past it, and have not run it, do not run it, nor do those that have not begun',
      }),
    );
    expect(await goesOn(before, now, { node: "gate" })).toMatchObject({
      state: "completed",
      logged: [],
    });
  },
);

test.each([
  ["the workflow", "x", (nodes: string) => nodes],
  [
    '"one.y"',
    "one.y.x",
    (nodes: string) =>
      `.branch("one", { on: () => "y" as const, cases: { y: (b) => b${nodes} } }).step("r", { query: (_ctx, { one }) => one ?? undefined })`,
  ],
])(
  "[S114] the same of the node that makes the output of %s, by its moving and its adding",
  { tags: ["large"] },
  async (what, node, around) => {
    const gate = `.sleep("gate", "1h")`;
    const x = `.step("x", { query: () => "made" })`;
    const at = node.replace(/x$/, "gate");
    for (const before of [gate + x, gate]) {
      const versions = [around(before), around(x + gate)] as const;
      expect(await verdicts(...versions)).toContainEqual(
        expect.objectContaining({
          node,
          message: expect.stringContaining(`whoever uses the output of ${what} reads undefined`),
        }),
      );
      const seen = await goesOn(...versions, { node: at });
      expect(seen).toMatchObject({ state: "completed" });
      expect(seen.output ?? null).toBeNull();
    }
  },
);

test(
  "[S113] a handler added to a parent is not run for children that are going, and check says so",
  { tags: ["large"] },
  async () => {
    const parent = (handler: string) =>
      `.parent("x", { ${handler}children: () => [child(kid, {})], finalize: { query: (_ctx, scope) => "output" in scope && scope.output !== undefined ? "handled" : "not handled" } })`;
    const [before, now] = [parent(""), parent(`query: () => "made", `)];
    expect(await verdicts(before, now)).toContainEqual(
      expect.objectContaining({ message: expect.stringContaining("its `output` is undefined") }),
    );
    expect(await goesOn(before, now, { node: "x" })).toMatchObject({ output: "not handled" });
  },
);

const COMPENSATION_ADDED =
  "[S267] a compensation that is added does not undo what has begun, and check says so: a run %s";

async function undoesOnly(place: Place, logged: readonly string[]): Promise<void> {
  const once = `action: async (_ctx, _scope, { attempt }) => { ${place.state === undefined ? `if (attempt === 1) throw new Error("once");` : "await new Promise((end) => setTimeout(end, 5_000));"} return 1; }, retry: { maxAttempts: 2, initialBackoffMs: 3_600_000, base: 1 }`;
  const undo = `, compensate: { mutation: async (ctx) => { await ctx.runMutation(internal.runs.log, { text: "x" }); } }`;
  const text = (more: string) =>
    `.sleep("gate", "1h").step("x", { ${once}${more} }).sleep("rest", "1h").step("fails", { mutation: () => { throw new Error("over"); } })`;
  const [before, now] = [text(""), text(undo)];
  expect(await verdicts(before, now)).toMatchObject([
    {
      node: "x",
      compatibility: "safe",
      message: expect.stringMatching(
        /; its new compensation undoes only what is begun or tried again from now on$/,
      ),
    },
  ]);
  const seen = await goesOn(before, now, place);
  expect(seen).toMatchObject({ state: "failed", error: { message: "over" }, logged });
}

test.each<[string, Place, string[]]>([
  ["whose action goes on", { node: "x", state: "running" }, []],
])(COMPENSATION_ADDED, async (_where, place, logged) => await undoesOnly(place, logged));

test.each<[string, Place, string[]]>([
  ["before the step", { node: "gate" }, ["x"]],
  ["whose action waits to be tried again", { node: "x" }, ["x"]],
  ["past the step", { node: "rest" }, []],
])(
  COMPENSATION_ADDED,
  { tags: ["large"] },
  async (_where, place, logged) => await undoesOnly(place, logged),
);

test(
  "[S117] maxIterations below the iterations that a run has made stops it, and check says so",
  { tags: ["large"] },
  async () => {
    const loop = (most: number) =>
      `.loop("x", { initial: () => 1, body: (b) => b.sleep("rest", "1h").step("add", { query: () => 1 }), until: ({ loop }) => loop.iteration === 4, maxIterations: ${most} })${LAST}`;
    const changes = await verdicts(loop(9), loop(2));
    expect(changes).toContainEqual(
      expect.objectContaining({
        node: "x",
        compatibility: "stops",
        message: expect.stringContaining("maxIterations is 2, was 9"),
      }),
    );
    expect(await goesOn(loop(9), loop(2), { node: "x.rest", times: 3 })).toMatchObject({
      state: "failed",
    });
    expect(
      (await verdicts(loop(5), loop(9))).every(({ compatibility }) => compatibility === "safe"),
    ).toBe(true);
  },
);

test.each([
  ["a query", `.step("x", { query: () => 1 })`, true],
  ["a mutation", `.step("x", { mutation: () => 1 })`, true],
  ["a mutation with isolate", `.step("x", { mutation: () => 1, isolate: true })`, false],
])(
  "[S115] %s that is removed: runs stop only if one can be at it",
  { tags: ["large"] },
  async (_what, node, isSafe) => {
    const first = `.sleep("nap", "1h")`;
    const changes = await verdicts(first + node + LAST, first + LAST);
    expect(changes.every(({ compatibility }) => compatibility === "safe")).toBe(isSafe);
    if (isSafe)
      expect(await goesOn(first + node + LAST, first + LAST, { node: "nap" })).toMatchObject({
        state: "completed",
      });
  },
);

const FIRST: readonly [what: string, at: string, around: (nodes: string) => string][] = [
  [
    "a case",
    "nap",
    (nodes) =>
      `.sleep("nap", "1h").branch("b", { on: () => "one" as const, cases: { one: (b) => b${nodes}.step("y", { query: () => 1 }) } })`,
  ],
  [
    "an iteration",
    "l.rest",
    (nodes) =>
      `.loop("l", { initial: () => 1, body: (b) => b${nodes}.sleep("rest", "1h").step("y", { query: () => 1 }), until: ({ loop }) => loop.iteration === 3, maxIterations: 5 })`,
  ],
];

test.each(FIRST)(
  "[S115] a query that %s begins with is removed: no run stops, and check says so",
  { tags: ["large"] },
  async (_what, at, around) => {
    const [before, now] = [around(QUERY) + LAST, around("") + LAST];
    const changes = await verdicts(before, now);
    expect(changes.map(({ compatibility }) => compatibility)).toEqual(["safe"]);
    expect(await goesOn(before, now, { node: at })).toMatchObject({ state: "completed" });
  },
);

test(
  "[S103] [S115] a run that is paused at a mutation stops where that is removed, and check says so",
  { tags: ["large"] },
  async () => {
    const pauses = `.step("a", { action: (ctx, _scope, { runId }) => ctx.runMutation(internal.steering.pause, { runId }) })`;
    const texts = [pauses + QUERY.replace("query", "mutation") + LAST, pauses + LAST] as const;
    expect(await verdicts(...texts)).toMatchObject([
      {
        node: "x",
        message: expect.stringContaining(
          "but for one that is just at it or paused there, which stops",
        ),
      },
    ]);
    const versions = await released(releases, filesOf(texts[0]), filesOf(texts[1]));
    const app = new Deployment(versions[0], versions);
    const id = (await app.call("start", { name: "flow", input: {} })) as string;
    await app.drive();
    app.deploy(versions[1]);
    await app.call("steering:resume", { runId: id });
    await app.drive();
    expect(await app.see(id)).toMatchObject({ state: "failed", error: { kind: "removedNode" } });
  },
);
