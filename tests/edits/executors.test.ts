/** @module-tag large */
import { expect, test } from "vitest";
import { Deployment, type Files, released, useReleases } from "./deployed.js";

/* Nodes that are removed while an executor runs their actions. */

const releases = useReleases();

const flow = (node: string): Files => ({
  "pool.ts": `
import { WorkflowManager } from "@stepwise/workflow";
import { internalMutationGeneric } from "convex/server";
import { components } from "./_generated/api";
import { workflows } from "./_workflows/index";
const workflow = new WorkflowManager(components.workflow, { maxParallelism: 1 });
export const start = internalMutationGeneric((ctx) => workflow.start(ctx, workflows.flow, {}));`,
  "flow.workflow.ts": `
import { defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
export const flow = defineWorkflow({ input: z.object({}) })${node}
  .step("last", { query: () => "last" });`,
});
const acts = (end: string) => `.step("x", { action: async () => {
  await new Promise((resolve) => setTimeout(resolve, 5_000));
  ${end}
} })`;

test.each([
  ["succeeds", "return 1;"],
  ["fails", 'throw new Error("its own");'],
])("[S117] [S156] a removed action that still %s in an executor", async (_what, end) => {
  const versions = await released(releases, flow(acts(end)), flow(""));
  const app = new Deployment(versions[0], versions);
  const ids: string[] = [];
  for (let n = 0; n < 3; n++) ids.push((await app.call("pool:start", {})) as string);
  const begun = () => app.counter.calls.filter(({ name }) => name.endsWith("flow:x")).length;
  await app.drive(() => begun() === 2);
  expect(app.counter.calls.some(({ name }) => name === "executor:execute")).toBe(true);
  app.deploy(versions[1]);
  await app.drive();
  const [, ...later] = await Promise.all(ids.map((id) => app.see(id)));
  for (const { state, error } of later)
    expect({ state, kind: error?.kind }).toEqual({ state: "failed", kind: "removedNode" });
});
