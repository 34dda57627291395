import * as core from "@stepwise/workpool/core";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { internal } from "./convex/_generated/api.js";
import { useTestApp } from "./harness.js";

const use = useTestApp();

beforeEach(() => {
  const { enqueueWork, enqueueWorks } = core;
  vi.spyOn(core, "enqueueWork").mockImplementation(async (ctx, work, host) => {
    if (work.fn === GONE) throw new Error("There is no such function");
    return await enqueueWork(ctx, work, host);
  });
  vi.spyOn(core, "enqueueWorks").mockImplementation(async (ctx, works, host) => {
    const gone = works.findIndex(({ fn }) => fn === GONE);
    if (gone < 0) return await enqueueWorks(ctx, works, host);
    await enqueueWorks(ctx, works.slice(0, gone), host);
    throw new Error("There is no such function");
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
  test.each([0, 1])(
    "[S55] [S110] of those that begin together, number %i has lost its function: its sibling is canceled, and does not begin",
    async (lost) => {
      const id = await use.app.start("twoAfter", {});
      await use.app.advance(100);
      await pause(id);
      await use.app.advance(MINUTE);
      const gone = await use.app.inComponent(async (ctx) => {
        const runs = await ctx.db.query("runs").collect();
        const child = runs.find(({ index, parentRun }) => index === lost && parentRun === id);
        if (child?.first === undefined) throw new Error("It does not wait for its turn");
        await ctx.db.patch("runs", child._id, { first: { ...child.first, action: { fn: GONE } } });
        return child._id;
      });
      await resume(id);
      await use.app.drive();
      expect(await use.app.status("twoAfter", id)).toMatchObject({
        state: "failed",
        error: { kind: "childFailed", key: String(lost), cause: { kind: "removedNode" } },
      });
      const other = (await use.app.tree(id)).find(
        ({ runId, parentRunId }) => parentRunId === id && runId !== gone,
      );
      expect(other?.state).toBe("canceled");
      for (const step of other?.steps ?? []) {
        expect(step.state).toBe("canceled");
        expect(step.beganAt).toBeUndefined();
      }
      await use.app.expectNothingLeft();
    },
  );
});
