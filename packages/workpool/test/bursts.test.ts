import { Deployment, S256, textOf } from "@stepwise/testing";
import { v } from "convex/values";
import { describe, expect, test } from "vitest";
import { Workpool } from "../src/client/index.js";
import { modules as poolModules, schema as poolSchema } from "../src/test.js";
import { mostAtOnce } from "./app.js";
import { components, internal } from "./convex/_generated/api.js";
import { internalMutation } from "./convex/_generated/server.js";
import schema from "./convex/schema.js";

/* Enqueues that wait for their turn, as a deployment runs few mutations at once. */

const pool = new Workpool(components.workpool, { maxParallelism: 20, logLevel: "ERROR" });
const calls = {
  sleep: internalMutation({
    args: { label: v.string(), ms: v.number() },
    handler: async (ctx, args) => await pool.enqueueAction(ctx, internal.jobs.sleep, args),
  }),
  pass: internalMutation({ args: {}, handler: async () => {} }),
};
const modules = {
  "./convex/_generated/api.js": () => import("./convex/_generated/api.js"),
  "./convex/calls.js": async () => calls,
  "./convex/jobs.js": () => import("./convex/jobs.js"),
};

interface Event {
  readonly what: string;
  readonly label: string;
  readonly at: number;
}

/** A deployment that runs so many mutations at once, and whose pool has run one work. */
async function deployed(mutationPermits: number) {
  const parts = [
    { path: "", schema, modules },
    { path: "workpool", schema: poolSchema, modules: poolModules },
  ];
  const deployment = await Deployment.of(parts, { class: { ...S256, mutationPermits } });
  deployment.at(0, () => deployment.mutation("calls:sleep", { label: "first", ms: 0 }));
  await deployment.drive();
  const begun = deployment.clock.now();
  const events = () => deployment.rows<Event>("", "events").filter(({ at }) => at > begun);
  const starts = () => events().filter(({ what }) => what === "start");
  return { deployment, events, starts };
}

describe("enqueues that wait for their turn", () => {
  test("100 at once lose to others about once each, and run once", async () => {
    const { deployment, events, starts } = await deployed(4);
    let conflicts = 0;
    deployment.onHappening((event) => {
      if (event.what === "conflict" && textOf(event.path) === "calls:sleep") conflicts += 1;
    });
    for (let n = 0; n < 100; n++)
      deployment.at(0, () => deployment.mutation("calls:sleep", { label: `${n}`, ms: 200 }));
    await deployment.drive();
    expect(conflicts).toBeLessThan(1.3 * 100);
    expect(new Set(starts().map(({ label }) => label)).size).toBe(100);
    expect(starts()).toHaveLength(100);
    expect(mostAtOnce(events())).toBeLessThanOrEqual(20);
  });

  /** Enqueues a work behind mutations that take 100 ms together. */
  async function enqueueLate(deployment: Deployment) {
    for (let n = 0; n < 5; n++) deployment.at(0, () => deployment.mutation("calls:pass"));
    deployment.at(0, () => deployment.mutation("calls:sleep", { label: "late", ms: 200 }));
  }

  test("one that waited on an idle pool has its work started by a drain, at once", async () => {
    const { deployment, starts } = await deployed(1);
    const begun = deployment.clock.now();
    const ran: string[] = [];
    deployment.onHappening((event) => {
      if (event.what === "started") ran.push(textOf(event.path));
    });
    await enqueueLate(deployment);
    await deployment.drive();
    expect(starts().map(({ at }) => at - begun < 300)).toEqual([true]);
    expect(ran[0]).toBe("workpool/watchdog:drainQueue");
  });

  test("its work runs though that drain is lost, and nobody else comes", async () => {
    const { deployment, starts } = await deployed(1);
    const jobs = { component: "workpool", name: "_scheduled_functions" };
    let lost = 0;
    deployment.onCommit(({ writes }) => {
      for (const { table, id, next } of writes) {
        const isDrain = table.name === jobs.name && /drainQueue/.test(JSON.stringify(next?.name));
        // The drain itself, which is due at once.
        if (!isDrain || lost > 0 || Number(next?.scheduledTime) > deployment.clock.now()) continue;
        lost += 1;
        deployment.edit(jobs, id, undefined);
      }
    });
    await enqueueLate(deployment);
    await deployment.drive();
    expect(lost).toBe(1);
    expect(starts()).toHaveLength(1);
  });
});
