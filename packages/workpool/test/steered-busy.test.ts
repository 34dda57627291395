import { Deployment, type DeploymentClass, S16, S256 } from "@stepwise/testing";
import { v } from "convex/values";
import { expect, test } from "vitest";
import { Workpool } from "../src/client/index.js";
import { modules as poolModules, schema as poolSchema } from "../src/test.js";
import { components, internal } from "./convex/_generated/api.js";
import { internalMutation } from "./convex/_generated/server.js";
import schema from "./convex/schema.js";

/*
 * `maxParallelism` is changed, by an operator or a deploy, the pool paused, or all is canceled, while
 * many wait.
 */

const pool = new Workpool(components.workpool, { logLevel: "ERROR" });
const enqueues = { from: v.number(), count: v.number(), isAction: v.boolean() };
const calls = {
  limit: internalMutation({
    args: { maxParallelism: v.number() },
    handler: async (ctx, update) => {
      await ctx.runMutation(components.workpool.config.update, update);
    },
  }),
  pause: internalMutation({ args: {}, handler: (ctx) => pool.limits.pause(ctx, "maxParallelism") }),
  resume: internalMutation({
    args: {},
    handler: (ctx) => pool.limits.resume(ctx, "maxParallelism"),
  }),
  /** Enqueues one with other options of the class. */
  deploy: internalMutation({
    args: { maxParallelism: v.number(), label: v.string() },
    handler: async (ctx, { maxParallelism, label }) => {
      const deployed = new Workpool(components.workpool, { logLevel: "ERROR", maxParallelism });
      await deployed.enqueueMutation(ctx, internal.jobs.write, { label });
    },
  }),
  cancelAll: internalMutation({
    args: { limit: v.optional(v.number()) },
    handler: (ctx, options) => pool.cancelAll(ctx, options),
  }),
  enqueueAndCancelAll: internalMutation({
    args: {},
    handler: async (ctx) => {
      const labels = Array.from({ length: 8 }, (_, n) => ({ label: `own ${n}` }));
      await pool.enqueueMutationBatch(ctx, internal.jobs.write, labels);
      await pool.cancelAll(ctx);
    },
  }),
  enqueue: internalMutation({
    args: enqueues,
    handler: async (ctx, { from, count, isAction }) => {
      const labels = Array.from({ length: count }, (_, n) => ({ label: `${from + n}` }));
      const args = labels.map((label) => ({ ...label, ms: 20 }));
      if (isAction) await pool.enqueueActionBatch(ctx, internal.jobs.sleep, args);
      else await pool.enqueueMutationBatch(ctx, internal.jobs.write, labels);
    },
  }),
};
const parts = [
  {
    path: "",
    schema,
    modules: {
      "./convex/_generated/api.js": () => import("./convex/_generated/api.js"),
      "./convex/callbacks.js": () => import("./convex/callbacks.js"),
      "./convex/calls.js": async () => calls,
      "./convex/jobs.js": () => import("./convex/jobs.js"),
    },
  },
  { path: "workpool", schema: poolSchema, modules: poolModules },
];

/** A deployment that is called from outside, and which of these calls it has refused. */
async function calledFromOutside(of: DeploymentClass) {
  const deployment = await Deployment.of(parts, { class: of });
  const refused: string[] = [];
  const call = (ms: number, name: string, args = {}) =>
    deployment.at(ms, async () => {
      await deployment.mutation(`calls:${name}`, args).catch((error: unknown) => {
        refused.push(`${name} at ${ms}: ${String(error)}`);
      });
    });
  return { deployment, refused, call };
}

async function steered(kind: string, most: number, of: DeploymentClass): Promise<void> {
  const { deployment, refused, call } = await calledFromOutside(of);
  call(0, "limit", { maxParallelism: most });
  for (let n = 0; n < 4; n++)
    call(50 + n, "enqueue", { from: 500 * n, count: 500, isAction: kind === "actions" });
  for (let ms = 200; ms < 15_000; ms += 5_000) {
    call(ms, "limit", { maxParallelism: Math.ceil(most / 2) });
    call(ms + 1_000, "deploy", { maxParallelism: most + (ms % 3), label: `deploy ${ms}` });
    call(ms + 2_000, "pause");
    call(ms + 3_000, "resume");
    call(ms + 4_000, "limit", { maxParallelism: most + 5 });
  }
  await deployment.drive();
  expect(refused).toEqual([]);
  const events = deployment.rows<{ what: string; label: string }>("", "events");
  const begun = events.filter(({ what }) => what !== "end").map(({ label }) => label);
  expect(begun).toHaveLength(2_003);
  expect(new Set(begun).size).toBe(2_003);
  const numbers = deployment.rows<{ number: number }>("workpool", "slots").map((s) => s.number);
  expect(numbers.toSorted((a, b) => a - b)).toEqual(Array.from({ length: most + 5 }, (_, n) => n));
  expect(deployment.rows("workpool", "gate")).toMatchObject([{ open: true }]);
}

test("[S229] while mutations wait, a pool takes each change at once, and loses nothing", async () => {
  await steered("mutations", 20, S256);
});

test.each([
  ["mutations", 2, S256],
  ["mutations", 100, S16],
  ["actions", 2, S256],
  ["actions", 20, S256],
  ["actions", 100, S16],
] as const)("[S229] so it does while %s wait, with %i slots", { tags: ["large"] }, steered);

/** Works come and go, and all are canceled again and again. @returns how many works have begun. */
async function canceledMeanwhile(kind: string, most: number, of: DeploymentClass): Promise<number> {
  const { deployment, refused, call } = await calledFromOutside(of);
  call(0, "limit", { maxParallelism: most });
  for (let n = 0; n < 20; n++)
    call(100 + 100 * n, "enqueue", { from: 40 * n, count: 40, isAction: kind === "actions" });
  for (let ms = 350; ms < 2_000; ms += 150) call(ms, "cancelAll", { limit: 10 });
  await deployment.drive();
  expect(refused).toEqual([]);
  for (const table of ["works", "waiting", "continuations"])
    expect(deployment.rows("workpool", table)).toEqual([]);
  const events = deployment.rows<{ what: string; label: string }>("", "events");
  const begun = events.filter(({ what }) => what !== "end").map(({ label }) => label);
  expect(new Set(begun).size).toBe(begun.length);
  return begun.length;
}

const large = { tags: ["large"] };

test(
  "[S237] while mutations come and go, a cancelAll is not refused, and cancels what waits",
  large,
  async () => {
    expect(await canceledMeanwhile("mutations", 5, S256)).toBeLessThan(600);
  },
);

test("[S237] nor while actions of 20 ms do, and a few run at once", large, async () => {
  expect(await canceledMeanwhile("actions", 2, S256)).toBeLessThan(600);
});

test.each([
  ["mutations", 20],
  ["actions", 30],
] as const)("[S237] nor while %s do on class S16, in %i slots", large, async (kind, most) => {
  expect(await canceledMeanwhile(kind, most, S16)).toBeLessThan(800);
});

test("[S237] of what its own transaction has enqueued nothing begins, though works came just before", async () => {
  const { deployment, refused, call } = await calledFromOutside(S256);
  call(0, "limit", { maxParallelism: 20 });
  call(100, "enqueue", { from: 0, count: 1, isAction: true });
  call(160, "enqueueAndCancelAll");
  await deployment.drive();
  expect(refused).toEqual([]);
  const events = deployment.rows<{ label: string }>("", "events");
  expect(events.filter(({ label }) => label !== "0")).toEqual([]);
  expect(deployment.rows("workpool", "works")).toEqual([]);
});
