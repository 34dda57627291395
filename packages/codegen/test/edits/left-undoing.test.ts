import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Deployment, Releases, type Files, type Version } from "./deployed.js";

/*
 * What undoes a step is left behind when the step, its compensation or the whole workflow is gone: runs that are past it still need it.
 */

const IMPORTS = `
import { child, defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
import { internal } from "./_generated/api";
`;

const ACTS = `
import { internalActionGeneric } from "convex/server";
import { internal } from "./_generated/api";
export const log = internalActionGeneric(async (ctx, line) => { await ctx.runMutation(internal.runs.log, line); return null; });
`;

/** A compensation of each form: a handler or a reference, a mutation or an action, in place or by a name of the file. */
const UNDOES = {
  reserve: `{
    mutation: async (ctx, { output, input }) => {
      await ctx.runMutation(internal.runs.log, { text: \`\${output} for \${input.who}\` });
    },
  }`,
  charge: `{ action: refund, retry: policy }`,
  book: `{ mutation: internal.runs.log, args: ({ output, reserve }) => ({ text: says(output, reserve) }) }`,
  print: `{ action: internal.acts.log, args: ({ output, error }, { attempt }) => ({ text: says(output, error.kind, attempt) }) }`,
};
const NAMED = `
const minute = 60_000;
const policy = { maxAttempts: 2, initialBackoffMs: 10 * minute, base: 1 };
function says(...words: unknown[]) {
  return words.join(" ");
}
export const refund = async (ctx, { output, error }, { attempt }) => {
  if (attempt === 1) throw new Error("once");
  await ctx.runMutation(internal.runs.log, { text: says(output, error.kind, attempt) });
};
`;
const step = (name: string, compensate?: string) =>
  `.step("${name}", { query: () => "${name}"${compensate === undefined ? "" : `, compensate: ${compensate}`} })`;
const undone = Object.entries(UNDOES).map(([name, compensate]) => step(name, compensate));
const rest = `.sleep("nap", "1h").step("fails", { mutation: () => { throw new Error("over"); } })`;
const flow = (nodes: string, options = "", named = NAMED) =>
  `${IMPORTS}${named}export const flow = defineWorkflow({ input: z.object({ who: z.string().optional() })${options} })${nodes};`;

const releases = new Releases();
const app = (text: string): Files => ({ "flow.workflow.ts": text, "acts.ts": ACTS });

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});
afterAll(async () => {
  await releases.remove();
});

/** Has a run of one version be somewhere, and end under another. */
async function endedUnder(now: string, before: string, place = "nap", input: object = {}) {
  vi.useRealTimers();
  const then: Version = await releases.release(app(before));
  const later: Version = await releases.release(app(now), app(before));
  vi.useFakeTimers();
  const deployment = new Deployment(then);
  const id = (await deployment.call("start", { name: "flow", input })) as string;
  const isThere = async () =>
    (await deployment.rows<{ stage: string; endedAt?: number }>("steps")).some(
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

const gone = "removedNode";
const BEFORE = flow(undone.join("") + rest);

describe.each([
  ["the whole workflow", IMPORTS, { kind: gone, node: "nap" }],
  ["the nodes", flow(rest, "", ""), { kind: "thrown", message: "over" }],
  [
    "the compensations",
    flow(
      Object.keys(UNDOES)
        .map((name) => step(name))
        .join("") + rest,
      "",
      "",
    ),
    { kind: "thrown", message: "over" },
  ],
])("[S92] [S117] [S118] with %s removed", (_what, now, error) => {
  test("a run that sleeps past them is undone as its version said", async () => {
    const { seen, logged } = await endedUnder(now, BEFORE, "nap", { who: "Ada" });
    expect(seen).toMatchObject({ state: "failed", error });
    expect(seen.error).not.toHaveProperty("compensationErrors");
    expect(logged).toEqual([
      `print ${error.kind} 1`,
      "book reserve",
      `charge ${error.kind} 2`,
      "reserve for Ada",
    ]);
  });
});

const within = (reads: string, text: string) =>
  `{ mutation: async (ctx, { output, ${reads} }) => { await ctx.runMutation(internal.runs.log, { text: ${text} }); } }`;
const LOOP = `.loop("agent", {
  initial: () => 10,
  body: (b) => b.step("think", { query: (_ctx, { loop }) => loop.state + 1, compensate: ${within("loop", '[output, loop.state, loop.iteration].join(" ")')} }),
  until: ({ loop }) => loop.state > 11,
  maxIterations: 5,
})`;
const CASE = `.branch("route", { on: () => "big" as const, cases: { big: (b) =>
  b.step("made", { query: () => "made" }).step("send", { query: () => "sent", compensate: ${within("made", 'output + " " + made')} }) } })`;

test("[S92] inside a loop each pass is undone with what it has seen, inside a case with what is there, though the workflow is gone", async () => {
  const { seen, logged } = await endedUnder(IMPORTS, flow(LOOP + CASE + rest, "", ""));
  expect(seen).toMatchObject({ state: "failed", error: { kind: gone } });
  expect(logged).toEqual(["sent made", "12 11 2", "11 10 1"]);
});

test("[S92] a scope that is read whole is what it was", async () => {
  const undo = `{ mutation: async (ctx, scope) => { await ctx.runMutation(internal.runs.log, { text: Object.keys(scope).sort().join(" ") }); } }`;
  const before = flow(
    `.step("first", { query: () => 1 }).sleep("rest", 1)${step("last", undo)}${rest}`,
    "",
    "",
  );
  const { logged } = await endedUnder(flow(rest, "", ""), before);
  expect(logged).toEqual(["error first input output"]);
});

test("[S93] a completed child is undone whose workflow is gone", async () => {
  const kid = `export const kid = defineWorkflow({ input: z.object({}) })${step("grow", UNDOES.charge)};`;
  const parent = (children: string) =>
    flow(`.parent("kids", { children: () => [${children}] })${rest}`);
  const before = parent("child(kid, {})").replace("export const flow", `${kid}\nexport const flow`);
  const { seen, logged } = await endedUnder(flow(rest), before);
  expect(seen).toMatchObject({ state: "failed", error: { message: "over" } });
  expect(logged).toEqual(["grow thrown 2"]);
});

test("[S94] a compensation that is not closed is told in the error of the run; the others run", async () => {
  const before = flow(
    step("early", "{ mutation: async (ctx) => { seen.add(1); } }") + undone.join("") + rest,
    "",
    `${NAMED}const seen = new Set();`,
  );
  const { seen, logged } = await endedUnder(IMPORTS, before);
  const compensationErrors = [{ kind: gone, node: "early.compensate" }];
  expect(seen).toMatchObject({ state: "failed", error: { kind: gone, compensationErrors } });
  expect(logged).toHaveLength(4);
});

test("[S116] a step that was under way when its node was renamed and lost its compensation is undone", async () => {
  const slow = (name: string, more: string) =>
    `.step("${name}", { action: (_ctx, _scope, { attempt }) => { if (attempt === 1) throw new Error("once"); return "charged"; },
      retry: { maxAttempts: 2, initialBackoffMs: 3_600_000, base: 1 }${more} })`;
  const { seen, logged } = await endedUnder(
    flow(slow("pay", "") + rest, ', renamed: { charge: "pay" }'),
    flow(slow("charge", `, compensate: ${UNDOES.reserve}`) + rest),
    "charge",
    { who: "Ada" },
  );
  expect(seen).toMatchObject({ state: "failed", error: { message: "over" } });
  expect(seen.error).not.toHaveProperty("compensationErrors");
  expect(logged).toEqual(["charged for Ada"]);
});

test("a compensation that is under way when it is removed goes on", async () => {
  const { seen, logged } = await endedUnder(
    IMPORTS,
    flow(step("charge", UNDOES.charge) + rest),
    "charge.compensate",
  );
  expect(seen).toMatchObject({ state: "failed", error: { message: "over" } });
  expect(logged).toEqual(["charge thrown 2"]);
});
