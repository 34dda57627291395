import { describe, expect, test } from "vitest";
import { Deployment, type Files, released, useReleases } from "./deployed.js";
import { changesOf } from "./edited.js";

/* What was given before a deploy, and begins after it: the present schema parses it. */

const releases = useReleases();

const STEERING = `
import { WorkflowManager } from "@stepwise/workflow";
import { internalMutationGeneric, internalQueryGeneric } from "convex/server";
import { components } from "./_generated/api";
import { workflows } from "./_workflows/index";
const workflow = new WorkflowManager(components.workflow, { maxParallelism: 1 });
export const start = internalMutationGeneric((ctx, { name, input, runAfter }) =>
  workflow.start(ctx, workflows[name], input, runAfter ? { runAfter } : {}));
export const startAt = internalMutationGeneric((ctx) =>
  workflow.start(ctx, workflows.flow, { n: new Date(7) }, { runAfter: "1h" }));
export const restart = internalMutationGeneric((ctx, { name, runId, ...options }) =>
  workflow.restart(ctx, workflows[name], runId, options));
export const status = internalQueryGeneric((ctx, { name, runId }) =>
  workflow.status(ctx, workflows[name], runId));
export const pause = internalMutationGeneric((ctx, { runId }) => workflow.pause(ctx, runId));
export const resume = internalMutationGeneric((ctx, { runId }) => workflow.resume(ctx, runId));
`;

const app = (...definitions: string[]): Files => ({
  "steering.ts": STEERING,
  "flow.workflow.ts": `
import { child, defineWorkflow } from "@stepwise/workflow";
import { v } from "convex/values";
import { z } from "zod";
${definitions.join("\n")}`,
});
const flow = (input: string, nodes: string, name = "flow"): string =>
  `export const ${name} = defineWorkflow({ input: ${input} })${nodes};`;

/** Both versions are deployed to it one after the other. */
async function deployed(before: Files, now: Files) {
  const versions = await released(releases, before, now);
  const deployment = new Deployment(versions[0], versions);
  return { deployment, deploy: (which: 0 | 1 = 1) => deployment.deploy(versions[which]) };
}

type Options = { input?: unknown; runAfter?: string; name?: string };
const start = async (of: Deployment, { input = {}, name = "flow", runAfter }: Options = {}) =>
  (await of.call("steering:start", { name, input, ...(runAfter && { runAfter }) })) as string;
const status = async (of: Deployment, runId: string, name = "flow") =>
  await of.ask<Record<string, unknown>>("steering:status", { name, runId });

const URL = `z.object({ url: z.string() })`;
const TENANT = `z.object({ url: z.string(), tenant: z.string().default("acme") })`;
const REQUIRED = `z.object({ url: z.string(), tenant: z.string() })`;
const SEEN = `(_ctx, { input }) => [input.url, input.tenant.toUpperCase()]`;
const seen = (before: boolean) => (before ? `(_ctx, { input }) => input.url` : SEEN);
const FINALIZE = `.finalize({ query: ${SEEN} })`;
/** First nodes, as code that reads the input. */
const FIRSTS: [string, (reads: string) => string][] = [
  ["an action", (reads) => `.step("first", { action: ${reads} })`],
  ["a mutation", (reads) => `.step("first", { mutation: ${reads} })`],
  ["an action that reads nothing", () => `.step("first", { action: () => 1 })`],
  ["a parent's handler", (reads) => `.parent("first", { action: ${reads}, children: () => [] })`],
  ["a sleep", () => `.sleep("first", "1s")`],
  [
    "a loop",
    (reads) =>
      `.loop("first", { initial: () => 0, body: (b) => b.step("inner", { action: ${reads} }), until: () => true, maxIterations: 1 })`,
  ],
];

describe("a run that was to begin later", () => {
  const input = { url: "a" };

  test.each(FIRSTS)(
    "[S136] has what defaults fill in, with %s first",
    { tags: ["large"] },
    async (_what, first) => {
      const { deployment, deploy } = await deployed(
        app(flow(URL, first(seen(true)) + `.finalize({ query: ${seen(true)} })`)),
        app(flow(TENANT, first(seen(false)) + FINALIZE)),
      );
      const ids = [await start(deployment, { input, runAfter: "1h" })];
      // They begin one after the other: there is one slot.
      ids.push(await start(deployment, { input, runAfter: "2h" }));
      deploy();
      await deployment.drive();
      for (const id of ids)
        expect(await deployment.see(id)).toMatchObject({
          state: "completed",
          output: ["a", "ACME"],
        });
    },
  );

  test("[S136] that waits for a slot, with a large input", { tags: ["large"] }, async () => {
    const slow = `await new Promise((done) => setTimeout(done, 60_000));`;
    const step = (reads: string) => `.step("first", { action: async (ctx, scope) => {
      ${slow} return (${reads})(ctx, scope); } })`;
    const { deployment, deploy } = await deployed(
      app(flow(URL, step(seen(true)))),
      app(flow(TENANT, step(seen(false)) + FINALIZE)),
    );
    const url = "x".repeat(300_000);
    await start(deployment, { input });
    const id = await start(deployment, { input: { url } });
    await deployment.drive(async () => (await deployment.see(id)).active.length > 0);
    deploy();
    await deployment.drive();
    expect(await deployment.see(id)).toMatchObject({ state: "completed", output: [url, "ACME"] });
  });

  test.each(FIRSTS)(
    "[S136] fails if it does not fit, with %s first",
    { tags: ["large"] },
    async (_what, first) => {
      const { deployment, deploy } = await deployed(
        app(flow(URL, first(seen(true)))),
        app(flow(REQUIRED, first(seen(false)))),
      );
      const id = await start(deployment, { input, runAfter: "1h" });
      deploy();
      await deployment.drive();
      expect(await deployment.see(id)).toMatchObject({
        state: "failed",
        error: { kind: "invalidInput", node: "input", message: expect.stringContaining("tenant") },
      });
      expect(await deployment.pending()).toBe(0);
    },
  );

  test("[S182] has the tags of what its schema gives then", async () => {
    const last = `.step("first", { query: () => 1 })`;
    const { deployment, deploy } = await deployed(
      app(flow(URL, last)),
      app(flow(`${TENANT}, tags: ({ input }) => ({ tenant: input.tenant })`, last)),
    );
    const id = await start(deployment, { input, runAfter: "1h" });
    deploy();
    await deployment.drive();
    expect(await status(deployment, id)).toMatchObject({ tags: { tenant: "acme" } });
  });

  test(
    "[S170] has no onEnd called if its input does not fit, which that would read",
    { tags: ["large"] },
    async () => {
      const last = `.step("first", { query: () => 1 })`;
      const onEnd = `onEnd: { mutation: (_ctx, { input }) => void input.tenant.length }`;
      const { deployment, deploy } = await deployed(
        app(flow(`${URL}, onEnd: { mutation: () => {} }`, last)),
        app(flow(`${REQUIRED}, ${onEnd}`, last)),
      );
      const id = await start(deployment, { input, runAfter: "1h" });
      deploy();
      await deployment.drive();
      const ended = await status(deployment, id);
      expect(ended).toMatchObject({ state: "failed", error: { kind: "invalidInput" } });
      expect(ended).not.toHaveProperty("onEndError");
      expect(await deployment.pending()).toBe(0);
    },
  );

  test.each([
    ["imported", "given"],
    ["built of what is imported", "z.object(given.shape)"],
  ])(
    "[S136] has what its schema gives that is %s",
    { tags: ["large"] },
    async (_what, expression) => {
      const imported = (schema: string, nodes: string): Files => {
        const files = app(`import { given } from "./lib/schemas";`, flow(expression, nodes));
        const text = `import { z } from "zod";\nexport const given = ${schema};`;
        return { ...files, "lib/schemas.ts": text };
      };
      const nodes = `.step("first", { action: (_ctx, { input }) => input })`;
      const { deployment, deploy } = await deployed(imported(URL, nodes), imported(TENANT, nodes));
      const id = await start(deployment, { input, runAfter: "1h" });
      deploy();
      await deployment.drive();
      expect(await deployment.see(id)).toMatchObject({ output: { url: "a", tenant: "acme" } });
    },
  );

  test("[S136] has no recover called for its input", async () => {
    const first = `.step("first", { action: () => 1, recover: () => 2 })`;
    const { deployment, deploy } = await deployed(
      app(flow(URL, first)),
      app(flow(REQUIRED, first)),
    );
    const id = await start(deployment, { input, runAfter: "1h" });
    deploy();
    await deployment.drive();
    expect(await deployment.see(id)).toMatchObject({ error: { kind: "invalidInput" } });
  });

  test.each([
    ["makes another type", `z.object({ n: z.string().transform(Number) })`, { n: "7" }, 7],
    ["takes what cannot be stored", `z.object({ n: z.date().transform(Number) })`, null, 7],
    [
      "makes more of it each time",
      `z.object({ n: z.string().transform((s) => s + "!") })`,
      { n: "a" },
      "a!",
    ],
    ["is a validator", `v.object({ n: v.number() })`, { n: 7 }, 7],
  ])(
    "[S136] [S139] is not parsed twice by a schema that %s",
    { tags: ["large"] },
    async (_what, schema, given, output) => {
      const nodes = (more: string) =>
        `.step("first", { action: (_ctx, { input }) => input.n })${more}`;
      const { deployment, deploy } = await deployed(
        app(flow(schema, nodes(""))),
        app(
          flow(
            schema,
            nodes(`.sleep("nap", "1s").finalize({ query: (_ctx, { input }) => input.n })`),
          ),
        ),
      );
      // A date cannot be an argument.
      const id =
        given === null
          ? ((await deployment.call("steering:startAt", {})) as string)
          : await start(deployment, { input: given, runAfter: "1h" });
      deploy();
      await deployment.drive();
      expect(await deployment.see(id)).toMatchObject({ state: "completed", output });
    },
  );

  test("[S113] [S136] keeps its input once it has begun", async () => {
    const nodes = `.step("first", { action: () => 1 }).sleep("nap", "1h").finalize({ query: (_ctx, { input }) => input })`;
    const { deployment, deploy } = await deployed(
      app(flow(URL, nodes)),
      app(flow(REQUIRED, nodes)),
    );
    const id = await start(deployment, { input });
    await deployment.drive(async () => (await deployment.see(id)).active[0]?.node === "nap");
    deploy();
    await deployment.drive();
    expect(await deployment.see(id)).toMatchObject({ state: "completed", output: input });
  });
});

describe("a node that is first now", () => {
  const UNBEGUN =
    /^added: runs that are past its place do not run it, nor do those that have not begun, and "told" reads undefined in them$/;
  const asks = `.step("asks", { query: () => "asked" })`;
  const told = `.step("rest", { action: () => 1 }).step("told", { query: (_ctx, { ...scope }) => scope.asks ?? "not asked" })`;

  /** What check says of a node. */
  async function said(node: string, before: Files, now: Files) {
    const changes = await changesOf(before, now);
    return changes.filter((each) => each.node === node).map(({ message }) => message);
  }

  test("[S114] is not run by one that was started for later, and check says so", async () => {
    const versions = [app(flow(URL, told)), app(flow(URL, asks + told))] as const;
    expect(await said("asks", ...versions)).toEqual([expect.stringMatching(UNBEGUN)]);
    const { deployment, deploy } = await deployed(...versions);
    const id = await start(deployment, { input: { url: "a" }, runAfter: "1h" });
    deploy();
    await deployment.drive();
    expect(await deployment.see(id)).toMatchObject({ state: "completed", output: "not asked" });
  });

  test(
    "[S114] nor by an item that waits for its turn, but by those of a run that has not begun",
    { tags: ["large"] },
    async () => {
      const each = (more: string) =>
        flow(
          URL,
          `.each("all", { of: () => [1, 2], concurrency: 1, body: (b) => b${more}${told}.sleep("nap", "1h").step("last", { query: (_ctx, { told }) => told }) })`,
        );
      const versions = [app(each("")), app(each(asks))] as const;
      const [message] = await said("all.asks", ...versions);
      expect(message).toMatch(/, nor do items that wait to begin, and "all\.told" reads undefined/);
      const { deployment, deploy } = await deployed(...versions);
      const id = await start(deployment, { input: { url: "a" } });
      const later = await start(deployment, { input: { url: "a" }, runAfter: "2h" });
      await deployment.drive(async () => {
        const steps = await deployment.rows("steps");
        return steps.some(({ stage, state }) => stage === "all.nap" && state === "waiting");
      });
      deploy();
      await deployment.drive();
      const output = ["not asked", "not asked"];
      expect(await deployment.see(id)).toMatchObject({ state: "completed", output });
      // A run that has not begun has no items yet.
      expect(await deployment.see(later)).toMatchObject({ output: ["asked", "asked"] });
    },
  );

  test("[S114] but in a case or a loop by what has not come there, of which nothing is said", async () => {
    const inside = (more: string) =>
      app(
        flow(
          URL,
          `.step("first", { query: () => 1 }).loop("turn", { initial: () => 0, body: (b) => b${more}.step("next", { query: () => 1 }), until: () => true, maxIterations: 2 })`,
        ),
      );
    expect(await said("turn.asks", inside(""), inside(asks))).toEqual([
      "added: runs that are past its place do not run it",
    ]);
  });
});

test("[S17] [S136] a child that waits for its turn is parsed when it begins, and fails alone", async () => {
  const kid = (input: string, reads: string) =>
    flow(input, `.step("nap", { action: ${reads} }).sleep("rest", "1h")`, "kid");
  const parent = flow(
    `z.object({})`,
    `.parent("kids", { children: () => ["a", "b", "c"].map((url) => child(kid, { url })), concurrency: 1, tolerate: "all",
       finalize: { query: (_ctx, { children }) => children.map((each) => each.ok ? each.output : each.error.kind) } })`,
  );
  const short = `z.object({ url: z.string().refine((url) => url !== "b"), tenant: z.string().default("acme") })`;
  const { deployment, deploy } = await deployed(
    app(kid(URL, seen(true)), parent),
    app(kid(short, seen(false)), parent),
  );
  const id = await start(deployment);
  await deployment.drive(async () => {
    const steps = await deployment.rows("steps");
    return steps.some(({ stage, state }) => stage === "rest" && state === "waiting");
  });
  deploy();
  await deployment.drive();
  expect(await deployment.see(id)).toMatchObject({
    state: "completed",
    output: ["a", "invalidInput", ["c", "ACME"]],
  });
});

test("[S163] an item that waits for its turn is what it was made: no schema of the workflow parses it", async () => {
  const items = (input: string) =>
    flow(
      input,
      `.each("all", { of: ({ input }) => input.urls, concurrency: 1,
         body: (b) => b.step("act", { action: (_ctx, { each }) => each.item }).sleep("rest", "1h") })`,
    );
  const { deployment, deploy } = await deployed(
    app(items(`z.object({ urls: z.array(z.string()) })`)),
    app(items(`z.object({ urls: z.array(z.string()), tenant: z.string().default("acme") })`)),
  );
  const id = await start(deployment, { input: { urls: ["a", "b"] } });
  await deployment.drive(async () => {
    const steps = await deployment.rows("steps");
    return steps.some(({ stage, state }) => stage === "all.rest" && state === "waiting");
  });
  deploy();
  await deployment.drive();
  expect(await deployment.see(id)).toMatchObject({ state: "completed", output: ["a", "b"] });
});

describe("an event that was kept", () => {
  const nodes = (schema: string, more = "") =>
    `.sleep("nap", "1h").event("told", { schema: ${schema} })${more}`;
  const told = async (deployment: Deployment, value: unknown) => {
    const id = await start(deployment);
    await deployment.call("send", { name: "flow", runId: id, event: "told", value });
    return id;
  };

  test.each([
    ["defaults fill in what is new", URL, TENANT, { url: "a" }, { url: "a", tenant: "acme" }],
    [
      "a schema that makes another type is given what was sent",
      `z.string().transform(Number)`,
      `z.string().transform((s) => Number(s) + 1)`,
      "7",
      8,
    ],
    ["what a validator takes stays", `v.string()`, `v.union(v.string(), v.number())`, "7", "7"],
  ])("[S137] [S139] is parsed when it is taken: %s", async (_what, before, now, sent, output) => {
    const { deployment, deploy } = await deployed(
      app(flow(`z.object({})`, nodes(before))),
      app(flow(`z.object({})`, nodes(now))),
    );
    const id = await told(deployment, sent);
    deploy();
    await deployment.drive();
    expect(await deployment.see(id)).toMatchObject({ state: "completed", output });
  });

  test("[S137] that does not fit fails its node, is kept, and is taken after a restart by code that takes it", async () => {
    const { deployment, deploy } = await deployed(
      app(flow(`z.object({})`, nodes(TENANT))),
      app(flow(`z.object({})`, nodes(`z.object({ n: z.number() })`))),
    );
    const id = await told(deployment, { url: "a" });
    deploy();
    await deployment.drive();
    expect(await deployment.see(id)).toMatchObject({
      state: "failed",
      error: { kind: "invalidInput", node: "told", message: expect.stringContaining("told.n") },
    });
    expect(await status(deployment, id)).toMatchObject({ kept: [{ name: "told", count: 1 }] });
    deploy(0);
    await deployment.call("steering:restart", { name: "flow", runId: id, from: "told" });
    await deployment.drive();
    const output = { url: "a", tenant: "acme" };
    expect(await deployment.see(id)).toMatchObject({ state: "completed", output });
    expect(await status(deployment, id)).toMatchObject({ kept: [] });
  });
});

describe("a run that is restarted", () => {
  const fails = (reads: string) => `.step("first", { action: ${reads} })`;

  test("[S102] [S136] [S182] has what the present schema gives of the same input", async () => {
    const tags = "tags: ({ input }) => ({ tenant: input.tenant })";
    const { deployment, deploy } = await deployed(
      app(flow(URL, fails(`() => { throw new Error("broken"); }`))),
      app(flow(`${TENANT}, ${tags}`, fails(SEEN))),
    );
    const id = await start(deployment, { input: { url: "a" } });
    await deployment.drive();
    deploy();
    await deployment.call("steering:restart", { name: "flow", runId: id });
    await deployment.drive();
    expect(await deployment.see(id)).toMatchObject({ state: "completed", output: ["a", "ACME"] });
    expect(await status(deployment, id)).toMatchObject({ tags: { tenant: "acme" } });
  });

  test("[S102] [S136] is not, if it does not fit: it throws as start does, and nothing changes", async () => {
    const { deployment, deploy } = await deployed(
      app(flow(URL, fails(`() => { throw new Error("broken"); }`))),
      app(flow(REQUIRED, fails(SEEN))),
    );
    const id = await start(deployment, { input: { url: "a" } });
    await deployment.drive();
    deploy();
    const restart = async (more = {}) =>
      await deployment.call("steering:restart", { name: "flow", runId: id, ...more });
    await expect(restart()).rejects.toThrow(/input of workflow "flow" does not fit[^]*tenant/);
    expect(await deployment.see(id)).toMatchObject({ state: "failed" });
    await restart({ input: { url: "a", tenant: "b" } });
    await deployment.drive();
    expect(await deployment.see(id)).toMatchObject({ output: ["a", "B"] });
  });

  test("[S102] keeps nothing of a node that is gone and was undone", async () => {
    const undone = (name: string) =>
      `.step("${name}", { query: () => 1, compensate: { mutation: () => {} } })`;
    const last = (body: string) => `.step("last", { mutation: () => ${body} })`;
    const { deployment, deploy } = await deployed(
      app(flow(URL, undone("work") + undone("next") + last(`{ throw new Error("over"); }`))),
      app(flow(URL, undone("renamed") + undone("next") + last("2"))),
    );
    const id = await start(deployment, { input: { url: "a" } });
    await deployment.drive();
    deploy();
    await deployment.call("steering:restart", { name: "flow", runId: id, from: "last" });
    await deployment.drive();
    expect(await deployment.see(id)).toMatchObject({ state: "completed", output: 2 });
    const stages = (await deployment.rows("steps")).map(({ stage }) => stage);
    expect(stages.filter((stage) => stage.startsWith("work"))).toEqual([]);
    expect(stages).toContain("next");
  });
});
