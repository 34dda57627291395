import { expect, test } from "vitest";
import { Deployment, type Files, released, useReleases } from "./deployed.js";
import { changesOf } from "./edited.js";

/* Actions that are something else after a deploy, whatever they are at then. */

const releases = useReleases();

const flow = (node: string): Files => ({
  "steps.ts": `
import { internalQueryGeneric } from "convex/server";
export const find = internalQueryGeneric(() => "new");
`,
  "flow.workflow.ts": `
import { child, defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
import { internal } from "./_generated/api";
export const kid = defineWorkflow({ input: z.object({}) }).step("grown", { query: () => "kid" });
export const flow = defineWorkflow({ input: z.object({}) })${node}
  .step("last", { query: (_ctx, { x }) => x });`,
});

/** Its first attempt fails if it is to be tried again; the second takes a while. */
const ACTION = `action: async (_ctx, _scope, { attempt }) => {
  if (attempt === 1) throw new Error("once");
  await new Promise((resolve) => setTimeout(resolve, 5_000));
  return "old";
}, retry: { maxAttempts: 2, initialBackoffMs: 60_000, base: 1 }`;
const step = (node: string) => `.step("x", { ${node} })`;
const inLoop = (node: string) =>
  `.loop("x", { initial: () => "", body: (b) => b.step("y", { ${node} }), until: () => true, maxIterations: 2 })`;
const parent = (handler: string) =>
  `.parent("x", { ${handler}children: () => [child(kid, {})], finalize: { query: (_ctx, { children }) => children[0] } })`;
const undone = (node: string) =>
  `.step("x", { query: () => 1, compensate: { ${node} } }).step("fails", { mutation: () => { throw new Error("fails"); } })`;

const gone = `changed: runs in flight go on.*; an action that runs ends as it would, and its result counts`;

const KINDS = [
  ["a query", step(ACTION), step(`query: () => "new"`), ["completed new", "completed old"]],
  [
    "a mutation",
    step(ACTION),
    step(`mutation: () => "new", isolate: true`),
    ["completed new", "completed old"],
  ],
  [
    "a query by reference",
    step(ACTION),
    step(`query: internal.steps.find, args: () => ({})`),
    ["completed new", "completed old"],
  ],
  [
    "a query in a loop",
    inLoop(ACTION),
    inLoop(`query: () => "new"`),
    ["completed new", "completed old"],
  ],
  [
    "a handler of a parent that is a query now",
    parent(`${ACTION}, `),
    parent(`query: () => 1, `),
    ["completed kid"],
  ],
  [
    "a compensation that is a mutation now",
    undone(ACTION),
    undone(`mutation: () => null`),
    ["failed thrown"],
  ],
] as const;

async function goesOn(_what: string, before: string, now: string, ends: readonly string[]) {
  const [was, is] = [flow(before), flow(now)];
  const message = expect.stringMatching(new RegExp(`^${gone}`));
  expect(await changesOf(was, is)).toMatchObject([{ compatibility: "safe", message }]);
  const versions = await released(releases, was, is);
  const seen = new Map<number, string>();
  for (let moment = 0; moment < 12; moment++) {
    const app = new Deployment(versions[0], versions);
    const id = (await app.call("start", { name: "flow", input: {} })) as string;
    let left = moment;
    await app.drive(() => left-- <= 0);
    app.deploy(versions[1]);
    await app.drive();
    expect(await app.pending()).toBe(0);
    const { state, error, output } = await app.see(id);
    seen.set(moment, `${state} ${error?.kind ?? output}`);
  }
  expect([...new Set(seen.values())].sort()).toEqual(ends);
}

const CLAIM = "[S117] [S146] an action that is %s goes on at any moment, and check says so";
test.each(KINDS)(CLAIM, { tags: ["large"] }, goesOn);
