/** @module-tag large */
import { expect, test } from "vitest";
import { Deployment, type Files, useReleases } from "./deployed.js";

/* The timeline of a run whose nodes a deploy has moved. */

const releases = useReleases();

const step = (name: string) => `.step("${name}", { query: async () => "${name}" })`;
const flow = (...nodes: string[]): Files => ({
  "seeing.ts": `
import { WorkflowManager } from "@stepwise/workflow";
import { internalQueryGeneric } from "convex/server";
import { components } from "./_generated/api";
import { workflows } from "./_workflows/index";
const workflow = new WorkflowManager(components.workflow);
export const steps = internalQueryGeneric((ctx, { runId, page }) =>
  workflow.steps(ctx, workflows.flow, runId, page));
`,
  "flow.workflow.ts": `
import { defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
export const flow = defineWorkflow({ input: z.object({}) })${nodes.join("")};`,
});

interface Told {
  page: { node: string; state: string }[];
  isDone: boolean;
  continueCursor: string;
}

const [a, b, c] = [step("a"), step("b"), step("c")];
const route = `.branch("route", { on: () => "big" as "big" | "small", cases: {
  big: (b) => b.sleep("rest", "1h")${step("paid")}, small: (b) => b${step("free")} } })`;

/** The nodes of a run in its timeline, each with its state. */
async function linesOf(deployment: Deployment, runId: unknown, numItems: number) {
  const lines: string[] = [];
  for (let cursor: string | null = null; ;) {
    const told: Told = await deployment.ask("seeing:steps", { runId, page: { numItems, cursor } });
    lines.push(...told.page.map(({ node, state }) => `${node} ${state}`));
    if (told.isDone) return lines;
    cursor = told.continueCursor;
  }
}

test.each([1, 100])(
  "[S97] no node that has run is skipped too, in pages of %i",
  async (numItems) => {
    const before = await releases.release(flow(a, b));
    const after = await releases.release(flow(c, b, a), flow(a, b));
    const deployment = new Deployment(before, [after]);
    const runId = await deployment.call("start", { name: "flow", input: {} });
    await deployment.drive();
    deployment.deploy(after);
    const lines = await linesOf(deployment, runId, numItems);
    expect(lines).toEqual(["c skipped", "a completed", "b completed"]);
  },
);

test.each([1, 100])(
  "[S97] no node is skipped that a run will come to in one that was moved, in pages of %i",
  async (numItems) => {
    const before = await releases.release(flow(a, route));
    const after = await releases.release(flow(route, a), flow(a, route));
    const deployment = new Deployment(before, [after]);
    const runId = (await deployment.call("start", { name: "flow", input: {} })) as string;
    await deployment.drive(async () => (await deployment.see(runId)).active.length > 1);
    deployment.deploy(after);
    const [began, skipped] = ["a completed", "route.small.free skipped"];
    expect(await linesOf(deployment, runId, numItems)).toEqual([
      began,
      "route running",
      skipped,
      "route.big.rest waiting",
    ]);
    await deployment.drive();
    const ended = ["route completed", skipped, "route.big.rest completed"];
    const lines = await linesOf(deployment, runId, numItems);
    expect(lines).toEqual([began, ...ended, "route.big.paid completed"]);
  },
);
