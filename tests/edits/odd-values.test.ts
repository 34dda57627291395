/** @module-tag large */
import { beforeAll, expect, test } from "vitest";
import { Deployment, type Seen, useReleases, type Version } from "./deployed.js";

/* What an app gives where it may give something else, or what has a name that Stepwise uses. */

const releases = useReleases();
let version: Version;

const each = (options: string, x: string) =>
  `.each("e", { of: ({ input }) => input, body: (b) => b.step("x", { query: ${x} })${options} })`;
const ITEM = "async (_c, { each }) => each.item";
const LARGE = `action: async () => "x".repeat(999_998)`;
const FLOWS = {
  unsaid: each(", concurrency: () => undefined as unknown as number", ITEM),
  items: each("", ITEM),
  reduced: each(", reduce: { initial: {}, step: (_so, output) => output }", ITEM),
  finalized: `.parent("p", {
    children: ({ input }) => Object.fromEntries(Object.entries(input).map(([k, v]) => [k, child(items, v)])),
    finalize: { query: async (_ctx, { children }) => children } })`,
  race: `.race("r", { cases: { a: (b) => b.step("x", { ${LARGE} }) } })`,
  branches: `.parallel("r", { branches: { a: (b) => b.step("x", { ${LARGE} }) } })`,
  reducedParent: `.parent("r", { action: async () => "x".repeat(600_000),
    children: () => [child(items, [1])],
    reduce: { initial: "", step: () => "x".repeat(600_000) } })`,
};

beforeAll(async () => {
  const flows = Object.entries(FLOWS).map(
    ([name, nodes]) => `export const ${name} = defineWorkflow({ input: z.any() })${nodes};`,
  );
  version = await releases.release({
    "starting.ts": `
import { WorkflowManager } from "@stepwise/workflow";
import { internalMutationGeneric } from "convex/server";
import { components } from "./_generated/api";
import { workflows } from "./_workflows/index";
const workflow = new WorkflowManager(components.workflow);
export const start = internalMutationGeneric((ctx, { name, input }) =>
  workflow.start(ctx, workflows[name], input));
`,
    "flow.workflow.ts": `
import { child, defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
${flows.join("\n")}`,
  });
});

async function ended(name: keyof typeof FLOWS, input: unknown = 0): Promise<Seen> {
  const deployment = new Deployment(version);
  const runId = (await deployment.call("starting:start", { name, input })) as string;
  await deployment.drive();
  return await deployment.see(runId);
}

test("[S254] a function of the concurrency that gives nothing fails the parent", async () => {
  expect(await ended("unsaid", [1])).toMatchObject({
    state: "failed",
    error: {
      message:
        'The concurrency of "e" in workflow "unsaid" is undefined: it must be a whole number from 1',
    },
  });
});

const PAGED = [
  { "~pages": 1 },
  { "~pages": [1, 2] },
  { "~pages": [[1], [2]], more: 1 },
  { "~pages": "none", outputs: 1 },
];

test.each(PAGED)("[S160] [S43] the record of outputs %o keeps its form", async (given) => {
  expect((await ended("items", given)).output).toEqual(given);
  expect((await ended("reduced", [given])).output).toEqual(given);
});

test("[S43] so does that which a finalize sees", async () => {
  expect((await ended("finalized", { "~pages": [[1, 2], [3]] })).output).toEqual({
    "~pages": [[1, 2], [3]],
  });
});

test.each([
  ["race", "Have its cases put the data into file storage or a table, and give its id"],
  ["branches", "Give it a reduce"],
  ["reducedParent", "Give the parent a finalize"],
] as const)(
  "[S58] outputs of a %s that are too large are told what helps: %s",
  async (name, advice) => {
    const { error } = await ended(name);
    expect(error?.message).toMatch(/^The outputs of the children of "r" take \d+ bytes together/);
    expect(error?.message.split(" as its output. ")[1]).toBe(advice);
  },
);
