import * as core from "@stepwise/workpool/core";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { internal } from "./convex/_generated/api.js";
import { useTestApp } from "./harness.js";

const use = useTestApp();

beforeEach(() => {
  const { enqueueWork } = core;
  vi.spyOn(core, "enqueueWork").mockImplementation(async (ctx, work, host) => {
    if (work.fn === GONE) throw new Error("There is no such function");
    return await enqueueWork(ctx, work, host);
  });
});

/**
 * The handle of a function that a deploy took away. A deployment refuses to schedule it;
 * convex-test does not know that.
 */
const GONE = "function://;gone:gone";

const MINUTE = 60_000;
const pause = async (runId: string) => await use.app.t.mutation(internal.manager.pause, { runId });

const resume = async (runId: string) =>
  await use.app.t.mutation(internal.manager.resume, { runId });

describe("children", () => {
  test("[S55] [S110] the first of those that begin together has lost its function: its siblings are canceled, and do not begin", async () => {
    const id = await use.app.start("twoAfter", {});
    await use.app.advance(100);
    await pause(id);
    await use.app.advance(MINUTE);
    const first = await use.app.inComponent(async (ctx) => {
      const runs = await ctx.db.query("runs").collect();
      const child = runs.find(({ index, parentRun }) => index === 0 && parentRun === id);
      if (child?.first === undefined) throw new Error("It does not wait for its turn");
      await ctx.db.patch("runs", child._id, { first: { ...child.first, action: { fn: GONE } } });
      return child._id;
    });
    await resume(id);
    await use.app.drive();
    expect(await use.app.status("twoAfter", id)).toMatchObject({
      state: "failed",
      error: { kind: "childFailed", key: "0", cause: { kind: "removedNode" } },
    });
    const other = (await use.app.tree(id)).find(
      ({ runId, parentRunId }) => parentRunId === id && runId !== first,
    );
    expect(other).toMatchObject({ state: "canceled", steps: [] });
    await use.app.expectNothingLeft();
  });
});
