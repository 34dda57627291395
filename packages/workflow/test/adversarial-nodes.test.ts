import { makeFunctionReference } from "convex/server";
import type { Value } from "convex/values";
import { describe, expect, test } from "vitest";
import type { Settlement } from "../src/component/validators.js";
import { components, internal } from "./convex/_generated/api.js";
import { TestApp, useTestApp } from "./harness.js";

const use = useTestApp();
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

async function send(name: string, run: string, event: string, payload: Value): Promise<string> {
  return await use.app.t.mutation(internal.manager.sendEvent, { name, run, event, payload });
}

async function cancel(runId: string): Promise<boolean> {
  return await use.app.t.mutation(internal.runs.cancel, { runId });
}

/** The scheduled functions of the component that are still to come, but for the pool's last look. */
async function pending(app: TestApp = use.app) {
  return await app.inComponent(async (ctx) => {
    const jobs = await ctx.db.system.query("_scheduled_functions").collect();
    return jobs.filter(({ state, name }) => state.kind === "pending" && name !== "watchdog:sweep");
  });
}

/** Cancels the scheduled functions whose name ends so, as somebody might by hand. */
async function cancelJobs(name: string, app: TestApp = use.app): Promise<number> {
  const jobs = (await pending(app)).filter((job) => job.name.endsWith(name));
  await app.inComponent(async (ctx) => {
    for (const { _id } of jobs) await ctx.scheduler.cancel(_id);
  });
  return jobs.length;
}

async function stateOf(name: string, id: string, app: TestApp = use.app) {
  return (await app.status(name, id))?.state;
}

/** The rows of a table of the component. */
async function rows(table: "childPages" | "undos" | "deadlines" | "inbox" | "continuations") {
  return await use.app.inComponent(async (ctx) => (await ctx.db.query(table).collect()).length);
}

describe("events and time", () => {
  test("[S42] [S69] an event that is taken leaves no timer of its node", async () => {
    const id = await use.app.start("answered", {});
    await use.app.drive();
    await use.app.expectNothingLeft().catch(() => {});
    expect(await send("answered", id, "first", "a")).toBe("taken");
    expect(await send("answered", id, "second", "b")).toBe("taken");
    expect(await use.app.status("answered", id)).toMatchObject({
      state: "completed",
      output: {
        first: { timedOut: false, event: "a" },
        second: { timedOut: false, event: { name: "second", value: "b" } },
      },
    });
    expect(await pending()).toEqual([]);
  });
});
