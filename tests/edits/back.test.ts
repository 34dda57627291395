import { expect, test } from "vitest";
import { Deployment, type Files, released, useReleases } from "./deployed.js";

/* The version before is deployed again, as it was: it knows nothing of what the later one had. */

const releases = useReleases();

const app = (added: string, more = ""): Files => ({
  "steering.ts": `
import { internalMutationGeneric } from "convex/server";
import { workflow, workflows } from "./_workflows/index";
export const repair = internalMutationGeneric((ctx) => workflow.repair(ctx, workflows));
`,
  "flow.workflow.ts": `
import { defineWorkflow, RetryAfter } from "@stepwise/workflow";
import { z } from "zod";
import { internal } from "./_generated/api";
const undo = { mutation: (ctx) => ctx.runMutation(internal.runs.log, { text: "undone" }) };
export const kid = defineWorkflow({ input: z.object({}) }).sleep("nap", "1h");
export const flow = defineWorkflow({ input: z.object({}) })
  .step("first", { mutation: () => "first", compensate: undo })
  ${added}
  .sleep("rest", "1h")
  .step("last", { action: () => "last" });
${more}`,
});

const NAP = `(b) => b.sleep("nap", "1h")`;
const ADDED = {
  "an action": `.step("added", { action: () => new Promise((go) => setTimeout(go, 3_600_000)) })`,
  "an action that waits for its next attempt": `.step("added", { action: () => { throw new RetryAfter("1h"); }, retry: true })`,
  "a sleep": `.sleep("added", "1h")`,
  "an event": `.event("added", { schema: z.string(), timeout: "1h" })`,
  "an event without a timeout": `.event("added", { schema: z.string() })`,
  "a child": `.child("added", kid, () => ({}))`,
  branches: `.parallel("added", { branches: { a: ${NAP}, b: (b) => b.step("act", { action: () => 1 }).sleep("nap", "1h") } })`,
  items: `.each("added", { of: () => [1, 2], body: ${NAP} })`,
  "a race": `.race("added", { cases: { a: ${NAP}, b: ${NAP} } })`,
  "a loop": `.loop("added", { initial: () => 0, body: ${NAP}, until: () => true, maxIterations: 1 })`,
};

/** An app of the version before, and what is then deployed. */
async function deployed(after: Files) {
  const [before, later] = await released(releases, app(""), after);
  const deployment = new Deployment(before, [later]);
  const start = async (name = "flow") =>
    (await deployment.call("start", { name, input: {} })) as string;
  return { before, later, deployment, start };
}

async function endsThere(added: string): Promise<void> {
  const { before, later, deployment, start } = await deployed(app(added));
  const behind = await start();
  await deployment.wait(1_000);
  deployment.deploy(later);
  const at = await start();
  await deployment.wait(1_800_000);
  deployment.deploy(before);
  await deployment.call("steering:repair", {});
  await deployment.drive();
  const { state, error } = await deployment.see(at);
  expect({ state, error: JSON.stringify(error) }).toEqual({
    state: "failed",
    error: expect.stringMatching(/"removedNode".*no node \\"added/),
  });
  expect(await deployment.logged()).toEqual(["undone"]);
  expect(await deployment.see(behind)).toMatchObject({ state: "completed", output: "last" });
  expect(await deployment.pending()).toBe(0);
}

const SAYS =
  "[S268] an earlier version that is deployed again ends runs at what it does not have: %s";
const [first, ...others] = Object.entries(ADDED);

test.each([first!])(SAYS, async (_what, added) => await endsThere(added));

test.each(others)(SAYS, { tags: ["large"] }, async (_what, added) => await endsThere(added));

test(
  "[S268] a run of a workflow that an earlier version does not have fails within minutes",
  { tags: ["large"] },
  async () => {
    const fresh = `export const fresh = defineWorkflow({ input: z.object({}) }).sleep("nap", "1h");`;
    const { before, later, deployment, start } = await deployed(app("", fresh));
    deployment.deploy(later);
    const run = await start("fresh");
    await deployment.wait(1_800_000);
    deployment.deploy(before);
    await deployment.wait(1_800_000 + 600_000);
    expect(await deployment.see(run)).toMatchObject({ state: "failed", error: { node: "nap" } });
    await deployment.drive();
    expect(await deployment.pending()).toBe(0);
  },
);
