/** @module-tag large */
import { Deployment, S16 } from "@stepwise/testing";
import { v } from "convex/values";
import { describe, expect, test } from "vitest";
import { Workpool } from "../src/client/index.js";
import { modules as poolModules, schema as poolSchema } from "../src/test.js";
import { components, internal } from "./convex/_generated/api.js";
import { internalMutation } from "./convex/_generated/server.js";
import schema from "./convex/schema.js";

/* Mutations end while others of their moment still try to enqueue, and could open the gate. */

const pool = new Workpool(components.workpool, { logLevel: "ERROR" });
const calls = {
  enqueue: internalMutation({
    args: { label: v.string() },
    handler: async (ctx, args) => {
      await pool.enqueueMutation(ctx, internal.jobs.write, args);
    },
  }),
};
const parts = [
  {
    path: "",
    schema,
    modules: {
      "./convex/_generated/api.js": () => import("./convex/_generated/api.js"),
      "./convex/calls.js": async () => calls,
      "./convex/jobs.js": () => import("./convex/jobs.js"),
    },
  },
  { path: "workpool", schema: poolSchema, modules: poolModules },
];

/** @returns what became of enqueues of one moment, on a pool that has been idle. */
async function burst(count: number, seed: number) {
  const deployment = await Deployment.of(parts, { class: S16, seed });
  const said = { refused: 0, conflicts: 0, calls: 0 };
  const enqueue = (label: string) =>
    deployment.at(0, async () => {
      await deployment.mutation("calls:enqueue", { label }).catch(() => (said.refused += 1));
    });
  enqueue("first");
  await deployment.advance(120_000);
  deployment.onHappening(({ what, ...event }) => {
    if (!("path" in event)) return;
    if (event.path.name === "calls:enqueue") said.conflicts += what === "conflict" ? 1 : 0;
    else if (what === "committed") said.calls += 1;
  });
  for (let n = 0; n < count; n++) enqueue(`${n}`);
  await deployment.drive();
  return { ...said, ran: deployment.rows("", "events").length - 1 };
}

describe("mutations that are enqueued at one moment on the smallest class", () => {
  // With these draws the gate was opened and closed in turn, and the last ones were refused.
  test.each([
    [60, 2],
    [60, 28],
    [300, 6],
  ])("%i, with the seed %i: none is refused, and each loses twice at most", async (count, seed) => {
    const { refused, conflicts, ran } = await burst(count, seed);
    expect(refused).toBe(0);
    expect(ran).toBe(count);
    expect(conflicts).toBeLessThanOrEqual(2 * count);
  });

  test("1,000: each loses once", { tags: ["large"] }, async () => {
    const { refused, conflicts, ran } = await burst(1_000, 6);
    expect(refused).toBe(0);
    expect(ran).toBe(1_000);
    expect(conflicts).toBeLessThan(1_010);
  });

  test("a lone one costs one call", async () => {
    expect(await burst(1, 1)).toEqual({ refused: 0, conflicts: 0, calls: 1, ran: 1 });
  });
});
