/** @module-tag large */
import { expect, test } from "vitest";
import { Deployment, useReleases } from "./deployed.js";

/* A run that was paused while it waited for an event. */

const releases = useReleases();

const APP = {
  "steering.ts": `
import { WorkflowManager } from "@stepwise/workflow";
import { internalMutationGeneric } from "convex/server";
import { components } from "./_generated/api";
import { workflows } from "./_workflows/index";
const workflow = new WorkflowManager(components.workflow);
export const pause = internalMutationGeneric((ctx, { runId }) => workflow.pause(ctx, runId));
export const resume = internalMutationGeneric((ctx, { runId }) => workflow.resume(ctx, runId));
export const send = internalMutationGeneric((ctx, { runId, ok }) =>
  workflow.sendEvent(ctx, workflows.flow, runId, "answer", { ok }));
`,
  "flow.workflow.ts": `
import { defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
export const flow = defineWorkflow({ input: z.object({}) }).event("answer", {
  schema: z.object({ ok: z.boolean() }),
  match: ({ ok }) => ok,
  timeout: () => {
    const asked = globalThis as { timesAsked?: number };
    asked.timesAsked = (asked.timesAsked ?? 0) + 1;
    return "10s";
  },
});`,
};

test("[S128] [S138] a timeout is not asked for again when the run is resumed", async () => {
  const asked = globalThis as { timesAsked?: number };
  const version = await releases.release(APP);
  for (const [ok, output] of [
    [false, { timedOut: true }],
    [true, { timedOut: false, event: { ok: true } }],
  ] as const) {
    asked.timesAsked = 0;
    const deployment = new Deployment(version);
    const runId = await deployment.call("start", { name: "flow", input: {} });
    await deployment.drive(() => asked.timesAsked === 1);
    await deployment.call("steering:pause", { runId });
    await deployment.call("steering:send", { runId, ok });
    await deployment.call("steering:resume", { runId });
    await deployment.drive();
    expect(await deployment.see(runId as string)).toMatchObject({ state: "completed", output });
    expect(asked.timesAsked).toBe(1);
  }
});
