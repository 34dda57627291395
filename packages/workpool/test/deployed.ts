import { Deployment, type Faults, S256 } from "@stepwise/testing";
import { v } from "convex/values";
import { expect } from "vitest";
import { type WorkId, Workpool } from "../src/client/index.js";
import { isSeat } from "../src/core/ahead.js";
import { modules as poolModules, schema as poolSchema } from "../src/test.js";
import { components, internal } from "./convex/_generated/api.js";
import { internalMutation } from "./convex/_generated/server.js";
import schema from "./convex/schema.js";

/* A pool on a deployment, with works of the app that take some time. */

const retry = { maxAttempts: 3, initialBackoffMs: 100, base: 2 };
const onComplete = internal.callbacks.ended;
const pool = new Workpool(components.workpool, { logLevel: "ERROR" });
const vCallback = v.union(v.literal("ended"), v.literal("throwing"), v.literal("writesMuch"));
const { callbacks } = internal;
const calls = {
  limit: internalMutation({
    args: { maxParallelism: v.number() },
    handler: async (ctx, { maxParallelism }) => {
      await ctx.runMutation(components.workpool.config.update, { maxParallelism });
    },
  }),
  sleep: internalMutation({
    args: {
      from: v.number(),
      count: v.number(),
      ms: v.number(),
      callback: v.optional(vCallback),
    },
    handler: async (ctx, { from, count, ms, callback = "ended" }) => {
      const args = Array.from({ length: count }, (_, i) => ({ label: `${from + i}`, ms }));
      const options = { retry, onComplete: callbacks[callback] };
      return await pool.enqueueActionBatch(ctx, internal.jobs.sleep, args, options);
    },
  }),
  size: internalMutation({
    args: { bytes: v.number() },
    handler: async (ctx, { bytes }) =>
      await pool.enqueueAction(
        ctx,
        internal.jobs.size,
        { text: "x".repeat(bytes) },
        { onComplete },
      ),
  }),
  write: internalMutation({
    args: { count: v.number() },
    handler: async (ctx, { count }) => {
      const args = Array.from({ length: count }, (_, i) => ({ label: `write ${i}` }));
      return await pool.enqueueMutationBatch(ctx, internal.jobs.write, args);
    },
  }),
  waitAt: internalMutation({
    args: { ms: v.number(), forMs: v.number() },
    handler: async (ctx, { ms, forMs }) =>
      void (await ctx.scheduler.runAfter(ms, internal.jobs.wait, { ms: forMs })),
  }),
  cancel: internalMutation({
    args: { id: v.string() },
    handler: async (ctx, { id }) => await pool.cancel(ctx, id as WorkId),
  }),
};
const modules = {
  "./convex/_generated/api.js": () => import("./convex/_generated/api.js"),
  "./convex/callbacks.js": () => import("./convex/callbacks.js"),
  "./convex/calls.js": async () => calls,
  "./convex/jobs.js": () => import("./convex/jobs.js"),
};

export interface Event {
  readonly what: string;
  readonly label: string;
  readonly at: number;
}

export async function deployed(maxParallelism: number, of = S256, faults: Faults = {}) {
  const parts = [
    { path: "", schema, modules },
    { path: "workpool", schema: poolSchema, modules: poolModules },
  ];
  const deployment = await Deployment.of(parts, { class: of, faults });
  const enqueue = async (from: number, count: number, ms: number, more = {}) =>
    (await deployment.mutation("calls:sleep", { from, count, ms, ...more })) as string[];
  deployment.at(0, () => deployment.mutation("calls:limit", { maxParallelism }));
  await deployment.advance(1_000);
  const events = (what: string) =>
    deployment.rows<Event>("", "events").filter((event) => event.what === what);
  const rows = (table: string) => deployment.rows<any>("workpool", table);
  const begun: string[] = [];
  deployment.onHappening((event) => {
    if (event.what === "began") begun.push(event.path.name);
  });
  const times = (name: string) => begun.filter((each) => each === name).length;
  const atRest = () => {
    expect(rows("slots").filter(({ work }) => work !== undefined)).toEqual([]);
    expect(rows("waiting")).toEqual([]);
    expect(rows("works")).toEqual([]);
    expect(rows("gate")).toMatchObject([{ open: true }]);
    expect(rows("drain").filter(({ on }) => on)).toEqual([]);
  };
  return { deployment, enqueue, events, rows, times, atRest };
}

export const once = (labels: readonly Event[]) => new Set(labels.map(({ label }) => label)).size;

export interface Held {
  readonly work?: string;
  readonly number: number;
}

/** A pool that tells how many actions have run at once, for how long together, and until when. */
export async function watched(...of: Parameters<typeof deployed>) {
  const pool = await deployed(...of);
  const { clock } = pool.deployment;
  const seen = { running: 0, most: 0, inAllMs: 0, from: Infinity, to: 0 };
  const change = (by: number) => {
    seen.running += by;
    seen.most = Math.max(seen.most, seen.running);
    seen.inAllMs -= by * clock.now();
    seen.from = Math.min(seen.from, clock.now());
    seen.to = clock.now();
  };
  pool.deployment.onHappening((event) => {
    if (!("path" in event) || event.path.name !== "jobs:sleep") return;
    if (event.what === "began") change(1);
    else if (event.what === "ended") change(-1);
  });
  const ahead = () => pool.rows("slots").filter((slot: Held) => isSeat(slot));
  return { ...pool, seen, ahead };
}
