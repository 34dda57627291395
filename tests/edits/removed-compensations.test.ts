import { expect, test } from "vitest";
import { Deployment, type Files, released, useReleases } from "./deployed.js";

/*
 * A compensation that is removed, alone, with its step or with its workflow, no longer runs. The
 * run says so, and the others run.
 */

const IMPORTS = `
import { defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
import { internal } from "./_generated/api";
`;

const undo = (text: string) =>
  `, compensate: { mutation: async (ctx) => { await ctx.runMutation(internal.runs.log, { text: "${text}" }); } }`;
const slowly =
  ", compensate: { action: async () => { throw new Error('not yet'); }, retry: { maxAttempts: 9, initialBackoffMs: 3_600_000, base: 1 } }";
const step = (name: string, more = "") => `.step("${name}", { query: () => "${name}"${more} })`;
const rest = `.sleep("nap", "1h").step("fails", { mutation: () => { throw new Error("over"); } })`;
const flow = (nodes: string) =>
  `${IMPORTS}export const flow = defineWorkflow({ input: z.object({}) })${nodes};`;

const releases = useReleases();
const app = (text: string): Files => ({ "flow.workflow.ts": text });

/** Has a run of one version be somewhere, and end under another. */
async function endedUnder(now: string, before: string, place = "nap") {
  const [then, later] = await released(releases, app(before), app(now));
  const deployment = new Deployment(then);
  const id = (await deployment.call("start", { name: "flow", input: {} })) as string;
  const isThere = async () =>
    (await deployment.rows("steps")).some(
      ({ stage, endedAt }) => stage === place && endedAt === undefined,
    );
  await deployment.drive(isThere);
  expect(await isThere()).toBe(true);
  deployment.deploy(later);
  await deployment.drive();
  const seen = await deployment.see(id);
  expect(seen.active).toEqual([]);
  expect(await deployment.pending()).toBe(0);
  expect(deployment.violations).toEqual([]);
  return { seen, logged: await deployment.logged() };
}

const early = step("early", undo("early"));
const before = flow(early + step("charge", undo("charge")) + step("late", undo("late")) + rest);
const removed = (stage: string) => ({ kind: "removedNode", node: `${stage}.compensate` });

test.each([
  ["a compensation", early + step("charge") + step("late", undo("late")) + rest],
  ["a step with its compensation", early + step("late", undo("late")) + rest],
  [
    "a step whose name is another node's now",
    `${early}.sleep("charge", 1)${step("late", undo("late"))}${rest}`,
  ],
])(
  "[S117] with %s removed, the run names it, and the others are undone",
  { tags: ["large"] },
  async (_what, now) => {
    const { seen, logged } = await endedUnder(flow(now), before);
    expect(seen).toMatchObject({
      state: "failed",
      error: { message: "over", compensationErrors: [removed("charge")] },
    });
    expect(logged).toEqual(["late", "early"]);
  },
);

test(
  "[S117] [S118] with the workflow removed, its runs name every compensation that did not run",
  { tags: ["large"] },
  async () => {
    const { seen, logged } = await endedUnder(IMPORTS, before);
    const compensationErrors = ["late", "charge", "early"].map(removed);
    expect(seen).toMatchObject({
      state: "failed",
      error: { kind: "removedNode", node: "nap", compensationErrors },
    });
    expect(logged).toEqual([]);
  },
);

test.each([
  ["alone", flow(early + step("charge") + rest)],
  ["with its step", flow(early + rest)],
  ["with its workflow", IMPORTS],
])(
  "[S117] a compensation that is under way when it is removed, %s, ends and is named",
  { tags: ["large"] },
  async (_how, now) => {
    const slow = flow(early + step("charge", slowly) + rest);
    const { seen } = await endedUnder(now, slow, "charge.compensate");
    const named = expect.arrayContaining([expect.objectContaining(removed("charge"))]);
    expect(seen).toMatchObject({ state: "failed", error: { compensationErrors: named } });
  },
);

test(
  "[S117] of a run that is restarted, a compensation that was removed meanwhile is named as well",
  { tags: ["large"] },
  async () => {
    const last = (works: string) => `.step("last", { mutation: () => { ${works} } })`;
    const early = step("early", undo("early"));
    const then = flow(early + step("charge", undo("charge")) + last("return 1;"));
    const now = flow(early + last(`throw new Error("over");`));
    const [first, second] = await released(releases, app(then), app(now));
    const deployment = new Deployment(first);
    const runId = (await deployment.call("start", { name: "flow", input: {} })) as string;
    await deployment.drive();
    expect(await deployment.see(runId)).toMatchObject({ state: "completed" });
    deployment.deploy(second);
    await deployment.call("restart", { name: "flow", runId, from: "last" });
    await deployment.drive();
    expect(await deployment.see(runId)).toMatchObject({
      state: "failed",
      error: { message: "over", compensationErrors: [removed("charge")] },
    });
    expect(await deployment.logged()).toEqual(["early"]);
  },
);
