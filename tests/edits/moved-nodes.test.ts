/** @module-tag large */
import { describe, expect, test } from "vitest";
import { Deployment, type Files, released, useReleases } from "./deployed.js";

/*
 * Nodes that an edit moves behind the place of a run that has done them: a result is recorded once,
 * so the run skips them.
 */

const releases = useReleases();

const log = (text: string) => `await ctx.runMutation(internal.runs.log, { text: ${text} })`;
const logging = (text: string) => `async (ctx) => { ${log(`"${text}"`)}; return "${text} made"; }`;

const RESTART = `
import { WorkflowManager } from "@stepwise/workflow";
import { internalMutationGeneric } from "convex/server";
import { components } from "./_generated/api";
import { workflows } from "./_workflows/index";
const workflow = new WorkflowManager(components.workflow);
export const restart = internalMutationGeneric((ctx, { runId, from }) =>
  workflow.restart(ctx, workflows.flow, runId, { from }));
`;

const flow = (nodes: string, options = ""): Files => ({
  "steering.ts": RESTART,
  "flow.workflow.ts": `
import { child, defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
import { internal } from "./_generated/api";
export const part = defineWorkflow({ input: z.object({ n: z.number() }) })
  .step("only", { mutation: async (ctx, { input }) => { ${log("`part ${input.n}`")}; return input.n; } });
export const undoable = defineWorkflow({ input: z.object({}) })
  .step("only", { mutation: ${logging("x")}, compensate: { mutation: ${logging("undone")} } });
export const flow = defineWorkflow({ input: z.object({})${options} })${nodes};`,
});

const GATE = `.event("gate", { schema: z.string() })`;
/** @param name what it reads. */
const last = (name: string) =>
  `.finalize({ mutation: async (ctx, { ${name} }) => { ${log('"last"')}; return ${name} ?? null; } })`;

const CHILDREN = `children: () => [1, 2].map((n) => child(part, { n }))`;
const FINALIZE = `finalize: { mutation: async (ctx, { children }) => { ${log('"joined"')}; return children; } }`;
const PARTS = ["part 1", "part 2"];

/** A node "x" of each kind, what it logs when it runs, and its output. */
const KINDS: Record<string, { node: string; logs: string[]; output: unknown }> = {
  "a mutation": {
    node: `.step("x", { mutation: ${logging("x")} })`,
    logs: ["x"],
    output: "x made",
  },
  "a mutation with isolate": {
    node: `.step("x", { mutation: ${logging("x")}, isolate: true })`,
    logs: ["x"],
    output: "x made",
  },
  "a mutation that has recovered": {
    node: `.step("x", { mutation: async () => { throw new Error("no"); }, recover: () => "made good" })`,
    logs: [],
    output: "made good",
  },
  "an action": { node: `.step("x", { action: ${logging("x")} })`, logs: ["x"], output: "x made" },
  "a parent": {
    node: `.parent("x", { ${CHILDREN} })`,
    logs: PARTS,
    output: { children: [1, 2] },
  },
  "a parent with a handler and a finalize": {
    node: `.parent("x", { action: ${logging("handled")}, ${CHILDREN}, ${FINALIZE} })`,
    logs: ["handled", ...PARTS, "joined"],
    output: [1, 2],
  },
  "a parent that folds": {
    node: `.parent("x", { mutation: ${logging("handled")}, ${CHILDREN}, reduce: { initial: 0, step: (sum: number, n: number) => sum + n } })`,
    logs: ["handled", ...PARTS],
    output: { output: "handled made", children: 3 },
  },
  "a child": { node: `.child("x", part, () => ({ n: 1 }))`, logs: ["part 1"], output: 1 },
  "a loop": {
    node: `.loop("x", { initial: () => "", body: (b) => b.step("y", { mutation: ${logging("y")} }), until: ({ loop }) => loop.iteration === 2, maxIterations: 3 })`,
    logs: ["y", "y"],
    output: "y made",
  },
  "a branch": {
    node: `.branch("x", { on: () => "one" as const, cases: { one: (b) => b.step("y", { mutation: ${logging("y")} }) } })`,
    logs: ["y"],
    output: "y made",
  },
  "an event": {
    node: `.event("x", { schema: z.string() })`,
    logs: [],
    output: "sent early",
  },
};

/** A run of the first of some versions. */
async function runOf(...files: Files[]) {
  const versions = await released(releases, ...files);
  const app = new Deployment(versions[0]!, versions);
  const id = (await app.call("start", { name: "flow", input: {} })) as string;
  const comesTo = (at: string) =>
    app.drive(async () =>
      (await app.see(id)).active.some(({ node, state }) => node === at && state === "waiting"),
    );
  const open = (event: string) => app.call("send", { name: "flow", runId: id, event, value: "go" });
  return { app, id, comesTo, open, versions };
}

/** A run that waits at the gate under one version goes on under the next. */
async function goesOn(
  before: Files,
  now: Files,
  prepare?: (app: Deployment, id: string) => unknown,
) {
  const versions = await released(releases, before, now);
  const app = new Deployment(versions[0], versions);
  const id = (await app.call("start", { name: "flow", input: {} })) as string;
  await prepare?.(app, id);
  const isAtGate = async () =>
    (await app.see(id)).active.some(
      ({ node, state }) => node.endsWith("gate") && state === "waiting",
    );
  await app.drive(isAtGate);
  app.deploy(versions[1]);
  const open = () => app.call("send", { name: "flow", runId: id, event: "gate", value: "go" });
  await open();
  return { app, id, open };
}

describe.each(Object.entries(KINDS))("%s", (kind, { node, logs, output }) => {
  const sendEarly = async (app: Deployment, id: string) => {
    const event = { name: "flow", runId: id, event: "x", value: "sent early" };
    if (kind === "an event") await app.call("send", event);
  };

  test(
    "[S115] that moved behind the place of a run that has done it is not done again",
    { tags: ["large"] },
    async () => {
      const { app, id } = await goesOn(
        flow(node + GATE + last("x")),
        flow(GATE + node + last("x")),
        sendEarly,
      );
      await app.drive();
      expect((await app.logged()).sort()).toEqual([...logs, "last"].sort());
      expect(await app.see(id)).toMatchObject({ state: "completed", output, active: [] });
      expect(await app.pending()).toBe(0);
    },
  );

  test("[S115] the same where it was renamed too", async () => {
    const { app, id } = await goesOn(
      flow(node + GATE + last("x")),
      flow(GATE + node.replace('"x"', '"z"') + last("z"), ', renamed: { x: "z" }'),
      sendEarly,
    );
    await app.drive();
    expect((await app.logged()).sort()).toEqual([...logs, "last"].sort());
    expect(await app.see(id)).toMatchObject({ state: "completed", output, active: [] });
  });
});

test("[S115] a sleep that moved behind the place of a run is not slept again", async () => {
  const nap = `.sleep("nap", "1h")`;
  const done = `.finalize({ query: () => "done" })`;
  const { app, id } = await goesOn(flow(nap + GATE + done), flow(GATE + nap + done));
  expect(await app.see(id)).toMatchObject({ state: "completed", output: "done" });
});

test("[S115] a step that moved within a loop's body is done once an iteration", async () => {
  const step = `.step("x", { mutation: ${logging("x")} })`;
  const rest = `.step("y", { mutation: ${logging("y")} })`;
  const loop = (body: string) =>
    flow(
      `.loop("again", { initial: () => "", body: (b) => b${body}, until: ({ loop }) => loop.iteration === 3, maxIterations: 3 })`,
    );
  const { app, id, open } = await goesOn(loop(step + GATE + rest), loop(GATE + step + rest));
  await app.drive();
  expect(await app.logged()).toEqual(["x", "y"]);
  await open();
  await open();
  await app.drive();
  expect(await app.see(id)).toMatchObject({ state: "completed" });
  expect(await app.logged()).toEqual(["x", "y", "x", "y", "x", "y"]);
});

test("[S92] [S115] what moved behind the place of a run is undone once", async () => {
  const step = `.step("x", { mutation: ${logging("x")}, compensate: { mutation: ${logging("undone")} } })`;
  const fails = `.step("fails", { mutation: async () => { throw new Error("no"); } })`;
  const { app, id } = await goesOn(flow(step + GATE + fails), flow(GATE + step + fails));
  await app.drive();
  expect(await app.see(id)).toMatchObject({ state: "failed", error: { node: "fails" } });
  expect(await app.logged()).toEqual(["x", "undone"]);
});

test("[S29] [S115] a run that waits for another attempt goes on with it after an edit", async () => {
  const step = (more: string) => `.step("x", { action: async (ctx, _scope, { attempt }) => {
    ${log("`attempt ${attempt}`")};
    if (attempt < 3) throw new Error("not yet");
    return "made"; }, retry: { maxAttempts: 3, initialBackoffMs: 60_000, base: 2 }${more} })`;
  const begin = `.step("begin", { query: () => "begun" })`;
  const before = flow(begin + step("") + GATE + last("x"));
  const now = flow(step(', timeout: "1m"') + begin + GATE + last("x"));
  const versions = await released(releases, before, now);
  const app = new Deployment(versions[0], versions);
  const id = (await app.call("start", { name: "flow", input: {} })) as string;
  await app.drive(async () => (await app.see(id)).active[0]?.state === "waiting");
  app.deploy(versions[1]);
  await app.drive(async () => (await app.see(id)).active[0]?.node === "gate");
  await app.call("send", { name: "flow", runId: id, event: "gate", value: "go" });
  await app.drive();
  expect(await app.logged()).toEqual(["attempt 1", "attempt 2", "attempt 3", "last"]);
  expect(await app.see(id)).toMatchObject({ state: "completed", output: "made" });
});

const GATE_2 = GATE.replace("gate", "gate2");
const X = `.step("x", { mutation: ${logging("x")} })`;

test("[S115] what a run has done under a version that was rolled back is not done again", async () => {
  const { app, id, comesTo, open, versions } = await runOf(
    flow(GATE + GATE_2 + X + last("x")),
    flow(GATE + X + GATE_2 + last("x")),
  );
  await comesTo("gate");
  app.deploy(versions[1]!);
  await open("gate");
  await comesTo("gate2");
  app.deploy(versions[0]!);
  await open("gate2");
  await app.drive();
  expect(await app.see(id)).toMatchObject({ state: "completed", output: "x made" });
  expect(await app.logged()).toEqual(["x", "last"]);
});

test("[S102] [S114] what an earlier generation has done does not stand for a node that was added since", async () => {
  const { app, id, comesTo, open, versions } = await runOf(
    flow(X + GATE + GATE_2),
    flow(GATE + GATE_2),
    flow(GATE + GATE_2 + X + last("x")),
  );
  await comesTo("gate");
  await app.call("cancel", { runId: id });
  app.deploy(versions[1]!);
  await app.call("steering:restart", { runId: id, from: "gate" });
  await comesTo("gate");
  app.deploy(versions[2]!);
  await open("gate");
  await comesTo("gate2");
  await open("gate2");
  await app.drive();
  expect(await app.see(id)).toMatchObject({ state: "completed", output: "x made" });
  expect(await app.logged()).toEqual(["x", "x", "last"]);
});

test("[S115] a parent that moved, and has a handler by now, is not begun again", async () => {
  const { app, id } = await goesOn(
    flow(`.parent("x", { ${CHILDREN} })` + GATE + last("x")),
    flow(GATE + `.parent("x", { mutation: ${logging("handled")}, ${CHILDREN} })` + last("x")),
  );
  await app.drive();
  expect(await app.see(id)).toMatchObject({ state: "completed", output: { children: [1, 2] } });
  expect(await app.logged()).toEqual([...PARTS, "last"]);
});

test("[S115] a step whose name begins as that of a compensation does is skipped too", async () => {
  const step = `.step("compensateCustomer", { mutation: ${logging("x")} })`;
  const branch = (nodes: string) =>
    flow(`.branch("route", { on: () => "one" as const, cases: { one: (b) => b${nodes} } })`);
  const { app, id } = await goesOn(branch(step + GATE), branch(GATE + step));
  await app.drive();
  expect(await app.see(id)).toMatchObject({ state: "completed" });
  expect(await app.logged()).toEqual(["x"]);
});

test.each([
  [
    "a step",
    `.step("x", { mutation: ${logging("x")}, compensate: { mutation: ${logging("undone")} } })`,
  ],
  ["a child", `.child("x", undoable, () => ({}))`],
])(
  "[S102] [S116] [S134] %s that was undone inside a branch which was renamed meanwhile is done again by a restart behind it",
  async (_what, node) => {
    const branch = (name: string, options = "") =>
      flow(
        `.branch("${name}", { on: () => "one" as const, cases: { one: (b) => b${node}${GATE} } })
  .step("fails", { mutation: async () => { throw new Error("no"); } })`,
        options,
      );
    const { app, id, comesTo, open, versions } = await runOf(
      branch("route"),
      branch("way", ', renamed: { route: "way" }'),
    );
    await comesTo("route.one.gate");
    app.deploy(versions[1]!);
    await open("gate");
    await app.drive();
    expect(await app.logged()).toEqual(["x", "undone"]);
    await app.call("steering:restart", { runId: id, from: "fails" });
    // The gate gets the event that it had taken (S134), so the run fails, and is undone, once more.
    await app.drive();
    expect(await app.logged()).toEqual(["x", "undone", "x", "undone"]);
    expect(await app.see(id)).toMatchObject({ state: "failed", error: { node: "fails" } });
  },
);
