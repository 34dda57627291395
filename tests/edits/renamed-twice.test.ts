/** @module-tag large */
import { describe, expect, test, vi } from "vitest";
import { Deployment, type Files, type Version, useReleases } from "./deployed.js";

/*
 * A node that is renamed a second time: runs of either older version have its records under the
 * name that it had then.
 */

const STEERING = `
import { WorkflowManager } from "@stepwise/workflow";
import { internalMutationGeneric, internalQueryGeneric } from "convex/server";
import { components } from "./_generated/api";
import { workflows } from "./_workflows/index";
const workflow = new WorkflowManager(components.workflow);
export const restart = internalMutationGeneric((ctx, { runId, from }) => workflow.restart(ctx, workflows.flow, runId, { from }));
export const pause = internalMutationGeneric((ctx, { runId }) => workflow.pause(ctx, runId));
export const resume = internalMutationGeneric((ctx, { runId }) => workflow.resume(ctx, runId));
export const status = internalQueryGeneric((ctx, { runId }) => workflow.status(ctx, workflows.flow, runId));
export const at = internalQueryGeneric((ctx, { node }) =>
  workflow.list(ctx, { workflow: workflows.flow, node }, { cursor: null, numItems: 10 }));
`;

/** The nodes of a version, by the name that one of them has in it. */
type Nodes = (name: string) => string;

const app = (nodes: string, options = ""): Files => ({
  "steering.ts": STEERING,
  "flow.workflow.ts": `
import { child, defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
import { internal } from "./_generated/api";
export const kid = defineWorkflow({ input: z.object({}) }).sleep("rest", "1h").step("grown", { query: () => "grown" });
export const flow = defineWorkflow({ input: z.object({ right: z.boolean().optional() })${options} })${nodes};`,
});

const renamed = (said: readonly string[], inside: string): string => {
  const entries = said.map(([old, now]) => `"${inside}${old}": "${inside}${now}"`);
  return `, renamed: { ${entries.join(", ")} }`;
};
/**
 * The versions that a run lives through, by the name that the node has in them: until each next one
 * it goes on as far as it can.
 */
const EACH = [
  ["a → c", "in one go", { names: ["a", "c"], said: ["ac", "bc"] }] as const,
  ["a → b → c", "of the last name only", { names: ["a", "b", "c"], said: ["bc"] }] as const,
];
interface Life {
  readonly names: readonly string[];
  readonly said: readonly string[];
}

const releases = useReleases();

const made = new Map<string, Promise<Version>>();
/** A release of an app, after those of others: each is made once. */
async function version(...files: readonly [Files, ...Files[]]): Promise<Version> {
  const key = JSON.stringify(files);
  const release = made.get(key) ?? releases.release(...files);
  made.set(key, release);
  return await release;
}

/** The three versions of an app, by the name that the node has in them. */
async function versionsOf(
  nodes: Nodes,
  { second = nodes, last = nodes, inside = "" }: Told,
  said: Life["said"],
) {
  const files = {
    a: app(nodes("a")),
    b: app(second("b"), renamed(["ab"], inside)),
    c: app(last("c"), renamed(said, inside)),
  };
  vi.useRealTimers();
  const versions: Record<string, Version> = {
    a: await version(files.a),
    b: await version(files.b, files.a),
    c: await version(files.c, files.a, files.b),
  };
  vi.useFakeTimers();
  return versions;
}

interface Told {
  /** What the node stands in: `route.`. Default: in nothing. */
  readonly inside?: string;
  /** What the second version has, and the last one. Default: the same nodes. */
  readonly second?: Nodes;
  readonly last?: Nodes;
  /**
   * Says whether the next version is deployed. Default: when the run waits for the first time, and
   * then when it waits at something else.
   */
  readonly isThere?: (app: Deployment, id: string, version: number) => Promise<boolean>;
  /** Called before the last version is deployed. */
  readonly meanwhile?: (app: Deployment, id: string, name: string) => Promise<unknown>;
}

/** A run lives through versions; then the last one is deployed. */
async function livesThrough({ names, said }: Life, nodes: Nodes, told: Told = {}) {
  const { isThere = isAsleep, meanwhile } = told;
  const versions = await versionsOf(nodes, told, said);
  const lived = names.map((name) => versions[name]!);
  const deployment = new Deployment(lived[0]!, Object.values(versions));
  const id = (await deployment.call("start", { name: "flow", input: {} })) as string;
  for (const [at, version] of lived.entries()) {
    if (at > 0) deployment.deploy(version);
    if (at === lived.length - 1) break;
    await deployment.drive(() => isThere(deployment, id, at));
    expect(await isThere(deployment, id, at)).toBe(true);
    if (at === lived.length - 2) await meanwhile?.(deployment, id, names[at]!);
  }
  return [deployment, id] as const;
}

async function isAsleep(deployment: Deployment, id: string): Promise<boolean> {
  return (await deployment.see(id)).active.some(({ state }) => state === "waiting");
}

/** Lets a run go on to its end. */
async function ended(deployment: Deployment, id: string) {
  await deployment.drive();
  const seen = await deployment.see(id);
  expect(seen.active).toEqual([]);
  expect(await deployment.pending()).toBe(0);
  expect(await deployment.rows("deadlines")).toEqual([]);
  expect(deployment.violations).toEqual([]);
  return seen;
}

const log = (text: string) => `await ctx.runMutation(internal.runs.log, { text: ${text} })`;
const NAP = `.sleep("nap", "1h")`;
const gives: Nodes = (name) => `.finalize({ query: (_ctx, { ${name} }) => ${name} })`;
const fails = `.step("fails", { mutation: () => { throw new Error("over"); } })`;

/** Each sleeps an hour at the node, or inside it, and then gives its result. */
const ASLEEP: Record<string, readonly [node: Nodes, output: unknown]> = {
  "an event": [
    (name) => `.event("${name}", { schema: z.string(), timeout: "1h" })`,
    { timedOut: true },
  ],
  "an action": [
    (name) => `.step("${name}", {
      action: (_ctx, _scope, { attempt }) => { if (attempt === 1) throw new Error("once"); return "worked"; },
      retry: { maxAttempts: 2, initialBackoffMs: 3_600_000, base: 1 },
    })`,
    "worked",
  ],
  "a parent": [
    (name) => `.parent("${name}", {
      query: () => "made",
      children: () => [child(kid, {}), child(kid, {})],
      timeout: "90m",
      tolerate: { failures: 1 },
      finalize: { query: (_ctx, { output, children }) => [output, children.length] },
    })`,
    ["made", 2],
  ],
  "a parent that folds": [
    (name) => `.parent("${name}", {
      children: () => [child(kid, {}), child(kid, {})],
      reduce: { initial: 0, step: (sum) => sum + 1 },
    })`,
    { children: 2 },
  ],
  "a child": [(name) => `.child("${name}", kid, () => ({}))`, "grown"],
  "a branch": [
    (name) => `.branch("${name}", { on: () => "left" as const, cases: {
      left: (b) => b.step("made", { query: () => "left" }).sleep("rest", "1h").step("after", { query: (_ctx, { made }) => made }),
    } })`,
    "left",
  ],
  "a loop": [
    (name) => `.loop("${name}", {
      initial: () => 0,
      body: (b) => b.step("made", { query: () => 1 }).sleep("rest", "1h")
        .step("add", { mutation: (_ctx, { loop, made }) => loop.state + made }),
      until: ({ loop }) => loop.iteration === 2,
      maxIterations: 3,
    })`,
    2,
  ],
};

describe.each(Object.entries(ASLEEP))("%s", (_what, [node, output]) => {
  test.each(EACH)(
    "[S116] a run of %s that is at it goes on there, said %s",
    { tags: ["large"] },
    async (...[, , life]) => {
      const [deployment, id] = await livesThrough(life, (name) => node(name) + NAP + gives(name));
      expect(await ended(deployment, id)).toMatchObject({ state: "completed", output });
    },
  );

  test.each(EACH)(
    "[S115] a run of %s that is past it has its result, said %s",
    { tags: ["large"] },
    async (...[, , life]) => {
      const [deployment, id] = await livesThrough(life, (name) => node(name) + NAP + gives(name), {
        isThere: async (app, run) =>
          (await app.see(run)).active.some(({ node: at }) => at === "nap"),
      });
      expect(await ended(deployment, id)).toMatchObject({ state: "completed", output });
    },
  );
});

describe("what undoes it", () => {
  const step = (compensate: string) => (name: string) => `.step("early", { query: () => "early" })
    .step("${name}", { query: (_ctx, { early }) => early + " made"${compensate} })
    .step("later", {
      query: () => "later",
      compensate: { mutation: async (ctx, { output, ${name} }) => { ${log(`output + " after " + ${name}`)}; } },
    })`;
  const undone = `, compensate: { mutation: async (ctx, { output }) => { ${log("output")}; } }`;
  const done: Nodes = (name) => step(undone)(name) + NAP + fails;
  const logged = ["later after early made", "early made"];

  test.each(EACH)(
    "[S92] [S115] in a run of %s: it finds what was made, said %s",
    { tags: ["large"] },
    async (...[, , life]) => {
      const [deployment, id] = await livesThrough(life, done);
      expect(await ended(deployment, id)).toMatchObject({
        state: "failed",
        error: { message: "over" },
      });
      expect(await deployment.logged()).toEqual(logged);
    },
  );
});

describe("a loop of more than a hundred iterations", () => {
  /** The run sleeps in two iterations, so that other versions are deployed there. */
  const loop = (end: string) => (name: string) => `.loop("${name}", {
    initial: () => 0,
    body: (b) => b.sleep("rest", ({ loop }) => [150, 160].includes(loop.iteration) ? 3_600_000 : 0)
      .step("add", { query: (_ctx, { loop }) => loop.state + 1 }),
    until: ({ loop }) => { ${end} },
    maxIterations: 1_000,
  })${gives(name)}`;
  const isThere = async (app: Deployment, id: string, version: number) => {
    const steps = await app.rows("steps");
    const iteration = version === 0 ? 150 : 160;
    return steps.some(
      (one) => one.run === id && one.iterations?.[0] === iteration && one.state === "waiting",
    );
  };
  /** Of which iterations a run has records, whatever the loop was called then. */
  async function iterationsOf(app: Deployment, id: string): Promise<number[]> {
    const steps = await app.rows("steps");
    const inside = steps.filter(({ run, stage }) => run === id && stage.endsWith(".add"));
    return inside
      .map(({ iterations = [] }) => iterations[0] ?? 0)
      .sort((one, other) => one - other);
  }
  const keptOf = (last: number) => [1, ...Array.from({ length: 100 }, (_none, n) => last - 99 + n)];

  test.each(EACH)(
    "[S79] [S116] in a run of %s: what it did under each name is forgotten, said %s",
    { tags: ["large"] },
    async (...[, , life]) => {
      const ends = loop("return loop.iteration === 230;");
      const [deployment, id] = await livesThrough(life, ends, { isThere });
      expect(await ended(deployment, id)).toMatchObject({ state: "completed", output: 230 });
      expect(await iterationsOf(deployment, id)).toEqual(keptOf(230));
    },
  );

  test.each(EACH)(
    "[S79] [S116] in a run of %s that fails: so it is, said %s",
    { tags: ["large"] },
    async (...[, , life]) => {
      const breaks = loop(`if (loop.iteration === 170) throw new Error("no"); return false;`);
      const [deployment, id] = await livesThrough(life, breaks, { isThere });
      expect(await ended(deployment, id)).toMatchObject({
        state: "failed",
        error: { message: "no" },
      });
      expect(await iterationsOf(deployment, id)).toEqual(keptOf(170));
    },
  );
});

describe("events", () => {
  const send = (app: Deployment, runId: string, event: string, value: unknown) =>
    app.call("send", { name: "flow", runId, event, value });

  test.each(EACH)(
    "[S69] [S116] one that a run of %s has kept is taken, said %s",
    { tags: ["large"] },
    async (...[, , life]) => {
      const asks: Nodes = (name) => `${NAP}.event("${name}", { schema: z.string() })${gives(name)}`;
      const [deployment, id] = await livesThrough(life, asks, {
        meanwhile: async (app, run, name) =>
          expect(await send(app, run, name, "early")).toBe("kept"),
      });
      expect(await ended(deployment, id)).toMatchObject({ state: "completed", output: "early" });
      expect(await deployment.rows("inbox")).toEqual([]);
    },
  );

  test.each(EACH)(
    "[S70] [S116] what the node does not take of those a run of %s has kept, it does not, said %s",
    { tags: ["large"] },
    async (...[, , life]) => {
      const both: Nodes = (name) => `${NAP}
      .event("${name}", { anyOf: { answer: z.number() } })
      .event("two", { anyOf: { answer: z.string() } })
      .finalize({ query: (_ctx, { ${name}, two }) => [${name}.value, two.value] })`;
      const [deployment, id] = await livesThrough(life, both, {
        meanwhile: async (app, run) => {
          for (const value of ["text", 7])
            expect(await send(app, run, "answer", value)).toBe("kept");
        },
      });
      expect(await ended(deployment, id)).toMatchObject({
        state: "completed",
        output: [7, "text"],
      });
    },
  );

  test.each(EACH)(
    "[S98] [S103] [S116] a run of %s that waits is found, and takes one of the new name, said %s",
    { tags: ["large"] },
    async (...[, , life]) => {
      const asks: Nodes = (name) => `.event("${name}", { schema: z.string() })${gives(name)}`;
      const [deployment, id] = await livesThrough(life, asks);
      const listed = await deployment.ask("steering:at", { node: "c" });
      expect(listed).toMatchObject({ page: [{ runId: id }] });
      await deployment.call("steering:pause", { runId: id });
      expect(await send(deployment, id, "c", "now")).toBe("kept");
      await deployment.call("steering:resume", { runId: id });
      expect(await ended(deployment, id)).toMatchObject({ state: "completed", output: "now" });
    },
  );

  test.each(EACH)(
    "[S69] [S116] one for a case that a run of %s is in is kept, said %s",
    { tags: ["large"] },
    async (...[, , life]) => {
      const asks: Nodes = (
        name,
      ) => `.branch("route", { on: () => "${name}", cases: { ${name}: (b) => b${NAP}.event("ask", { schema: z.string() }) } })
        .finalize({ query: (_ctx, { route }) => route })`;
      const [deployment, id] = await livesThrough(life, asks, { inside: "route." });
      expect(await send(deployment, id, "ask", "early")).toBe("kept");
      expect(await ended(deployment, id)).toMatchObject({ state: "completed", output: "early" });
    },
  );

  const inLoop: Nodes = (name) => `.loop("${name}", {
    initial: () => "none",
    body: (b) => b.event("ask", { schema: z.string(), timeout: 1_000 }).step("told", { query: () => "told" }),
    until: () => true,
    maxIterations: 3,
  })`;
  const inCase: Nodes = (
    name,
  ) => `.branch("${name}", { on: ({ input }) => input.right ? "right" : "left", cases: {
    left: (b) => b.step("told", { query: () => "told" }),
    right: (b) => b.event("ask", { schema: z.string() }),
  } })`;
  test.each(
    [
      ["a loop that is over", inLoop] as const,
      ["a case that was not chosen", inCase] as const,
    ].flatMap(([what, node]) =>
      EACH.map(([lives, how, life]) => [what, lives, how, node, life] as const),
    ),
  )(
    "[S72] [S115] one for %s is refused by a run of %s, said %s",
    { tags: ["large"] },
    async (...[, , , node, life]) => {
      const [deployment, id] = await livesThrough(life, (name) => node(name) + NAP + gives(name), {
        isThere: async (app, run) =>
          (await app.see(run)).active.some(({ node: at }) => at === "nap"),
      });
      await expect(send(deployment, id, "ask", "late")).rejects.toThrow("past every node");
      expect(await ended(deployment, id)).toMatchObject({ state: "completed", output: "told" });
    },
  );
});

test.each(EACH)(
  "[S102] [S115] a run of %s that is restarted behind the node keeps its result, said %s",
  { tags: ["large"] },
  async (...[, , life]) => {
    const once: Nodes = (
      name,
    ) => `.step("${name}", { mutation: async (ctx) => { ${log('"made"')}; return "made"; } })
    ${NAP}.step("fails", { query: (_ctx, { ${name} }) => { throw new Error(${name}); } })`;
    const [deployment, id] = await livesThrough(life, once);
    const failed = { state: "failed", error: { message: "made" } };
    expect(await ended(deployment, id)).toMatchObject(failed);
    await deployment.call("steering:restart", { runId: id, from: "fails" });
    expect(await ended(deployment, id)).toMatchObject(failed);
    expect(await deployment.logged()).toEqual(["made"]);
  },
);

test.each(EACH)(
  "[S102] [S115] a run of %s that is restarted at the node does it again, said %s",
  { tags: ["large"] },
  async (...[, , life]) => {
    const once: Nodes = (name) =>
      `.step("${name}", { mutation: async (ctx) => { ${log('"made"')}; return "made"; } })${NAP}
        .step("last", { query: () => "last" })`;
    const [deployment, id] = await livesThrough(life, once);
    expect(await ended(deployment, id)).toMatchObject({ state: "completed" });
    await deployment.call("steering:restart", { runId: id, from: "c" });
    expect(await ended(deployment, id)).toMatchObject({ state: "completed" });
    expect(await deployment.logged()).toEqual(["made", "made"]);
    const stages = (await deployment.rows("steps")).map(({ stage }) => stage);
    expect(stages.sort()).toEqual(["a", "last", "nap"]);
  },
);

test.each(EACH)(
  "[S102] [S115] a run of %s in whose loop something was undone does that again when it is restarted, said %s",
  { tags: ["large"] },
  async (...[, , life]) => {
    const undoes: Nodes = (name) => `.loop("${name}", {
      initial: () => 0,
      body: (b) => b.step("add", {
        mutation: async (ctx) => { ${log('"done"')}; return 1; },
        compensate: { mutation: async (ctx) => { ${log('"undone"')}; } },
      }).sleep("rest", "1h"),
      until: () => true,
      maxIterations: 3,
    })${fails}`;
    const [deployment, id] = await livesThrough(life, undoes);
    expect(await ended(deployment, id)).toMatchObject({ state: "failed" });
    await deployment.call("steering:restart", { runId: id, from: "fails" });
    expect(await ended(deployment, id)).toMatchObject({ state: "failed" });
    expect(await deployment.logged()).toEqual(["done", "undone", "done", "undone"]);
  },
);

describe("[S116] results stay with their node", () => {
  /** A run waits at the gate under the first of some versions, and goes on under the last. */
  async function goesOn(...files: readonly [Files, ...Files[]]) {
    vi.useRealTimers();
    const versions: Version[] = [];
    for (const [at, one] of files.entries())
      versions.push(await version(one, ...files.slice(0, at)));
    vi.useFakeTimers();
    const deployment = new Deployment(versions[0]!, versions);
    const start = async () =>
      (await deployment.call("start", { name: "flow", input: {} })) as string;
    const id = await start();
    await deployment.drive(() => isAsleep(deployment, id));
    for (const each of versions.slice(1)) deployment.deploy(each);
    return { deployment, id, start, seen: () => ended(deployment, id) };
  }
  const step = (name: string, result: string) => `.step("${name}", { query: () => "${result}" })`;
  const both = `.finalize({ query: (_ctx, { a, b }) => ({ a, b }) })`;

  test(
    "when two nodes swap their names, also once `renamed` is deleted",
    { tags: ["large"] },
    async () => {
      const swapped = step("b", "first") + step("a", "second") + NAP + both;
      const { seen } = await goesOn(
        app(step("a", "first") + step("b", "second") + NAP + both),
        app(swapped, `, renamed: { a: "b", b: "a" }`),
        app(swapped),
      );
      expect(await seen()).toMatchObject({ output: { b: "first", a: "second" } });
    },
  );

  test(
    "when a name is used again: its new readers get nothing of the node that is gone",
    { tags: ["large"] },
    async () => {
      const reads = `.finalize({ query: (_ctx, { a }) => a ?? "nothing" })`;
      const { deployment, start, seen } = await goesOn(
        app(step("a", "old") + NAP + step("b", "b")),
        app(NAP + step("b", "b")),
        app(step("a", "new") + NAP + step("b", "b") + reads),
      );
      expect(await seen()).toMatchObject({ output: "nothing" });
      const id = await start();
      expect(await ended(deployment, id)).toMatchObject({ output: "new" });
    },
  );

  test("when a node becomes one of another kind", { tags: ["large"] }, async () => {
    const reads = `.finalize({ query: (_ctx, { a }) => a ?? "nothing" })`;
    const { seen } = await goesOn(
      app(step("a", "old") + NAP),
      app(`.event("a", { schema: z.string(), timeout: "1h" })${NAP}${reads}`),
    );
    expect(await seen()).toMatchObject({ output: "nothing" });
  });

  test(
    "and the run shows the present names, of nodes, cases, events and errors",
    { tags: ["large"] },
    async () => {
      const nodes = (branch: string, key: string, ask: string, bad: string) => `
      .branch("${branch}", { on: () => "${key}", cases: { ${key}: (b) => b.event("${ask}", { schema: z.string() }) } })
      .step("${bad}", { action: () => { throw new Error("over"); } })`;
      const { deployment, id } = await goesOn(
        app(nodes("route", "left", "ask", "bad")),
        app(
          nodes("way", "right", "say", "worse"),
          `, renamed: { route: "way", "route.left": "way.right", "route.left.ask": "way.right.say", bad: "worse" }`,
        ),
      );
      const status = () => deployment.ask("steering:status", { runId: id });
      const { active } = (await status()) as { active: unknown[] };
      expect(active).toContainEqual(
        expect.objectContaining({ node: "way.right.say", events: ["say"] }),
      );
      expect(active).toContainEqual(expect.objectContaining({ node: "way", chosen: "right" }));
      await deployment.call("send", { name: "flow", runId: id, event: "say", value: "x" });
      await deployment.drive();
      expect(await status()).toMatchObject({ state: "failed", error: { node: "worse" } });
      const { page } = (await deployment.ask("steps", { name: "flow", runId: id })) as {
        page: { node: string }[];
      };
      expect(page.map(({ node }) => node)).toEqual(["way", "way.right.say", "worse"]);
      const stages = (await deployment.rows("steps")).map(({ stage }) => stage);
      expect(stages.sort()).toEqual(["bad", "route", "route.left.ask"]);
    },
  );

  test("and an event of one name goes to the nodes that have it now", async () => {
    const asks = (a: string, b: string) => `${NAP}.event("${a}", { schema: z.string() })
      .event("${b}", { schema: z.string() })
      .finalize({ query: (_ctx, { ${a}, ${b} }) => [${a}, ${b}] })`;
    const { deployment, id, seen } = await goesOn(
      app(asks("one", "two")),
      app(asks("two", "one"), `, renamed: { one: "two", two: "one" }`),
    );
    for (const event of ["one", "two"])
      await deployment.call("send", { name: "flow", runId: id, event, value: `for ${event}` });
    expect(await seen()).toMatchObject({ output: ["for two", "for one"] });
  });
});
