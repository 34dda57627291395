import { expect, test } from "vitest";
import { Deployment, type Files, released, useReleases } from "./deployed.js";
import { changesOf } from "./edited.js";

/* An `onEnd` that a deploy adds, changes or removes while runs are in flight. */

const releases = useReleases();

const flow = (onEnd: string, name = "flow") => `
import { defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
import { internal } from "./_generated/api";
export const ${name} = defineWorkflow({ input: z.object({}), ${onEnd} })
  .sleep("nap", "1h")
  .step("last", { query: () => "last" });`;
const log = (text: string) =>
  `await ctx.runMutation(internal.runs.log, { text: \`${text} \${run.state}\` });`;
const mutation = (text: string) => `onEnd: { mutation: async (ctx, { run }) => { ${log(text)} } }`;
const ACTION = `onEnd: {
  action: async (ctx, { run }, { attempt }) => { ${log("action")} if (attempt === 1) throw new Error("once"); },
  retry: { maxAttempts: 2, initialBackoffMs: 3_600_000 },
}`;
const NONE = "";

const filesOf = (text: string): Files => ({ "flow.workflow.ts": text });

async function verdicts(before: string, now: string) {
  const changes = await changesOf(filesOf(before), filesOf(now));
  return changes.map(({ node, compatibility, message }) => [node, compatibility, message]);
}

test("[S173] check fails if an onEnd is removed, with its workflow too, and says what becomes of runs", async () => {
  const one = flow(mutation("one"));
  expect(await verdicts(one, flow(NONE))).toEqual([
    ["onEnd", "loses", expect.stringContaining("end without it")],
  ]);
  expect(await verdicts(one, flow(NONE, "other"))).toContainEqual([
    "onEnd",
    "loses",
    expect.any(String),
  ]);
  expect(await verdicts(flow(NONE), one)).toEqual([
    ["onEnd", "safe", expect.stringContaining("started before end without it")],
  ]);
  expect(await verdicts(one, flow(mutation("two")))).toEqual([
    ["onEnd", "safe", expect.stringContaining("end with the new one")],
  ]);
  expect(await verdicts(one, one)).toEqual([]);
});

/** A run waits at a place under one version, and ends under the next. */
async function endedUnder(now: string, before: string, place = "nap") {
  const [then, later] = await released(releases, filesOf(before), filesOf(now));
  const app = new Deployment(then, [later]);
  const id = (await app.call("start", { name: "flow", input: {} })) as string;
  const isThere = async () =>
    (await app.see(id)).active.some(({ node, state }) => node === place && state === "waiting");
  await app.drive(isThere);
  expect(await isThere()).toBe(true);
  app.deploy(later);
  await app.drive();
  expect(await app.pending()).toBe(0);
  expect(app.violations).toEqual([]);
  const [run] = await app.rows("runs");
  const { state, active } = await app.see(id);
  expect(active).toEqual([]);
  return { state, onEndError: run?.onEndError, log: await app.logged() };
}

const gone = expect.stringContaining('has no node "onEnd"');

test.each([
  ["changed", mutation("one"), mutation("two"), { log: ["two completed"] }],
  ["added", NONE, mutation("two"), { log: [] }],
  ["removed", mutation("one"), NONE, { log: [], onEndError: gone }],
  ["made an action", mutation("one"), ACTION, { log: ["action completed", "action completed"] }],
])(
  "[S173] a run that is in flight while its onEnd is %s",
  { tags: ["large"] },
  async (_what, before, now, expected) => {
    expect(await endedUnder(flow(now), flow(before))).toEqual({
      state: "completed",
      onEndError: undefined,
      ...expected,
    });
  },
);

test.each([
  ["removed", NONE, { log: ["action completed"], onEndError: gone }],
  ["made a mutation", mutation("two"), { log: ["action completed", "two completed"] }],
])(
  "[S173] an onEnd that waits for its next attempt while it is %s",
  { tags: ["large"] },
  async (_what, now, expected) => {
    expect(await endedUnder(flow(now), flow(ACTION), "onEnd")).toEqual({
      state: "completed",
      onEndError: undefined,
      ...expected,
    });
  },
);

test(
  "[S118] [S173] a run whose workflow is removed ends, and says that its onEnd is gone",
  { tags: ["large"] },
  async () => {
    expect(await endedUnder(flow(NONE, "other"), flow(mutation("one")))).toEqual({
      state: "failed",
      onEndError: gone,
      log: [],
    });
  },
);

test.each([
  ["gets the onEnd that it was deployed with", NONE, mutation("two"), ["two completed"]],
  ["has none if that was removed", mutation("one"), NONE, ["one completed"]],
])("[S173] a run that is restarted %s", { tags: ["large"] }, async (_what, before, now, log) => {
  const [then, later] = await released(releases, filesOf(flow(before)), filesOf(flow(now)));
  const app = new Deployment(then, [later]);
  const id = (await app.call("start", { name: "flow", input: {} })) as string;
  await app.drive();
  app.deploy(later);
  await app.call("restart", { name: "flow", runId: id });
  await app.drive();
  const [run] = await app.rows("runs");
  expect(run).toMatchObject({ state: "completed", generation: 2 });
  expect(run).not.toHaveProperty("onEndError");
  expect(await app.logged()).toEqual(log);
});
