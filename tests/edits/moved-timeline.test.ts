/** @module-tag large */
import { expect, test } from "vitest";
import { Deployment, type Files, useReleases } from "./deployed.js";

/* The timeline of a run whose nodes a deploy has moved. */

const releases = useReleases();

const NODES = Object.fromEntries(
  ["a", "b", "c"].map((name) => [name, `.step("${name}", { query: async () => "${name}" })`]),
);
const flow = (...names: string[]): Files => ({
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
export const flow = defineWorkflow({ input: z.object({}) })${names.map((name) => NODES[name]).join("")};`,
});

interface Told {
  page: { node: string; state: string }[];
  isDone: boolean;
  continueCursor: string;
}

test.each([1, 100])(
  "[S97] no node that has run is skipped too, in pages of %i",
  async (numItems) => {
    const before = await releases.release(flow("a", "b"));
    const after = await releases.release(flow("c", "b", "a"), flow("a", "b"));
    const deployment = new Deployment(before, [after]);
    const runId = await deployment.call("start", { name: "flow", input: {} });
    await deployment.drive();
    deployment.deploy(after);
    const lines: string[] = [];
    for (let cursor: string | null = null; ;) {
      const page = { numItems, cursor };
      const told: Told = await deployment.ask("seeing:steps", { runId, page });
      lines.push(...told.page.map(({ node, state }) => `${node} ${state}`));
      if (told.isDone) break;
      cursor = told.continueCursor;
    }
    expect(lines).toEqual(["c skipped", "a completed", "b completed"]);
  },
);
