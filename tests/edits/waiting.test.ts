import { describe, expect, test, vi } from "vitest";
import { Deployment, type Files, released, useReleases } from "./deployed.js";

/* Runs that wait for an event while its node is changed, renamed or removed. */

const releases = useReleases();

const STEERING = `
import { WorkflowManager } from "@stepwise/workflow";
import { internalMutationGeneric, internalQueryGeneric } from "convex/server";
import { components } from "./_generated/api";
import { workflows } from "./_workflows/index";
const workflow = new WorkflowManager(components.workflow);
export const repair = internalMutationGeneric((ctx) => workflow.repair(ctx, workflows));
export const pause = internalMutationGeneric((ctx, { runId }) => workflow.pause(ctx, runId));
export const resume = internalMutationGeneric((ctx, { runId }) => workflow.resume(ctx, runId));
export const at = internalQueryGeneric((ctx, { node }) =>
  workflow.list(ctx, { workflow: workflows.flow, node }, { cursor: null, numItems: 10 }));
`;

const app = (...definitions: string[]): Files => ({
  "steering.ts": STEERING,
  "flow.workflow.ts": `
import { child, defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
import { internal } from "./_generated/api";
${definitions.join("\n")}`,
});
const flow = (nodes: string, options = ""): string =>
  `export const flow = defineWorkflow({ input: z.object({})${options} })${nodes};`;
const OTHER = `export const other = defineWorkflow({ input: z.object({}) }).sleep("nap", "1s");`;
const FIRST = `.step("first", {
  query: () => 1,
  compensate: { mutation: async (ctx) => { await ctx.runMutation(internal.runs.log, { text: "undone" }); } },
})`;
const LAST = `.step("last", { query: () => "last" })`;

/** A run waits at a node under one version; then the next is deployed. */
async function waitsWhile(
  before: Files,
  now: Files,
  meanwhile: (app: Deployment, id: string) => Promise<unknown> = async () => {},
): Promise<readonly [Deployment, string]> {
  const versions = await released(releases, before, now);
  const deployment = new Deployment(versions[0], versions);
  const id = (await deployment.call("start", { name: "flow", input: {} })) as string;
  await deployment.drive(async () =>
    (await deployment.see(id)).active.some(({ state }) => state === "waiting"),
  );
  await meanwhile(deployment, id);
  deployment.deploy(versions[1]);
  return [deployment, id];
}

const sent = (runId: string, event: string, value: unknown) => ({
  name: "flow",
  runId,
  event,
  value,
});

describe("no limit is set", () => {
  const waits = `.event("ask", { schema: z.string() })`;
  test.each([
    ["[S117] its node was removed", app(flow(FIRST + LAST), OTHER), ["undone"]],
    ["[S118] its workflow was removed", app(OTHER), []],
  ])(
    "%s: after a repair it has ended, and is undone as far as the code is there",
    { tags: ["large"] },
    async (_what, now, undone) => {
      const [deployment, id] = await waitsWhile(app(flow(FIRST + waits + LAST), OTHER), now);
      await deployment.call("steering:repair", {});
      await deployment.drive();
      expect(await deployment.see(id)).toMatchObject({
        state: "failed",
        error: { kind: "removedNode", node: "ask" },
      });
      expect(await deployment.logged()).toEqual(undone);
    },
  );

  test(
    "[S113] [S120] its node is still there: after two repairs it waits as before",
    { tags: ["large"] },
    async () => {
      const [deployment, id] = await waitsWhile(
        app(flow(FIRST + waits + LAST)),
        app(flow(FIRST + waits + `.sleep("nap", "1s")` + LAST)),
      );
      await deployment.call("steering:repair", {});
      await deployment.call("steering:repair", {});
      await deployment.drive();
      expect(await deployment.see(id)).toMatchObject({
        active: [{ node: "ask", state: "waiting" }],
      });
      expect(await deployment.call("send", sent(id, "ask", "yes"))).toBe("taken");
      await deployment.drive();
      expect(await deployment.see(id)).toMatchObject({ state: "completed", output: "last" });
    },
  );
});

describe("its node takes other events", () => {
  test.each([
    ["one more", `.event("ask", { anyOf: { paid: z.string() } })`],
    ["names, where it had its own", `.event("ask", { schema: z.string() })`],
  ])("[S113] %s", { tags: ["large"] }, async (_what, before) => {
    const now = `.event("ask", { anyOf: { paid: z.string(), refunded: z.string() } })`;
    const [deployment, id] = await waitsWhile(app(flow(before)), app(flow(now)));
    expect(await deployment.call("send", sent(id, "refunded", "all"))).toBe("taken");
    const output = { name: "refunded", value: "all" };
    expect(await deployment.see(id)).toMatchObject({ state: "completed", output });
  });
});

describe("its time is over", () => {
  const limited = `.event("ask", { schema: z.string(), timeout: "1h" })`;

  const nodes = {
    "a sleep": (time: string) => `.sleep("ask", ${time || "0"})`,
    "an event": (time: string) =>
      `.event("ask", { schema: z.string()${time && `, timeout: ${time}`} })`,
    "a parent": (time: string) =>
      `.parent("ask", { ${time && `timeout: ${time}, `}children: () => [child(naps, {})] })`,
    "a loop": (time: string) =>
      `.loop("ask", { ${time && `timeout: ${time}, `}initial: () => 0, body: (b) => b.sleep("nap", "10 days"), until: () => true, maxIterations: 1 })`,
    "a parallel": (time: string) =>
      `.parallel("ask", { ${time && `timeout: ${time}, `}branches: { one: (b) => b.sleep("nap", "10 days") } })`,
    "a race": (time: string) =>
      `.race("ask", { ${time && `timeout: ${time}, `}cases: { one: (b) => b.sleep("nap", "10 days") } })`,
    "an each": (time: string) =>
      `.each("ask", { ${time && `timeout: ${time}, `}of: () => [1], body: (b) => b.sleep("nap", "10 days") })`,
    "a workflow": () => `.sleep("ask", "10 days")`,
  };
  const naps = `export const naps = defineWorkflow({ input: z.object({}) }).sleep("nap", "10 days");`;
  const times = ["a longer time", "a shorter time", "none"].map(
    (what, at) => [what, ['"9h"', '"1s"', ""][at]!] as const,
  );

  test.each(
    Object.entries(nodes).flatMap(([kind, node]) =>
      times.map(([what, time]) => [kind, what, node, time] as const),
    ),
  )(
    "[S113] [S138] %s keeps its time when the code has %s",
    { tags: ["large"] },
    async (kind, _what, node, time) => {
      const options = (given: string) =>
        kind === "a workflow" && given !== "" ? `, timeout: ${given}` : "";
      const [deployment, id] = await waitsWhile(
        app(naps, flow(node('"5h"'), options('"5h"'))),
        app(naps, flow(node(time), options(time))),
      );
      const begun = Date.now();
      await deployment.drive(async () => (await deployment.see(id)).state !== "running");
      expect(Date.now() - begun).toBeGreaterThan(4.9 * 3_600_000);
      expect(Date.now() - begun).toBeLessThan(5.1 * 3_600_000);
      const ends = {
        "a sleep": { state: "completed" },
        "an event": { state: "completed", output: { timedOut: true } },
        "a workflow": { state: "timedOut" },
      };
      expect(await deployment.see(id)).toMatchObject(
        ends[kind as keyof typeof ends] ?? { state: "failed", error: { kind: "timedOut" } },
      );
    },
  );

  test(
    "[S113] [S138] one without a limit has none when the code gets one, until its event",
    { tags: ["large"] },
    async () => {
      const [deployment, id] = await waitsWhile(
        app(flow(nodes["an event"](""))),
        app(flow(nodes["an event"]('"1h"'))),
      );
      await deployment.drive();
      vi.setSystemTime(Date.now() + 2 * 3_600_000);
      expect(await deployment.call("send", sent(id, "ask", "late"))).toBe("taken");
      const output = { timedOut: false, event: "late" };
      expect(await deployment.see(id)).toMatchObject({ state: "completed", output });
    },
  );

  test("[S138] one that was paused, and comes to its node again, keeps its time", async () => {
    const either = (time: string) =>
      `.sleep("nap", "1h").event("ask", { anyOf: { word: z.string() }, timeout: ${time} }).event("more", { anyOf: { word: z.number() } })`;
    const [deployment, id] = await waitsWhile(
      app(flow(either('"5h"'))),
      app(flow(either('"9h"'))),
      async (before, runId) => {
        await before.call("send", sent(runId, "word", 7));
        await before.drive(async () => (await before.see(runId)).active[0]?.node === "ask");
      },
    );
    const begun = Date.now();
    await deployment.call("steering:pause", { runId: id });
    await deployment.call("steering:resume", { runId: id });
    await deployment.drive();
    expect(await deployment.see(id)).toMatchObject({
      state: "completed",
      output: { name: "word", value: 7 },
    });
    expect(Date.now() - begun).toBeLessThan(5.1 * 3_600_000);
  });

  test.each([
    ["a sleep became an event", `.sleep("ask", "1h")`, limited],
    ["an event became a sleep", limited, `.sleep("ask", "1h")`],
  ])("[S117] %s of that name: the run fails", { tags: ["large"] }, async (_what, before, now) => {
    const [deployment, id] = await waitsWhile(app(flow(before + LAST)), app(flow(now + LAST)));
    await deployment.drive();
    expect(await deployment.see(id)).toMatchObject({
      state: "failed",
      error: { kind: "removedNode", node: "ask" },
    });
  });
});

describe("its node was renamed", () => {
  const asks = (name: string) =>
    `.event("${name}", { schema: z.string() }).step("told", { query: (_ctx, { ${name} }) => ${name} })`;
  const NAP = `.sleep("nap", "1h")`;
  const RENAMED = `, renamed: { ask: "question" }`;

  test(
    "[S69] [S116] an event that came early under the old name is taken",
    { tags: ["large"] },
    async () => {
      const [deployment, id] = await waitsWhile(
        app(flow(NAP + asks("ask"))),
        app(flow(NAP + asks("question"), RENAMED)),
        async (before, runId) =>
          expect(await before.call("send", sent(runId, "ask", "early"))).toBe("kept"),
      );
      await deployment.drive();
      expect(await deployment.see(id)).toMatchObject({ state: "completed", output: "early" });
      expect(await deployment.rows("inbox")).toEqual([]);
    },
  );

  test("[S98] [S103] [S116] one that comes under the new name while the run is paused is taken when it goes on", async () => {
    const [deployment, id] = await waitsWhile(
      app(flow(asks("ask"))),
      app(flow(asks("question"), RENAMED)),
    );
    const listed = await deployment.ask("steering:at", { node: "question" });
    expect(listed).toMatchObject({ page: [{ runId: id }] });
    await deployment.call("steering:pause", { runId: id });
    expect(await deployment.call("send", sent(id, "question", "now"))).toBe("kept");
    await deployment.call("steering:resume", { runId: id });
    await deployment.drive();
    expect(await deployment.see(id)).toMatchObject({ state: "completed", output: "now" });
  });
});

test(
  "[S72] [S98] [S113] an event that the node takes only since a deploy, and that comes while the run is paused, is taken when it goes on",
  { tags: ["large"] },
  async () => {
    const asks = (...names: string[]) =>
      `.event("ask", { anyOf: { ${names.map((name) => `${name}: z.string()`).join(", ")} } })`;
    const [deployment, id] = await waitsWhile(
      app(flow(asks("yes"))),
      app(flow(asks("yes", "no"))),
      (before, runId) => before.call("steering:pause", { runId }),
    );
    expect(await deployment.call("send", sent(id, "no", "never"))).toBe("kept");
    await deployment.call("steering:resume", { runId: id });
    await deployment.drive();
    const output = { name: "no", value: "never" };
    expect(await deployment.see(id)).toMatchObject({ state: "completed", output });
    expect(await deployment.rows("inbox")).toEqual([]);
  },
);

test.each(["action", "mutation"])(
  "[S110] the function that an %s step refers to was removed: the run fails, and is undone",
  { tags: ["large"] },
  async (kind) => {
    const name = `internal${kind === "action" ? "Action" : "Mutation"}Generic`;
    const acts = (exported: string) =>
      `import { ${name} } from "convex/server";\nexport const ${exported} = ${name}(async () => 1);`;
    const retry = kind === "action" ? ", retry: true" : "";
    const step = `.step("act", { ${kind}: internal.acts.act, args: () => ({})${retry} })`;
    const nodes = app(flow(`${FIRST}.sleep("nap", "1h")${step}`));
    const [deployment, id] = await waitsWhile(
      { ...nodes, "acts.ts": acts("act") },
      { ...nodes, "acts.ts": acts("other") },
    );
    await deployment.drive();
    expect(await deployment.see(id)).toMatchObject({
      state: "failed",
      error: { kind: "removedNode", node: "act", attempt: 1 },
    });
    expect(await deployment.logged()).toEqual(["undone"]);
  },
);

test("[S42] [S113] the timeout of a parent was taken away: a run that was in it then goes on", async () => {
  const naps = `export const naps = defineWorkflow({ input: z.object({}) }).sleep("rest", "1h");`;
  const all = (timeout: string) =>
    `.parent("all", { ${timeout}children: () => [child(naps, {})] }).sleep("long", "1 day")${LAST}`;
  const [deployment, id] = await waitsWhile(
    app(naps, flow(all('timeout: "2h", '))),
    app(naps, flow(all(""))),
  );
  await deployment.drive();
  expect(await deployment.see(id)).toMatchObject({ state: "completed", output: "last" });
});

test("[S70] [S71] an event that comes early is for the first node whose schema takes it, as that makes it", async () => {
  const both = `.sleep("nap", "1h")
    .event("one", { anyOf: { answer: z.number() } })
    .event("two", { anyOf: { answer: z.string().transform((text) => text + "!") } })
    .event("three", { anyOf: { answer: z.string().transform((text) => text + "?") } })
    .finalize({ query: (_ctx, { one, two, three }) => [one.value, two.value, three.value] })`;
  const [deployment, id] = await waitsWhile(app(flow(both)), app(flow(both)));
  for (const value of ["a", 7, "b"])
    expect(await deployment.call("send", sent(id, "answer", value))).toBe("kept");
  await deployment.drive();
  expect(await deployment.see(id)).toMatchObject({ state: "completed", output: [7, "a!", "b?"] });
  expect(await deployment.rows("inbox")).toEqual([]);
});
