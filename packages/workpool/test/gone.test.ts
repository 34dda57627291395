import { Deployment, type Faults, S16 } from "@stepwise/testing";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { enqueueSettling, Workpool } from "../src/client/index.js";
import { modules as poolModules, schema as poolSchema } from "../src/test.js";
import { components, internal } from "./convex/_generated/api.js";
import { internalAction, internalMutation } from "./convex/_generated/server.js";
import schema from "./convex/schema.js";

/* A deploy takes the function of a work away that waits. */

const pool = new Workpool(components.workpool, { logLevel: "ERROR" });
const { ended: onComplete, voracious } = internal.callbacks;
const { write } = internal.jobs;

const setMax = async (ctx: Parameters<typeof pool.cancelAll>[0], maxParallelism: number) =>
  void (await ctx.runMutation(components.workpool.config.update, { maxParallelism }));

const calls = {
  enqueue: internalMutation({
    args: {},
    handler: async (ctx) => {
      await setMax(ctx, 0);
      // The module has no generated types.
      const { act } = (internal as any).calls;
      await pool.enqueueMutation(ctx, write, { label: "before" }, { onComplete });
      const greedy = { onComplete: voracious };
      await enqueueSettling(components.workpool, ctx, "action", act, [{}], greedy);
      await pool.enqueueMutation(ctx, write, { label: "after" }, { onComplete });
    },
  }),
  start: internalMutation({ args: {}, handler: async (ctx) => await setMax(ctx, 1) }),
};
const act = internalAction({ args: {}, handler: async () => {} });

/** Three works of a pool of one. The second is that of the function that the deploy takes away. */
async function taken(faults: Faults = {}): Promise<Deployment> {
  const parts = (own: object) => {
    const modules = {
      ...import.meta.glob("./convex/**/*.{ts,js}"),
      "./convex/calls.js": async () => own,
    };
    return [
      { path: "", schema, modules },
      { path: "workpool", schema: poolSchema, modules: poolModules },
    ];
  };
  const deployment = await Deployment.of(parts({ ...calls, act }), { class: S16, faults });
  deployment.at(0, () => deployment.mutation("calls:enqueue", {}));
  deployment.at(1_000, async () => {
    await deployment.deploy(parts(calls));
    await deployment.mutation("calls:start", {});
  });
  await deployment.advance(2_000);
  const labels = deployment.rows<{ label: string }>("", "events").map(({ label }) => label);
  expect(labels).toEqual(["before", "success", "after", "success"]);
  return deployment;
}

beforeEach(() => void vi.spyOn(console, "error").mockImplementation(() => {}));
afterEach(() => void vi.restoreAllMocks());

test("[S157] a work whose function is gone delays no other, though its callback uses up a transaction", async () => {
  const deployment = await taken();
  expect(deployment.rows("workpool", "works")).toEqual([]);
  expect(deployment.rows("workpool", "failedCallbacks")).toHaveLength(1);
});

test(
  "[S157] a work whose function is gone is set aside if its callback again and again takes too long",
  { tags: ["large"] },
  async () => {
    let slow = 2;
    const timesOut = ({ name }: { name: string }) => name === "complete:endGone" && slow-- > 0;
    const deployment = await taken({ timesOut });
    await deployment.advance(300_000);
    expect(deployment.rows("workpool", "works")).toHaveLength(1);
    expect(deployment.rows("workpool", "setAside")).toHaveLength(1);
    expect(deployment.rows("workpool", "continuations")).toEqual([]);
  },
);
