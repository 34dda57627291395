import { writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { mkdtemp, rm } from "../scripts/folders.mjs";
import { compile } from "../packages/codegen/src/compile.js";
import { explain, type WorkflowExplained } from "../packages/codegen/src/explain/explain.js";
import { Deployment, Releases, type Version } from "./edits/deployed.js";

/** Runs each of these, and compares what is counted with what `explain` says of it. */
const workflows: Readonly<Record<string, string>> = {
  action: `.step("a", { action: () => 1 })`,
  actions: `.step("a", { action: () => 1 }).step("b", { action: () => 1 }).step("c", { action: () => 1 })`,
  referenced: `.step("a", { action: internal.acts.act, args: () => ({}) })`,
  mutation: `.step("a", { mutation: () => 1 })`,
  mutationAndQuery: `.step("a", { mutation: () => 1 }).step("b", { query: () => 1 })`,
  manyFused: repeated(45, (n) => `.step("s${n}", { mutation: () => 1 })`),
  fusedAfterAction: `.step("a", { action: () => 1 })${repeated(30, (n) => `.step("s${n}", { query: () => 1 })`)}`,
  isolated: `.step("a", { mutation: () => 1 }).step("b", { mutation: () => 1, isolate: true }).step("c", { mutation: () => 1 })`,
  isolatedFirst: `.step("a", { mutation: () => 1, isolate: true }).step("b", { mutation: () => 1, isolate: true })`,
  isolatedByConst: `.step("a", { action: () => 1 }).step("b", { mutation: () => 1, isolate: ALONE })`,
  isolatedThenAction: `.step("a", { mutation: () => 1, isolate: true }).step("b", { action: () => 1 })`,
  asleep: `.sleep("a", "1h")`,
  asleepBetween: `.step("a", { action: () => 1 }).sleep("b", "1h").step("c", { mutation: () => 1, isolate: true })`,
  waiting: `.event("e", { schema: z.string() })`,
  branched: `.step("i", { mutation: () => 1, isolate: true }).branch("r", { on: () => "x" as const, cases: { x: (b) => b.step("m", { mutation: () => 1 }).step("a", { action: () => 1 }) } })`,
  looped: `.loop("r", { initial: () => 0, ${body('.step("m", { mutation: () => 1 })')} })`,
  loopedActions: `.loop("r", { initial: () => 0, ${body('.step("a", { action: () => 1 })')} })`,
  loopedIsolated: `.loop("r", { initial: () => 0, ${body('.step("m", { mutation: () => 1, isolate: true }).step("q", { query: () => 1 })')} })`,
  loopedAfterIsolated: `.step("i", { mutation: () => 1, isolate: true }).loop("r", { initial: () => 0, ${body('.step("m", { mutation: () => 1 })')} })`,
  loopedLong: `.loop("r", { initial: () => 0, ${body('.step("a", { action: () => 1 })', 350)} })`,
  loopInLoop: `.loop("r", { initial: () => 0, ${body(`.loop("s", { initial: () => 0, ${body('.step("a", { action: () => 1 })')} })`)} })`,
  oneChild: `.child("c", mutation, () => ({}))`,
  oneChildAfter: `.step("a", { action: () => 1 }).child("c", action, () => ({})).step("b", { mutation: () => 1, isolate: true })`,
  noChildren: `.parent("p", { children: () => ${list(0, "action")} })`,
  twentyMutations: children("mutation"),
  twentyActions: children("action"),
  takingTurns: children("action", ", concurrency: 5"),
  twentyAsleep: children("asleep"),
  summed: children("mutation", ", reduce: { initial: 0, step: (sum: number) => sum + 1 }"),
  timed: `.parent("p", { timeout: "1h", action: () => 1, children: () => [child(action, {})] })`,
  whole: `.parent("p", { action: () => 1, children: () => ${list(5, "action")}, finalize: { action: () => 1 } })`,
  branches: `.parallel("p", { branches: { a: (b) => b.step("x", { action: () => 1 }), c: (b) => b.step("y", { query: () => 1 }).step("z", { action: () => 1 }) } })`,
  branchesAfter: `.step("a", { action: () => 1 }).parallel("p", { branches: { q: (b) => b.step("x", { query: () => 1 }), w: (b) => b.sleep("s", 5) } }).step("m", { mutation: () => 1 })`,
  fusedBranches: `.parallel("p", { branches: { q: (b) => b.step("x", { query: () => 1 }), r: (b) => b.step("y", { mutation: () => 1 }) } }).parallel("o", { branches: { q: (b) => b.step("z", { query: () => 1 }) } })`,
  fusedInBranches: `.step("a", { action: () => 1 }).parallel("p", { branches: { q: (b) => b.parallel("o", { branches: { r: (c) => c.step("x", { query: () => 1 }), s: (c) => c.step("y", { query: () => 1 }) } }) } })`,
  isolatedBranches: `.step("a", { action: () => 1 }).parallel("p", { branches: { q: (b) => b.step("x", { query: () => 1, isolate: true }), r: (b) => b.step("y", { query: () => 1 }) } })`,
  noItems: `.each("p", { of: () => ${items(0)}, body: (b) => b.step("x", { action: () => 1 }) })`,
  items: `.each("p", { of: () => ${items(20)}, body: (b) => b.step("x", { action: () => 1 }).step("y", { query: () => 1 }) })`,
  itemsInBranches: `.parallel("p", { branches: { a: (b) => b.each("e", { of: () => ${items(4)}, body: (i) => i.step("x", { action: () => 1 }) }) } })`,
  deep: `.parent("p", { children: () => ${list(3, "whole")}, finalize: { query: () => 1 } })`,
};

/** How many children the parents start, or how many items there are. A .child starts one. */
const counts: Readonly<Record<string, number>> = {
  noChildren: 0,
  twentyMutations: 20,
  twentyActions: 20,
  takingTurns: 20,
  twentyAsleep: 20,
  summed: 20,
  noItems: 0,
  items: 20,
  itemsInBranches: 4,
  whole: 5,
  deep: 3,
};

function repeated(count: number, text: (n: number) => string): string {
  return Array.from({ length: count }, (_none, n) => text(n)).join("");
}
function body(nodes: string, iterations = 6): string {
  return `body: (b) => b${nodes}, until: ({ loop }) => loop.iteration >= ${iterations}, maxIterations: ${iterations}`;
}
function list(length: number, of: string): string {
  return `Array.from({ length: ${length} }, () => child(${of}, {}))`;
}
function items(length: number): string {
  return `Array.from({ length: ${length} }, () => 0)`;
}
function children(of: string, options = ""): string {
  return `.parent("p", { children: () => ${list(20, of)}${options} })`;
}

const DEFINITIONS = `
import { child, defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
import { internal } from "./_generated/api";
const ALONE = true;
${Object.entries(workflows)
  .map(([name, nodes]) => `export const ${name} = defineWorkflow({ input: z.object({}) })${nodes};`)
  .join("\n")}
export const undone = defineWorkflow({ input: z.object({}) })
  .step("a", { mutation: () => 1, compensate: { mutation: () => null } })
  .step("b", { mutation: () => 1, compensate: { action: () => null } })
  .step("fails", { action: () => { throw new Error("not today"); } });
`;

const ACTS = `import { internalActionGeneric } from "convex/server";
export const act = internalActionGeneric(async () => 1);`;

const releases = new Releases();
let version: Version;
let explained: ReadonlyMap<string, WorkflowExplained>;

beforeAll(async () => {
  version = await releases.release({ "flow.workflow.ts": DEFINITIONS, "acts.ts": ACTS });
  const folder = await mkdtemp(join(tmpdir(), "stepwise-explain-"));
  await writeFile(join(folder, "flow.workflow.ts"), DEFINITIONS);
  const { plan } = await compile({ functionsDir: folder });
  explained = new Map(explain(plan).map((each) => [each.name, each]));
  await rm(folder, { recursive: true });
});
afterEach(() => {
  vi.useRealTimers();
});
afterAll(async () => {
  await releases.remove();
});

function of(name: string): WorkflowExplained {
  const found = explained.get(name);
  if (found === undefined) throw new Error(`${name} is not explained`);
  return found;
}

/** What a run costs by what is explained of it, with all that runs below it. */
function told(name: string, what: "rootExecutions" | "transactions" = "rootExecutions"): number {
  const { [what]: own, perChild } = of(name);
  const below = perChild.map(({ workflow, isItem, [what]: each }) => {
    if (isItem === true) return (counts[name] ?? 1) * (each ?? Infinity);
    if (workflow === undefined) throw new Error(`The children of ${name} are not known`);
    return (counts[name] ?? 1) * told(workflow, what);
  });
  return below.reduce((total, each) => total + each, own);
}

/**
 * What is counted of a run from after its start, but for the watchdog, which is not the run's, and
 * for the app's own calls.
 */
async function counted(
  name: string,
): Promise<{ executions: number; transactions: number; state: string }> {
  vi.useFakeTimers();
  const app = new Deployment(version);
  const runId = (await app.call("start", { name, input: {} })) as string;
  await app.drive();
  if ((await app.see(runId)).active.some(({ node }) => node === "e"))
    await app.call("send", { name, runId, event: "e", value: "now" });
  await app.drive();
  const calls = app.counter.calls.filter(
    (call) =>
      call.how !== "nested" &&
      !call.name.startsWith("watchdog:") &&
      !["runs:start", "runs:send"].includes(call.name),
  );
  expect(app.violations).toEqual([]);
  const transactions = calls.filter(({ type }) => type === "mutation").length;
  return { executions: calls.length, transactions, state: (await app.see(runId)).state };
}

describe("a run costs what explain says, and never more", () => {
  // What is fused is told as its share of a transaction, which may not be full.
  test.each(Object.keys(workflows))("%s", { tags: ["large"] }, async (name) => {
    const { executions, transactions, state } = await counted(name);
    expect(state).toBe("completed");
    expect(told(name)).toBeGreaterThanOrEqual(executions);
    expect(told(name)).toBeLessThanOrEqual(executions * 1.05 + 1);
    expect(told(name, "transactions")).toBeGreaterThanOrEqual(transactions);
    expect(told(name, "transactions")).toBeLessThanOrEqual(transactions * 1.05 + 1);
  });

  test("a compensation, which is in no sum, costs what is said of it", async () => {
    const { executions, state } = await counted("undone");
    expect(state).toBe("failed");
    const { rootExecutions, nodes } = of("undone");
    const undoing = nodes
      .flatMap(({ stages }) => stages)
      .filter(({ isCompensation }) => isCompensation === true);
    expect(undoing.map((stage) => stage.rootExecutions)).toEqual([1, 3]);
    const all = undoing.reduce((total, stage) => total + stage.rootExecutions, rootExecutions);
    expect(all).toBeGreaterThanOrEqual(executions);
    expect(all).toBeLessThanOrEqual(executions + 1);
  });
});
