import { describe, expect, test, vi } from "vitest";
import { Deployment, type Version, useReleases } from "./deployed.js";

/*
 * An inline mutation or query leaves no function behind when it is removed: what it was is only
 * ever called in the transaction that arrives at it, and a run that goes on at one in a later
 * transaction is entered by `entry`, which tells that there is no such stage.
 */

const logged = (text: string) =>
  `async (ctx) => { await ctx.runMutation(internal.runs.log, { text: "${text}" }); return "${text}"; }`;
const first = `.step("first", { query: () => "first", compensate: { mutation: ${logged("first undone")} } })`;
const nap = `.sleep("nap", "1h")`;
const last = `.finalize({ query: (_ctx, { first }) => first })`;

/** So many fused steps that the one after them is in a transaction of its own. */
const twenty = Array.from(
  { length: 20 },
  (_, n) => `.step("fill${n}", { query: () => ${n} })`,
).join("");

function definition(nodes: string, options = ""): string {
  return `
import { defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
import { internal } from "./_generated/api";
export const flow = defineWorkflow({ input: z.object({})${options} })${nodes};
`;
}

/**
 * Each a way to come to a stage in a transaction of its own, with the stage, and the same without
 * it.
 */
const PLACES = {
  "a mutation with isolate": {
    stage: "save",
    node: `.step("save", { mutation: ${logged("saved")}, isolate: true })`,
    without: "",
  },
  "a query with isolate": {
    stage: "look",
    node: `.step("look", { query: () => "seen", isolate: true })`,
    without: "",
  },
  "a mutation after more steps than are fused": {
    stage: "save",
    node: `${twenty}.step("save", { mutation: ${logged("saved")} })`,
    without: twenty,
  },
  "a mutation with isolate inside a loop": {
    stage: "again.save",
    node: `.loop("again", { initial: () => 0, body: (b) => b.step("save", { mutation: ${logged("saved")}, isolate: true }).step("more", { query: () => 1 }), until: () => true, maxIterations: 3 })`,
    without: `.loop("again", { initial: () => 0, body: (b) => b.step("more", { query: () => 1 }), until: () => true, maxIterations: 3 })`,
  },
  "a mutation with isolate inside a case": {
    stage: "choose.left.save",
    node: `.branch("choose", { on: () => "left" as const, cases: { left: (b) => b.step("save", { mutation: ${logged("saved")}, isolate: true }) } })`,
    without: `.branch("choose", { on: () => "left" as const, cases: { left: (b) => b } })`,
  },
} as const;

const releases = useReleases();
const versions = new Map<string, Promise<Version>>();
function version(nodes: string, before = nodes, options = ""): Promise<Version> {
  const files = { "flow.workflow.ts": definition(nodes, options) };
  const then = before === nodes ? files : { "flow.workflow.ts": definition(before) };
  const key = [before, nodes, options].join("\n");
  const made = versions.get(key) ?? releases.release(files, then);
  versions.set(key, made);
  return made;
}

/**
 * Starts a run, lets it go until it is at a stage, and lets the rest of it go on with another
 * version.
 */
async function replacedAt(stage: string | null, before: string, now: string, options = "") {
  vi.useRealTimers();
  const [then, later] = [await version(before), await version(now, before, options)];
  vi.useFakeTimers();
  const app = new Deployment(then);
  const id = (await app.call("start", { name: "flow", input: {} })) as string;
  const isThere = async () => (await app.see(id)).active.some(({ node }) => node === stage);
  if (stage !== null) await app.drive(isThere);
  expect(stage === null || (await isThere())).toBe(true);
  app.deploy(later);
  await app.drive();
  return { seen: await app.see(id), app };
}

describe.each(Object.entries(PLACES))("%s that was removed", (_what, { stage, node, without }) => {
  const before = first + nap + node + last;
  const now = first + nap + without + last;

  test("[S117] ends a run that is at it, which is undone", { tags: ["large"] }, async () => {
    const { seen, app } = await replacedAt(stage, before, now);
    expect(seen).toMatchObject({ state: "failed", error: { kind: "removedNode", node: stage } });
    expect(await app.logged()).toEqual(["first undone"]);
    expect(seen.active).toEqual([]);
    expect(await app.pending()).toBe(0);
    expect(app.violations).toEqual([]);
  });

  test("[S115] is left out by a run that sleeps just before it", { tags: ["large"] }, async () => {
    const { seen, app } = await replacedAt("nap", before, now);
    expect(seen).toMatchObject({ state: "completed", output: "first" });
    expect(await app.logged()).toEqual([]);
    expect(await app.pending()).toBe(0);
  });
});

test.each([
  ["with isolate", ", isolate: true"],
  ["without isolate", ""],
])(
  "[S117] a first mutation that was removed, %s, ends a run that has just been started",
  { tags: ["large"] },
  async (_what, isolate) => {
    const save = `.step("save", { mutation: ${logged("saved")}${isolate} })`;
    const { seen, app } = await replacedAt(null, save + first + last, first + last);
    expect(seen).toMatchObject({ state: "failed", error: { kind: "removedNode", node: "save" } });
    expect(await app.logged()).toEqual([]);
    expect(seen.active).toEqual([]);
    expect(await app.pending()).toBe(0);
  },
);

test(
  "[S116] a mutation with isolate that was renamed, with the mapping, is run by a run that is at it",
  { tags: ["large"] },
  async () => {
    const { stage, node } = PLACES["a mutation with isolate"];
    const renamed = first + nap + node.replace('"save"', '"keep"') + last;
    const { seen, app } = await replacedAt(
      stage,
      first + nap + node + last,
      renamed,
      ', renamed: { save: "keep" }',
    );
    expect(seen).toMatchObject({ state: "completed", output: "first" });
    expect(await app.logged()).toEqual(["saved"]);
    expect(await app.pending()).toBe(0);
  },
);
