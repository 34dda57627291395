import { CLASSES, Deployment } from "@stepwise/testing";
import {
  componentsGeneric,
  defineSchema,
  internalMutationGeneric,
  internalQueryGeneric,
} from "convex/server";
import { v } from "convex/values";
import { beforeEach, expect, test, vi } from "vitest";
import type { ComponentApi } from "../src/component/_generated/component.js";
import { defineWorkflow, WorkflowManager, type WorkflowReference } from "../src/index.js";
import { compiled } from "../src/runtime/index.js";
import { modules, schema } from "../src/test.js";
import type { Doc } from "./component.js";

/* Runs of one key of a `one`, on a deployment where transactions run at once. */

const components = componentsGeneric() as unknown as { workflow: ComponentApi };
const workflow = new WorkflowManager(components.workflow);

type Otherwise = "wait" | "skip" | "cancelOld" | "newestWaits";
const input = v.object({ key: v.string(), ms: v.number() });

/** A version of an app whose one workflow works for some time. */
function versionOf(plan: string, otherwise: Otherwise | undefined) {
  const definition = defineWorkflow({
    input,
    ...(otherwise && { one: { key: ({ input }) => input.key, otherwise } }),
  }).step("work", {
    action: async (_ctx, { input }) => await new Promise((done) => setTimeout(done, input.ms)),
  });
  const own = compiled(components.workflow, "works", definition, {
    format: 1,
    plan,
    reads: { work: ["input"] },
  });
  const works = own.reference<WorkflowReference<{ key: string; ms: number }>>(input);
  const functions = {
    work: own.action("work", definition.nodes.work.action),
    workDone: own.completion("work", (run) => run.complete("work")),
    entry: own.entry({ at: { work: own.queue("work") } }),
  };
  const manage = {
    start: internalMutationGeneric(
      async (ctx, given: any) => await workflow.startOrGet(ctx, works, given),
    ),
    steer: internalMutationGeneric(async (ctx, { how, runId }: any) =>
      workflow[how as "cancel"](ctx, runId as string),
    ),
    repair: internalMutationGeneric(async (ctx) => await workflow.repair(ctx, { works })),
    status: internalQueryGeneric(async (ctx, { runId }: any) =>
      workflow.status(ctx, works, runId as string),
    ),
  };
  const app = {
    "./convex/_generated/api.js": async () => ({}),
    "./convex/_workflows/works.js": async () => functions,
    "./convex/manage.js": async () => manage,
  };
  return [
    { path: "", schema: defineSchema({}), modules: app },
    { path: "workflow", schema, modules },
  ];
}

const runsOf = (deployment: Deployment) => deployment.rows<Doc<"runs">>("workflow", "runs");

/** A deployment on which it is seen at each commit how many runs of a key have begun. */
async function deployed(otherwise: Otherwise, seed: number) {
  const deployment = await Deployment.of(versionOf("first", otherwise), {
    class: CLASSES.s16,
    seed,
  });
  const over: string[] = [];
  const order = new Map<string, string[]>();
  const inserted: unknown[] = [];
  deployment.onCommit(({ writes }) => {
    const runs = writes.filter(({ table }) => table.path === "workflow/runs");
    if (runs.length === 0) return;
    for (const { next } of runs) if (!inserted.includes(next?._id)) inserted.push(next?._id);
    const going = new Map<string, number>();
    for (const { state, one, _id } of runsOf(deployment)) {
      if (state !== "running" || one === undefined) continue;
      going.set(one.key, (going.get(one.key) ?? 0) + 1);
      const begun = order.get(one.key) ?? [];
      if (!begun.includes(_id)) order.set(one.key, [...begun, _id]);
    }
    for (const [key, count] of going) if (count > 1) over.push(`${count} of ${key}`);
  });
  return { deployment, over, order, inserted };
}

beforeEach(() => {
  for (const method of ["log", "warn", "error"] as const)
    vi.spyOn(console, method).mockImplementation(() => {});
});

test.each(["wait", "skip", "cancelOld", "newestWaits"] as const)(
  "[S202] [S203] with %s, at no commit has more than one run of a key begun, though all start at once",
  async (otherwise) => {
    const { deployment, over, order, inserted } = await deployed(otherwise, 7);
    const started: Promise<{ runId: string; started: boolean }>[] = [];
    const refused: unknown[] = [];
    const start = (at: number, key: string) =>
      deployment.at(at, () => {
        const one = deployment.mutation("manage:start", { key, ms: 400 }) as (typeof started)[0];
        one.catch((error: unknown) => refused.push(error));
        started.push(one);
      });
    // A burst at once, and others while a run ends.
    for (let n = 0; n < 6; n++) start(1, "ab"[n % 2]!);
    for (let n = 0; n < 3; n++) start(380 + 12 * n, "a");
    deployment.at(200, () => {
      const [first] = runsOf(deployment);
      if (first !== undefined)
        void deployment.mutation("manage:steer", { how: "cancel", runId: first._id });
    });
    deployment.at(1_500, () => deployment.crash());
    await deployment.drive();
    expect(over).toEqual([]);
    expect(refused).toEqual([]);
    const runs = runsOf(deployment);
    expect(runs.every(({ endedAt }) => endedAt !== undefined)).toBe(true);
    expect(deployment.rows("workflow", "turns")).toEqual([]);
    // In the order in which their starts were committed.
    for (const begun of order.values())
      expect(begun).toEqual(inserted.filter((id) => begun.includes(id as string)));
    const answers = await Promise.all(started);
    expect(answers.filter((each) => each.started).length).toBe(runs.length);
    if (otherwise === "skip") expect(runs.length).toBeLessThan(answers.length);
    else expect(runs.length).toBe(answers.length);
    const completed = runs.filter(({ state }) => state === "completed").length;
    expect(completed).toBeGreaterThanOrEqual(otherwise === "wait" ? runs.length - 3 : 1);
  },
);

test("[S221] a one that is removed lets all begin that wait by it, when one of them does, or at a repair", async () => {
  for (const repairs of [false, true]) {
    const { deployment } = await deployed("wait", 6);
    for (let n = 0; n < 5; n++)
      deployment.at(n, () => deployment.mutation("manage:start", { key: "a", ms: 2_000 }));
    await deployment.advance(500);
    await deployment.deploy(versionOf("second", undefined));
    // One that is started from then on does not wait.
    deployment.at(1, () => deployment.mutation("manage:start", { key: "a", ms: 10 }));
    if (repairs) deployment.at(100, () => deployment.mutation("manage:repair"));
    const ended = (state: string) => runsOf(deployment).filter((run) => run.state === state).length;
    await deployment.advance(repairs ? 1_000 : 1_300);
    expect([ended("running"), ended("completed")]).toEqual(repairs ? [5, 1] : [1, 1]);
    await deployment.advance(1_500);
    expect([ended("running"), ended("completed")]).toEqual(repairs ? [0, 6] : [4, 2]);
    await deployment.drive();
    expect(ended("completed")).toBe(6);
    expect(deployment.rows("workflow", "turns")).toEqual([]);
  }
});

test("[S221] a one that is added counts what starts from then on", async () => {
  const deployment = await Deployment.of(versionOf("first", undefined), { class: CLASSES.s16 });
  const start = () => deployment.mutation("manage:start", { key: "a", ms: 1_000 });
  deployment.at(1, start);
  await deployment.advance(100);
  await deployment.deploy(versionOf("second", "wait"));
  for (const at of [1, 50]) deployment.at(at, start);
  await deployment.advance(400);
  expect(runsOf(deployment).map(({ state }) => state)).toEqual(["running", "running", "pending"]);
  await deployment.drive();
  expect(runsOf(deployment).every(({ state }) => state === "completed")).toBe(true);
});
