import { Deployment, type DeploymentClass, S16, S256, textOf } from "@stepwise/testing";
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
async function deployed(mutationPermits: number, of: DeploymentClass = S256) {
  const parts = [
    { path: "", schema, modules },
    { path: "workpool", schema: poolSchema, modules: poolModules },
  ];
  const deployment = await Deployment.of(parts, { class: { ...of, mutationPermits } });
  deployment.at(0, () => deployment.mutation("calls:sleep", { label: "first", ms: 0 }));
  await deployment.drive();
  const begun = deployment.clock.now();
  const events = () => deployment.rows<Event>("", "events").filter(({ at }) => at > begun);
  const starts = () => events().filter(({ what }) => what === "start");
  return { deployment, events, starts };
}

describe("enqueues that wait for their turn", () => {
  test.each([
    { of: S256, each: 0.3, why: "they look at nothing" },
    // Where the scheduler has few places, a function that looks for them would take one.
    { of: S16, each: 1.3, why: "all lose to the first" },
  ])("100 at once on class $of.name: $why, and each runs once", async ({ of, each }) => {
    const { deployment, events, starts } = await deployed(4, of);
    let conflicts = 0;
    deployment.onHappening((event) => {
      if (event.what === "conflict" && textOf(event.path) === "calls:sleep") conflicts += 1;
    });
    for (let n = 0; n < 100; n++)
      deployment.at(0, () => deployment.mutation("calls:sleep", { label: `${n}`, ms: 200 }));
    await deployment.drive();
    expect(conflicts).toBeLessThan(each * 100);
    expect(new Set(starts().map(({ label }) => label)).size).toBe(100);
    expect(starts()).toHaveLength(100);
    expect(mostAtOnce(events())).toBeLessThanOrEqual(20);
  });

  /** Enqueues works behind mutations that take 100 ms together. */
  async function enqueueLate(deployment: Deployment, labels = ["late"]) {
    for (let n = 0; n < 5; n++) deployment.at(0, () => deployment.mutation("calls:pass"));
    for (const label of labels)
      deployment.at(0, () => deployment.mutation("calls:sleep", { label, ms: 200 }));
  }

  test("one that waited on an idle pool has its work started at once", async () => {
    const { deployment, starts } = await deployed(1);
    const begun = deployment.clock.now();
    const ran: string[] = [];
    deployment.onHappening((event) => {
      if (event.what === "started") ran.push(textOf(event.path));
    });
    await enqueueLate(deployment);
    await deployment.drive();
    expect(starts().map(({ at }) => at - begun < 300)).toEqual([true]);
    expect(ran.filter((name) => name === "workpool/watchdog:ring")).toHaveLength(1);
    expect(ran.slice(0, 2)).toEqual(["workpool/watchdog:ring", "workpool/worker:runAction"]);
    expect(ran).not.toContain("workpool/watchdog:drainQueue");
  });

  const jobs = { component: "workpool", name: "_scheduled_functions" };

  /** Deletes the first scheduled function of this name that is due at once. */
  function lose(deployment: Deployment, name: string) {
    const lost: string[] = [];
    deployment.onCommit(({ writes }) => {
      for (const { table, id, next } of writes) {
        const { name: of, scheduledTime } = { name: "", scheduledTime: 0, ...next };
        if (table.name !== jobs.name || !of.includes(name) || lost.length > 0) continue;
        if (scheduledTime > deployment.clock.now()) continue;
        lost.push(id);
        deployment.edit(jobs, id, undefined);
      }
    });
    return lost;
  }

  test.each([
    { name: "ring", of: S256 },
    { name: "drainQueue", of: S256 },
    { name: "drainQueue", of: S16 },
  ])("their works run though $name is lost on $of.name, and nobody else comes", async (given) => {
    const { deployment, starts } = await deployed(1, given.of);
    const lost = lose(deployment, given.name);
    await enqueueLate(deployment, ["late", "later"]);
    await deployment.drive();
    expect(lost).toHaveLength(1);
    expect(starts()).toHaveLength(2);
  });

  test("one that leaves it to an older one runs though that is lost and canceled", async () => {
    const { deployment, starts } = await deployed(1);
    lose(deployment, "ring");
    await enqueueLate(deployment, ["late", "later"]);
    await deployment.advance(1_000);
    const [oldest, ...others] = deployment.rows<{ _id: string }>("workpool", "waiting");
    expect(others).toHaveLength(1);
    deployment.edit({ component: "workpool", name: "waiting" }, oldest!._id, undefined);
    await deployment.drive();
    expect(starts().map(({ label }) => label)).toEqual(["later"]);
  });
});
