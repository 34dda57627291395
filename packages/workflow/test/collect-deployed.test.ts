/** @module-tag large */
import { CLASSES, Deployment } from "@stepwise/testing";
import {
  componentsGeneric,
  defineSchema,
  internalMutationGeneric,
  internalQueryGeneric,
} from "convex/server";
import { v } from "convex/values";
import { beforeEach, expect, test, vi } from "vitest";
import { z } from "zod";
import type { ComponentApi } from "../src/component/_generated/component.js";
import { defineWorkflow, WorkflowManager, type WorkflowReference } from "../src/index.js";
import { parsedAgain } from "../src/runtime/collect.js";
import { compiled } from "../src/runtime/index.js";
import { modules, schema } from "../src/test.js";
import type { Doc } from "./component.js";

/* Starts of one key of a `collect`, on a deployment where transactions run at once. */

const components = componentsGeneric() as unknown as { workflow: ComponentApi };
const workflow = new WorkflowManager(components.workflow);

interface Collecting {
  quiet: number;
  atMost?: number;
  size?: number;
  keep: "last" | "first" | "all";
}
const input = v.object({ key: v.string(), n: v.number() });

/** A version of an app whose one workflow says what its runs have got. */
function versionOf(plan: string, collect: Collecting | undefined, takes: unknown = input) {
  const definition = defineWorkflow({
    input: takes,
    ...(collect && { collect: { key: ({ input }: any) => input.key as string, ...collect } }),
  } as { input: typeof input }).step("work", {
    query: (_ctx, { input }) => {
      const { list, items = [input] } = input as { list?: string[]; items?: { n: number }[] };
      return list ?? items.map(({ n }) => n);
    },
  });
  const own = compiled(components.workflow, "works", definition, {
    format: 1,
    plan,
    reads: { work: ["input"] },
  });
  const works = own.reference<WorkflowReference<{ key: string; n: number }>>(takes as typeof input);
  const functions = {
    work: own.query("work", definition.nodes.work.query),
    entry: own.entry({
      at: { work: async (run) => await run.query("work", (next) => next.complete("work")) },
    }),
  };
  const manage = {
    start: internalMutationGeneric(
      async (ctx, given: any) => await workflow.start(ctx, works, given),
    ),
    startLater: internalMutationGeneric(
      async (ctx, given: any) => await workflow.start(ctx, works, given, { runAfter: "1h" }),
    ),
    restart: internalMutationGeneric(async (ctx, { runId }: any) =>
      workflow.restart(ctx, works, runId as string),
    ),
    cancel: internalMutationGeneric(async (ctx, { runId }: any) =>
      workflow.cancel(ctx, runId as string),
    ),
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
const outputsOf = async (deployment: Deployment) => {
  const found = [];
  for (const { _id: runId } of runsOf(deployment))
    found.push((await deployment.look("manage:status", { runId })) as { output?: number[] });
  return found.flatMap(({ output = [] }) => [output]);
};
const from = (first: number, to: number) =>
  Array.from({ length: to - first }, (_each, n) => first + n);

/** A deployment on which conflicts are counted, by the function that had them. */
async function deployed(collect: Collecting, seed = 7) {
  const deployment = await Deployment.of(versionOf("first", collect), {
    class: CLASSES.s256,
    seed,
  });
  const conflicts: string[] = [];
  let executions = 0;
  deployment.onHappening((event) => {
    if (event.what === "conflict")
      conflicts.push(`${event.path.name} with ${event.with.table.path}`);
    if (event.what === "started") executions += 1;
    if (event.what === "exhausted" || event.what === "failed")
      conflicts.push(`${event.path.name} failed`);
  });
  const refused: unknown[] = [];
  const ids = new Map<number, string>();
  const start = (at: number, n: number, key = "a") =>
    deployment.at(at, async () => {
      try {
        ids.set(n, (await deployment.mutation("manage:start", { key, n })) as string);
      } catch (error) {
        refused.push(error);
      }
    });
  return { deployment, conflicts, refused, ids, start, executions: () => executions };
}

beforeEach(() => {
  for (const method of ["log", "warn", "error"] as const)
    vi.spyOn(console, method).mockImplementation(() => {});
});

/** One start every 10 ms, of which the first opens a run that collects the others. */
async function storm(count: number) {
  const collect = { quiet: 500, atMost: 60_000, size: 1_000, keep: "last" as const };
  const { deployment, conflicts, refused, ids, start, executions } = await deployed(collect);
  for (const n of from(0, count)) start(n === 0 ? 0 : 100 + 10 * n, n);
  await deployment.drive();
  expect(refused).toEqual([]);
  expect(conflicts).toEqual([]);
  expect(new Set(ids.values()).size).toBe(1);
  // Those that overlap may be committed in another order.
  const [[last = 0] = []] = await outputsOf(deployment);
  expect(last).toBeGreaterThan(count - 5);
  expect(deployment.rows("workflow", "collected")).toEqual([]);
  expect(deployment.rows("workflow", "collectors")).toEqual([]);
  return executions();
}

test("[S206] a storm of starts of one key conflicts with nobody once a run collects", async () => {
  // It looks once for each `quiet`, and then is closed and begins.
  expect(await storm(60)).toBeLessThanOrEqual(6);
});

test("[S206] a storm of 1,000 starts does not either", { tags: ["large"] }, async () => {
  expect(await storm(1_000)).toBeLessThanOrEqual(25);
});

test("[S206] of starts that come while runs are opened and closed, each item is in exactly one run", async () => {
  const collect = { quiet: 100, atMost: 400, size: 8, keep: "all" as const };
  const { deployment, conflicts, refused, start } = await deployed(collect, 2);
  // Runs of these are full …
  for (const n of from(0, 40)) start(7 * n, n);
  // … and those of these have been quiet, just as others come.
  for (const n of from(40, 80)) start(400 + 128 * Math.floor(n / 5 - 8) + 7 * (n % 5), n);
  deployment.at(300, () => deployment.crash());
  await deployment.drive();
  const outputs = await outputsOf(deployment);
  const got = outputs.flat();
  // A start whose answer was lost may have been collected.
  expect(got.length + refused.length).toBeGreaterThanOrEqual(80);
  expect(refused.length).toBeLessThan(20);
  expect(new Set(got).size).toBe(got.length);
  expect(outputs.every(({ length }) => length >= 1 && length <= 8)).toBe(true);
  expect(runsOf(deployment).every(({ state }) => state === "completed")).toBe(true);
  expect(deployment.rows("workflow", "collected")).toEqual([]);
  // Only who opens or closes one may have to try again.
  expect(conflicts.filter((each) => each.endsWith("failed"))).toEqual([]);
});

test("[S214] a collect that is removed lets what is collected begin, with a run for each start if all were kept", async () => {
  for (const keep of ["last", "all"] as const) {
    const { deployment, start } = await deployed({ quiet: 5_000, keep });
    for (const n of [1, 2, 3]) start(100 * n, n);
    await deployment.advance(1_000);
    await deployment.deploy(versionOf("second", undefined));
    start(100, 4);
    await deployment.advance(1_000);
    // It is not collected: the other still is.
    expect(await outputsOf(deployment)).toEqual([[], [4]]);
    await deployment.drive();
    const outputs = (await outputsOf(deployment)).sort();
    expect(outputs).toEqual(keep === "last" ? [[3], [4]] : [[1], [2], [3], [4]]);
    expect(deployment.rows("workflow", "collected")).toEqual([]);
    expect(deployment.rows("workflow", "collectors")).toEqual([]);
  }
});

test("[S214] a run that collects keeps what its workflow says when it begins, and its time is that of its start", async () => {
  for (const [before, now, got] of [
    ["last", "all", [1, 2, 3]],
    ["all", "last", [3]],
    ["all", "first", [1]],
    ["first", "last", [3]],
  ] as const) {
    const { deployment, start } = await deployed({ quiet: 5_000, keep: before });
    for (const n of [1, 2]) start(100 * n, n);
    await deployment.advance(1_000);
    await deployment.deploy(versionOf("second", { quiet: 3_600_000, keep: now }));
    start(100, 3);
    await deployment.advance(10_000);
    expect(await outputsOf(deployment)).toEqual([got]);
  }
});

test("[S214] what a run has collected stays its input without the collect: one item alone, or all", async () => {
  for (const [count, got] of [
    [1, [0]],
    [2, [0, 1]],
  ] as const) {
    const { deployment, start } = await deployed({ quiet: 500, keep: "all" });
    for (const n of from(0, count)) start(n, n);
    await deployment.drive();
    await deployment.deploy(versionOf("second", undefined));
    const [{ _id: runId } = { _id: "" }] = runsOf(deployment);
    deployment.at(1, () => deployment.mutation("manage:restart", { runId }));
    await deployment.drive();
    expect(await outputsOf(deployment)).toEqual([got]);
    expect(runsOf(deployment)[0]?.input).toEqual(
      count === 1 ? { key: "a", n: 0 } : { items: from(0, 2).map((n) => ({ key: "a", n })) },
    );
  }
});

/** Takes a list under the name that collected items have, or one item. */
const listed = z.union([
  z.object({ items: z.array(z.string()) }).transform(({ items }) => ({ list: items })),
  z.string().transform((one) => ({ list: [one.toUpperCase()] })),
]);

test("[S139] an input of the form of collected items that nothing has collected stays one input", async () => {
  const versions = [versionOf("first", undefined, listed), versionOf("second", undefined, listed)];
  const deployment = await Deployment.of(versions[0]!, { class: CLASSES.s256, seed: 7 });
  const given = { items: ["a", "b"] };
  deployment.at(0, () => deployment.mutation("manage:start", given));
  deployment.at(0, () => deployment.mutation("manage:startLater", given));
  await deployment.advance(1_000);
  const [{ _id: runId } = { _id: "" }] = runsOf(deployment);
  deployment.at(1, () => deployment.mutation("manage:restart", { runId }));
  await deployment.advance(1_000);
  expect(await outputsOf(deployment)).toEqual([given.items, []]);
  // The other is parsed again when it begins.
  await deployment.deploy(versions[1]!);
  await deployment.drive();
  expect(await outputsOf(deployment)).toEqual([given.items, given.items]);
});

test("[S214] the input of a run that is older than the mark of what is collected is parsed as before", () => {
  const of = (collect: unknown) => ({
    definition: { options: { collect } },
    parse: (whole: unknown) =>
      z.object({ n: z.number(), added: z.number().default(1) }).parse(whole),
  });
  const input = { items: [{ n: 1 }, { n: 2 }] };
  const items = input.items.map((item) => ({ ...item, added: 1 }));
  for (const collect of [undefined, { keep: "all" }])
    expect(parsedAgain(of(collect) as never, { input })?.input).toEqual({ items });
});
