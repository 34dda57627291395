import { expect, test } from "vitest";
import { Deployment, type Files, released, useReleases } from "./deployed.js";

/* A workflow that a deploy renames while its runs, and those that wait for them, are in flight. */

const releases = useReleases();

const hour = 3_600_000;

const STEERING = `
import { internalMutationGeneric, internalQueryGeneric } from "convex/server";
import { defineStudioApi } from "@stepwise/studio/api";
import { components } from "./_generated/api";
import { workflow, workflows } from "./_workflows/index";
export const { read } = defineStudioApi(components.workflow, { workflows });
const page = { cursor: null, numItems: 100 };
export const startOrGet = internalMutationGeneric((ctx, { name, input, ...options }) =>
  workflow.startOrGet(ctx, workflows[name], input, options));
export const status = internalQueryGeneric((ctx, { name, run }) => workflow.status(ctx, workflows[name], run));
export const list = internalQueryGeneric(async (ctx, { name, ...filter }) =>
  (await workflow.list(ctx, { ...filter, workflow: workflows[name] }, page)).page);
export const waits = internalQueryGeneric(async (ctx, { runId }) => (await workflow.waits(ctx, runId)).page);
export const repair = internalMutationGeneric((ctx) => workflow.repair(ctx, workflows));
export const cancel = internalMutationGeneric((ctx, { name, key }) => workflow.cancel(ctx, workflows[name], { key }));
export const restart = internalMutationGeneric((ctx, { name, runId, from }) =>
  workflow.restart(ctx, workflows[name], runId, { from }));
`;

/** @param name of the workflow. @param of says what it was called before */
const app = (name: string, of = "", more = ""): Files => ({
  "steering.ts": STEERING,
  "flow.workflow.ts": `
import { defineWorkflow, RetryAfter } from "@stepwise/workflow";
import { z } from "zod";
import { internal } from "./_generated/api";
const log = (ctx, text) => ctx.runMutation(internal.runs.log, { text });
export const ${name} = defineWorkflow({
  input: z.object({ fails: z.boolean().optional() }),
  onEnd: { mutation: (ctx, { run }) => log(ctx, "${name} " + run.state) },
  ${of}
})
  .step("book", {
    action: (_ctx, _scope, { attempt }) => { if (attempt === 1) throw new RetryAfter("1h"); return "booked"; },
    retry: { maxAttempts: 2 },
    compensate: { mutation: (ctx) => log(ctx, "${name} unbooked") },
  })
  .sleep("nap", "1h")
  .event("go", { schema: z.string() })
  .step("last", {
    mutation: (_ctx, { input, book, go }) => { if (input.fails) throw new Error("too late"); return book + " " + go; },
  });
export const outer = defineWorkflow({ input: z.object({}) }).child("one", ${name}, () => ({}));
${more}`,
});

const BEFORE = app("onboard");
const AFTER = app("onboarding", 'renamedFrom: "onboard",');

/** Versions of the app, each after those before it. */
test(
  "[S176] runs of a workflow that is renamed go on under its new name, wherever they are",
  { tags: ["large"] },
  async () => {
    const [before, after] = await released(releases, BEFORE, AFTER);
    const deployment = new Deployment(before, [after]);
    const start = async (name: string, input = {}) =>
      (await deployment.call("start", { name, input })) as string;
    const atEvent = await start("onboard");
    await deployment.wait(0.75 * hour);
    const asleep = await start("onboard", { fails: true });
    await deployment.wait(0.75 * hour);
    const parent = await start("outer");
    const later = { name: "onboard", input: {}, key: "ada" };
    await deployment.call("steering:startOrGet", { ...later, runAfter: 2 * hour });
    await deployment.wait(0.75 * hour);
    const places = async (...runs: string[]) =>
      await Promise.all(runs.map(async (run) => (await deployment.see(run)).active[0]?.node));
    const child = (await deployment.rows("runs")).find(
      ({ parentRun }) => parentRun === parent,
    )?._id;
    expect(await places(atEvent, asleep, child!)).toEqual(["go", "nap", "book"]);

    deployment.deploy(after);
    const now = "onboarding";
    const see = async (run: unknown) =>
      await deployment.ask<Record<string, unknown> | null>("steering:status", { name: now, run });
    expect(await see(atEvent)).toMatchObject({ workflow: now, state: "running", isOutdated: true });
    const listed = async (filter: Record<string, unknown>) =>
      await deployment.ask<{ workflow: string; runId: string }[]>("steering:list", filter);
    expect(await listed({ name: now })).toHaveLength(3);
    const all = await listed({ children: true });
    expect(all.map(({ workflow }) => workflow).sort()).toEqual([now, now, now, now, "outer"]);
    // The key still names the run that begins later.
    const same = { name: now, input: {}, key: "ada" };
    expect(await deployment.call("steering:startOrGet", same)).toMatchObject({ started: false });
    expect(await see({ key: "ada" })).toMatchObject({ workflow: now, state: "pending" });

    const send = async (runId: string) =>
      await deployment.call("send", { name: now, runId, event: "go", value: "ok" });
    for (const run of [atEvent, asleep, child!]) await send(run);
    await deployment.wait(4 * hour);
    expect(await deployment.see(atEvent)).toMatchObject({
      state: "completed",
      output: "booked ok",
    });
    expect(await deployment.see(parent)).toMatchObject({ state: "completed", output: "booked ok" });
    expect(await see(asleep)).toMatchObject({
      state: "failed",
      error: { workflow: now, node: "last", message: "too late" },
    });
    expect(await deployment.logged()).toEqual([
      "onboarding completed",
      "onboarding unbooked",
      "onboarding failed",
      "onboarding completed",
    ]);
    const [key] = await deployment.ask<{ workflow: string }[]>("steering:waits", {
      runId: (await see({ key: "ada" }))?.["runId"],
    });
    expect(key).toMatchObject({ workflow: now, events: ["go"] });

    const shown = async (name: string, args: object) =>
      await deployment.ask("steering:read", { call: { name, args } });
    expect(await shown("run", { runId: asleep })).toMatchObject({ workflow: now, state: "failed" });
    expect(await shown("runs", { workflow: now, cursor: null })).toMatchObject({
      page: Array.from({ length: 3 }, () => ({ workflow: now })),
    });
    const steps = { page: ["book", "nap", "go", "last", "onEnd"].map((node) => ({ node })) };
    expect(await shown("steps", { runId: child, cursor: null })).toMatchObject(steps);

    // It is steered as one of the new workflow, too.
    expect(await deployment.call("steering:cancel", { name: now, key: "ada" })).toBe(true);
    await deployment.call("steering:restart", { name: now, runId: atEvent, from: "go" });
    await deployment.wait(hour);
    await deployment.drive();
    expect(await see(atEvent)).toMatchObject({ state: "completed", isOutdated: false });
    expect(await deployment.pending()).toBe(0);
    expect(deployment.violations).toEqual([]);
  },
);

test(
  "[S176] a workflow can be renamed again, also in case only, and another one can have its old name",
  { tags: ["large"] },
  async () => {
    const other = (name: string) =>
      `export const ${name} = defineWorkflow({ input: z.object({}) }).step("other", { query: () => "another" });`;
    const versions = await released(
      releases,
      BEFORE,
      AFTER,
      app("onBoarding", 'renamedFrom: "onboarding",'),
      app("onBoarding", "", other("onboard") + other("onboarding2")),
    );
    const deployment = new Deployment(versions[0]!, versions);
    const names = ["onboard", "onboarding", "onBoarding", "onBoarding"];
    const runs: string[] = [];
    for (const [at, version] of versions.entries()) {
      deployment.deploy(version);
      runs.push((await deployment.call("start", { name: names[at]!, input: {} })) as string);
    }
    for (const runId of runs)
      await deployment.call("send", { name: "onBoarding", runId, event: "go", value: "ok" });
    const another = (await deployment.call("start", { name: "onboard", input: {} })) as string;
    await deployment.drive();
    for (const run of runs)
      expect(await deployment.see(run)).toMatchObject({ state: "completed", output: "booked ok" });
    expect(await deployment.see(another)).toMatchObject({ output: "another" });
    const listed = await deployment.ask<{ workflow: string; runId: string }[]>("steering:list", {});
    expect(listed.map(({ workflow, runId }) => [workflow, runId])).toEqual([
      ["onboard", another],
      ...runs.map((run) => ["onBoarding", run]).toReversed(),
    ]);
    const own = await deployment.ask<{ runId: string }[]>("steering:list", { name: "onBoarding" });
    expect(own.map(({ runId }) => runId)).toEqual(runs.toReversed());
    expect(await deployment.pending()).toBe(0);
  },
);

/** Found by seed 209 of the profile deploy. */
test(
  "[S176] what goes through a branch of a workflow that was renamed is stored under its first name",
  { tags: ["large"] },
  async () => {
    const flow = (name: string, of: string, asked: string): Files => ({
      "steering.ts": STEERING,
      "flow.workflow.ts": `
import { defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
export const ${name} = defineWorkflow({ input: z.object({})${of} })
  .parallel("both", { branches: { asks: (b) => b.event("${asked}", { schema: z.string() }), naps: (b) => b.sleep("nap", "1h") } })
  .each("all", { of: () => [1], body: (b) => b.sleep("rest", "1h") });`,
    });
    const versions = await released(
      releases,
      flow("onboard", "", "go"),
      flow("onboarding", ', renamedFrom: "onboard"', "go"),
      flow("onboarding", "", "start"),
    );
    const deployment = new Deployment(versions[0]!, versions);
    deployment.deploy(versions[1]!);
    const runId = (await deployment.call("start", { name: "onboarding", input: {} })) as string;
    await deployment.wait(2 * hour);
    const rows = (await deployment.rows("runs")).map(({ workflow }) => workflow);
    expect(rows).toEqual(["onboard", "onboard", "onboard"]);
    const listed = await deployment.ask<{ workflow: string }[]>("steering:list", {
      name: "onboarding",
      children: true,
    });
    expect(listed.map(({ workflow }) => workflow)).toEqual(rows.map(() => "onboarding"));
    // Its event has another name now: a repair has the branch enter the node that takes it.
    deployment.deploy(versions[2]!);
    await deployment.call("steering:repair", {});
    await deployment.wait(hour);
    expect(await deployment.see(runId)).toMatchObject({
      state: "failed",
      error: { cause: { workflow: "onboarding", node: "both.asks.go", kind: "removedNode" } },
    });
    expect(await deployment.pending()).toBe(0);
  },
);
