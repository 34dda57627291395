/** @module-tag large */
import { cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { WorkflowExplained } from "../../src/explain/explain.js";
import { fixtures } from "../golden.js";
import { app, useApp, workflowCodegen } from "./command.js";

useApp();

const use = (feature: string) =>
  cp(join(fixtures, feature, "convex"), join(app(), "convex"), { recursive: true });

/** What is explained of a workflow with these nodes. */
async function explained(nodes: string, options = ""): Promise<WorkflowExplained> {
  await mkdir(join(app(), "convex"));
  const text = `import { child, defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
import { internal } from "./_generated/api";
const computed = Math.random();
export const leaf = defineWorkflow({ input: z.object({}) }).step("only", { action: () => 1 });
export const brief = defineWorkflow({ input: z.object({}) }).sleep("s", 10);
export const waiting = defineWorkflow({ input: z.object({}) }).event("e", { schema: z.any() });
export const parting = defineWorkflow({ input: z.object({}) }).parent("again", { children: () => [child(flow, {})] });
export const ended = defineWorkflow({ input: z.object({}), timeout: 5000 }).child("c", waiting, () => ({}));
export const flow = defineWorkflow({ input: z.object({}), ${options} })${nodes};`;
  await writeFile(join(app(), "convex/flow.workflow.ts"), text);
  const [flow] = JSON.parse((await workflowCodegen("explain", "flow", "--json")).out);
  return flow;
}

test.each<[what: string, node: string, executions: number]>([
  ["an inline action", '.step("a", { action: () => 1 })', 2],
  ["a referenced action", '.step("a", { action: internal.x.y, args: () => ({}) })', 3],
  ["a fused mutation", '.step("a", { mutation: () => 1 })', 0.05],
  ["a referenced query", '.step("a", { query: internal.x.y, args: () => ({}) })', 0.05],
  ["a mutation with isolate", '.step("a", { mutation: () => 1, isolate: true })', 1],
  ["a parent without functions", '.parent("a", { children: () => [child(leaf, {})] })', 1],
  [
    "a parent with a handler and a finalize",
    '.parent("a", { action: () => 1, children: () => [child(leaf, {})], finalize: { query: () => 1 } })',
    3.05,
  ],
])(
  "%s after an action costs no more root executions than docs/design.md says",
  async (_what, node, executions) => {
    const { nodes, rootExecutions } = await explained(`.step("first", { action: () => 1 })${node}`);
    expect(nodes[1]?.rootExecutions).toBe(executions);
    expect(rootExecutions).toBe(2 + executions);
  },
);

test.each<[what: string, node: string, executions: number]>([
  ["an action, which is scheduled directly", '.step("a", { action: () => 1 })', 2],
  ["a mutation", '.step("a", { mutation: () => 1 })', 1],
  ["a mutation with isolate", '.step("a", { mutation: () => 1, isolate: true })', 1],
  ["a sleep", '.sleep("a", 5)', 2],
  ["an event", '.event("a", { schema: z.any() })', 1],
  ["a child", '.child("a", leaf, () => ({}))', 2],
  ["a parent", '.parent("a", { children: () => [child(leaf, {})] })', 2],
  [
    "a parent that has a timeout before its handler",
    '.parent("a", { timeout: 5, action: () => 1, children: () => [child(leaf, {})] })',
    4,
  ],
])("a run that begins with %s", async (_what, node, executions) => {
  expect((await explained(node)).rootExecutions).toBe(executions);
});

test("a run costs the sum of its nodes, and each child its own run", async () => {
  const flow = await explained(
    '.step("a", { action: () => 1 }).step("b", { mutation: () => 1 }).step("c", { query: () => 1 }).step("d", { query: () => 1 }).parent("p", { children: () => [child(leaf, {})] })',
  );
  expect(flow.rootExecutions).toBe(3.15);
  expect(flow.perChild).toEqual([
    { node: "p", workflow: "leaf", rootExecutions: 2, transactions: 1 },
  ]);
});

test("[S160] a run costs all its branches, and each item its own run", async () => {
  const one = (name: string) => `(b) => b.step("${name}", { action: () => 1, timeout: "1m" })`;
  const flow = await explained(
    `.parallel("p", { branches: { a: ${one("x")}, c: ${one("y")} } }).each("e", { of: () => [1, 2], body: ${one("z")} })`,
  );
  expect(flow).toMatchObject({ rootExecutions: 7, isAtMost: false, worstCaseMs: 120_000 });
  expect(flow.perChild).toEqual([{ node: "e", rootExecutions: 2, transactions: 1, isItem: true }]);
});

const raced = (name: string) => `${name}: (b) => b.step("x", { action: () => 1, timeout: "1m" })`;
const awaits = `e: (b) => b.event("v", { schema: z.string() })`;
test.each([
  ["the longest of its cases", [raced("a"), raced("c")], "", 60_000],
  ["no end of a case that has none", [raced("a"), awaits], "", null],
  ["one that only waits, as that ends well", [awaits, `w: (b) => b.sleep("s", "2m")`], "", 120_000],
  ["the shortest, with `any`", [raced("a"), awaits], `, first: "any"`, 60_000],
])(
  "[S168] a race costs at most all its cases, and takes %s",
  async (_what, cases, options, worst) => {
    const flow = await explained(`.race("r", { cases: { ${cases.join(", ")} }${options} })`);
    expect(flow).toMatchObject({ isAtMost: true, worstCaseMs: worst });
  },
);

test("[S160] for people, branches and items are told apart from cases", async () => {
  await use("concurrent");
  const { out } = await workflowCodegen("explain", "listing");
  const runs = new Map(
    out.split("\n").map((line) => line.trim().split(/ {2,}/, 2) as [string, string]),
  );
  expect([runs.get("facts"), runs.get("facts.still image.thumb"), runs.get("subtitles")]).toEqual([
    "parallel, all of 3",
    "mutation",
    "each, for each item",
  ]);
  expect(out).toContain(
    "1 for each words of subtitles.length, and 3 for each item of subtitles, and 1 for each item of rounds.votes; no worst case: no fixed limit for the items of subtitles.",
  );
});

test("[S220] of a one is told what becomes of other runs with the key", async () => {
  await use("one");
  const { out } = await workflowCodegen("explain", "sync");
  expect(out).toMatch(
    /One run of each key goes on at a time; another one meanwhile: cancelOld\.$/m,
  );
});

test("[S204] of a collect is told when its runs begin", async () => {
  await use("collect");
  const { out } = await workflowCodegen("explain");
  expect(out).toContain(
    "(last): a run begins after 30s without one, at most 10 times as long after",
  );
  expect(out).toContain(
    "(all): a run begins after 1 m without one, at most 1m after the first, or",
  );
});

test("of a time that only the code knows is told that it is computed", async () => {
  const key = "key: () => 'a'";
  const collect = `collect: { ${key}, quiet: computed, keep: "last" }`;
  await explained('.step("a", { action: () => 1 })', `priority: () => 5, ${collect}`);
  const { out } = await workflowCodegen("explain", "flow");
  expect(out).toMatch(/wait as if they had come earlier: by a time that is computed\.$/m);
  expect(out).toContain("a run begins after a time that is computed without one, at most");
});

test("of limits is told what they let through at most, and that no sum has the wait for them", async () => {
  await use("limits");
  const { out } = await workflowCodegen("explain", "answer");
  const tenant = "within limit tenant (3 at once for each key)";
  expect(out).toMatch(/^ +found +action, within limit tenant \(3 at once for each key\)  /m);
  expect(out).toContain(
    `action, ${tenant}, within limit exports (5 at once, at most 100 waiting), within limit api (25 at once, 500 per 1m, 50 of them at once), within limit both (9 at once, 1 at once for each key), waits at most 10 m`,
  );
  expect(out).toMatch(/, without the time that it waits for limits\.$/m);
  const free = await workflowCodegen("explain", "free");
  expect(free.out).not.toContain("limits");
  const { out: json } = await workflowCodegen("explain", "answer", "--json");
  expect(JSON.parse(json)[0].nodes[0].stages[0].limits).toEqual([{ name: "tenant", perKey: 3 }]);
});

const half = 30 * 60_000;
test.each<
  [what: string, policy: string, options: string, attempts: number | null, worst: number | null]
>([
  ["nothing said", "", "", 1, half],
  ["a timeout", ', timeout: "30s"', "", 1, 30_000],
  [
    "a timeout and retry",
    ", timeout: 1000, retry: { maxAttempts: 3, initialBackoffMs: 100, base: 2 }",
    "",
    3,
    3000 + 150 + 300,
  ],
  [
    "a greatest backoff",
    ", timeout: 0, retry: { maxAttempts: 4, initialBackoffMs: 100, base: 10, maxBackoffMs: 200 }",
    "",
    4,
    150 + 200 + 200,
  ],
  ["the usual retry", ", timeout: 0, retry: true", "", 5, (250 + 500 + 1000 + 2000) * 1.5],
  [
    "the retry of the workflow",
    ", timeout: 0",
    "retry: { maxAttempts: 2, initialBackoffMs: 100, base: 1 }",
    2,
    150,
  ],
  ["its own retry before that of the workflow", ", timeout: 0, retry: false", "retry: true", 1, 0],
  ["a computed retry", ", retry: computed", "", null, null],
  ["a computed retry of the workflow", "", "retry: computed", null, null],
  ["a computed timeout", ", timeout: computed", "", 1, null],
])(
  "an action with %s: its attempts, and its worst case",
  async (_what, policy, options, attempts, worst) => {
    const { nodes, worstCaseMs } = await explained(
      `.step("a", { action: () => 1${policy} })`,
      options,
    );
    expect(nodes[0]?.stages[0]).toMatchObject({ attempts, worstCaseMs: worst });
    expect(worstCaseMs).toBe(worst);
  },
);

test("a finalize of a parent is run by its own settings", async () => {
  const { nodes } = await explained(
    '.parent("p", { action: () => 1, timeout: "1m", children: () => [child(leaf, {})], finalize: { action: () => 1, timeout: "2s", retry: true } })',
  );
  expect(nodes[0]?.stages).toMatchObject([
    { name: "p.output", attempts: 1, worstCaseMs: half },
    { name: "p", worstCaseMs: 60_000 },
    { name: "p.finalize", attempts: 5, timeoutMs: 2_000 },
  ]);
});

test("[S40] the timeout of a parent covers its handler, its children and its finalize", async () => {
  const { nodes, worstCaseMs } = await explained(
    '.parent("p", { action: () => 1, timeout: "1m", children: () => [child(leaf, {})], finalize: { action: () => 1 } })',
  );
  expect(nodes[0]?.worstCaseMs).toBe(60_000);
  expect(worstCaseMs).toBe(60_000);
});

test("[S130] the timeout of a loop covers all its iterations", async () => {
  const { nodes, worstCaseMs } = await explained(
    '.loop("l", { initial: () => 0, body: (b) => b.step("s", { action: () => 1, timeout: "1m" }), until: () => true, maxIterations: 100, timeout: "1h" })',
  );
  expect(nodes[0]?.worstCaseMs).toBe(3_600_000);
  expect(worstCaseMs).toBe(3_600_000);
});

const leaves = "child(leaf, {}), child(brief, {})";

const steps = (count: number) =>
  Array.from(
    { length: count },
    (_, n) => `.step("s${n}", { action: () => 1, timeout: "1m" })`,
  ).join("");

test.each<[what: string, node: string, executions: number, worst: number | null]>([
  ["a sleep", '.sleep("a", "1h")', 2, 3_600_000],
  ["a time of day", '.sleep("a", { at: "02:30", zone: "UTC" })', 2, 25 * 3_600_000],
  ["a computed sleep", '.sleep("a", () => 5)', 2, null],
  ["an event", '.event("a", { schema: z.any() })', 1, null],
  ["an event with a timeout", '.event("a", { schema: z.any(), timeout: "1d" })', 1, 86_400_000],
  ["a child: its own run", '.child("a", leaf, () => ({}))', 2, half],
  ["children: the longest", `.parent("a", { children: () => [${leaves}] })`, 2, half],
  [
    "children that may end before their time: no more than the timeout",
    `.parent("a", { timeout: "1m", children: () => [${leaves}] })`,
    2,
    60_000,
  ],
  [
    "children of a computed timeout: the longest",
    `.parent("a", { timeout: computed, children: () => [${leaves}] })`,
    2,
    half,
  ],
  [
    "children that take turns",
    `.parent("a", { children: () => [${leaves}], concurrency: 2 })`,
    2,
    null,
  ],
  [
    "children of which one may be of any workflow",
    `.parent("a", { children: () => [${leaves}, child(any(), {})] })`,
    2,
    null,
  ],
  ["a child that waits for an event", '.child("a", waiting, () => ({}))', 2, null],
  ["a child that is its ancestor", '.child("a", parting, () => ({}))', 2, null],
  ["a child that ends by its timeout, whatever it runs", '.child("a", ended, () => ({}))', 2, 5000],
  [
    "a branch: its most expensive case",
    `.branch("a", { on: () => f(), cases: { x: (b) => b${steps(2)}, y: (b) => b, z: (b) => b${steps(1)} } })`,
    5.05,
    120_000,
  ],
  [
    "a loop: all its iterations",
    `.loop("a", { initial: () => 1, body: (b) => b${steps(2)}, until: () => true, maxIterations: 10 })`,
    41.5,
    20 * 60_000,
  ],
  [
    "a loop in a loop: all iterations of both",
    `.loop("a", { initial: () => 1, maxIterations: 10, until: () => true, body: (b) =>
      b.loop("c", { initial: () => 1, body: (d) => d${steps(1)}, until: () => true, maxIterations: 3 }) })`
      .replace("maxIterations: 10, until: () => true, body: (b)", "body: (b)")
      .replace(/ \}\)$/, ", until: () => true, maxIterations: 10 })"),
    63,
    30 * 60_000,
  ],
  [
    "a loop of which the iterations are computed: one iteration",
    `.loop("a", { initial: () => 1, body: (b) => b${steps(1)}, until: () => true, maxIterations: computed })`,
    3.05,
    null,
  ],
  [
    "a step with a compensation",
    '.step("a", { mutation: () => 1, compensate: { action: () => 1 } })',
    1,
    1_000,
  ],
])("%s costs and takes at most", async (_what, node, executions, worst) => {
  const { rootExecutions, worstCaseMs } = await explained(node);
  expect({ rootExecutions, worstCaseMs }).toEqual({
    rootExecutions: executions,
    worstCaseMs: worst,
  });
});

const minute = '.step("s", { action: () => 1, timeout: "1m" })';
const minutes = (max: string, more = "") =>
  `.loop("l", { initial: () => 0, body: (b) => b${minute}, until: () => true, maxIterations: ${max}${more} })`;
const branch = (cases: string) => `.branch("b", { on: () => f(), cases: { ${cases} } })`;

test.each<[what: string, nodes: string, worst: number | null]>([
  ["a loop", minutes("5"), 300_000],
  ["a loop with a timeout", minutes("5", ', timeout: "2m"'), 120_000],
  ["a loop whose iterations are computed", minutes("computed"), null],
  [
    "a branch: its longest case",
    branch(`x: (b) => b${minute}.sleep("t", "1m"), y: (b) => b`),
    120_000,
  ],
  [
    "a branch one of whose cases is open",
    branch('x: (b) => b.event("e", { schema: z.any() })'),
    null,
  ],
  ["a branch with a loop inside", branch(`x: (b) => b${minutes("3")}, y: (b) => b`), 180_000],
])("the stage of %s takes at worst what is inside it takes", async (_what, nodes, worst) => {
  const {
    nodes: [node],
  } = await explained(nodes);
  expect(node).toMatchObject({ worstCaseMs: worst, stages: [{ worstCaseMs: worst }] });
});

test("[S41] the timeout of a workflow is its worst case, whatever is in it", async () => {
  const flow = await explained('.event("a", { schema: z.any() })', 'timeout: "1h"');
  expect(flow).toMatchObject({ worstCaseMs: 3_600_000, openEnded: [] });
});

test("what takes less than the timeout of its workflow takes less", async () => {
  const { worstCaseMs } = await explained('.sleep("a", "1m")', 'timeout: "1h"');
  expect(worstCaseMs).toBe(60_000);
});

test("a run that starts runs below it takes as long as they do, however deep, and no longer than its timeout", async () => {
  await mkdir(join(app(), "convex"));
  const definition = (name: string, nodes: string, options = "") =>
    `export const ${name} = defineWorkflow({ input: z.object({})${options} })${nodes};`;
  const text = [
    'import { child, childNamed, defineWorkflow } from "@stepwise/workflow";',
    'import { z } from "zod";',
    // In the plan, which is sorted, each stands before what it depends on.
    definition(
      "b",
      '.parent("c", { children: () => [child(c, {}), child(d, {})] }).sleep("s", 10)',
    ),
    definition("a", '.child("b", b, () => ({})).sleep("s", 1)'),
    definition("c", '.sleep("s", 100)'),
    definition("d", '.child("c", c, () => ({})).child("again", c, () => ({}))'),
    definition("itself", '.parent("p", { children: () => [childNamed("itself", {})] })'),
    definition("ping", '.parent("p", { children: () => [childNamed("pong", {})] }).sleep("s", 1)'),
    definition("pong", '.child("p", ping, () => ({})).sleep("s", 1)', ', timeout: "1h"'),
  ].join("\n");
  await writeFile(join(app(), "convex/flows.workflow.ts"), text);
  const all: WorkflowExplained[] = JSON.parse((await workflowCodegen("explain", "--json")).out);
  expect(Object.fromEntries(all.map(({ name, worstCaseMs }) => [name, worstCaseMs]))).toEqual({
    a: 211,
    b: 210,
    c: 100,
    d: 200,
    itself: null,
    ping: 3_600_001,
    pong: 3_600_000,
  });
  expect(all.find(({ name }) => name === "itself")?.openEnded).toEqual(["p"]);
});

test("what has no limit inside a loop is named", async () => {
  const flow = await explained(
    '.loop("a", { initial: () => 1, body: (b) => b.event("e", { schema: z.any() }).sleep("s", 5), until: () => true, maxIterations: computed })',
  );
  expect(flow.openEnded).toEqual(["the iterations of a", "a.e"]);
});

test("for people, the nodes inside others stand under them, by their paths", async () => {
  await use("every-kind");
  const { out } = await workflowCodegen("explain", "drip");
  expect(out).toBe(`drip (drip.workflow.ts)
  stage              runs                             root executions  transactions  reads                        attempts  at worst
  profile            action                           2                1             input                        5         2 h 30 m
  settle             sleep                            1                1             input                                  open
  approval           event                            0                0             nothing                                open
  route              branch, one of 2                 0.05             0.05          profile                                30 m 1 s
  route.big.x        action                           2                1             profile                      1         30 m
  route.big.y        query                            0.05             0.05          input, x                               1 s
  route.small.z      mutation                         0.05             0.05          nothing                                1 s
  agent              loop, at most 10 iterations      0.5              0.5           profile                                5 h
  agent.think        action                           2 × 10           1 × 10        loop                         1         30 m × 10
  agent.next         mutation                         0.05 × 10        0.05 × 10     profile, loop, think                   1 s × 10
  one                child                            1                1             profile                                30 m
  charge             action internal.payments.charge  3                1             input                        1         30 m
  charge.compensate  mutation, to undo it             1                1             input, output, error                   1 s
  finalize           mutation                         0.05             0.05          approval, route, agent, one            1 s
  A run: at most 30.15 root executions, 16.15 of them transactions, and 2 for each summarize of one; at worst 30 d.
  That is the sum of the rows. A row in a loop counts for each iteration. Of several cases, only the most expensive counts. What undoes a step does not count. The time of a node includes what is inside it.
`);
});

test("[S170] the onEnd of a workflow counts in its sum, and a run does not wait for it", async () => {
  const flow = await explained('.step("a", { action: () => 1 })', "onEnd: { action: () => null }");
  expect(flow).toMatchObject({ rootExecutions: 4, transactions: 2, worstCaseMs: half });
  expect(flow.nodes.at(-1)).toMatchObject({ name: "onEnd", stages: [{ reads: [], attempts: 1 }] });
});

test("for people it is a table, with a line for each stage and the sum of a run", async () => {
  await use("steps");
  const { out } = await workflowCodegen("explain", "fulfilOrder");
  expect(out).toBe(`fulfilOrder (orders.workflow.ts)
  stage    runs                             root executions  transactions  reads           attempts  at worst
  price    query                            1                1             input                     1 s
  charge   action internal.payments.charge  3                1             input, price    3         1 m 32 s
  reserve  mutation internal.stock.reserve  0.05             0.05          input                     1 s
  address  query api.customers.address      0.05             0.05          nothing                   1 s
  label    action                           2                1             address         5         5 m 6 s
  ship     mutation                         1                1             label                     1 s
  receipt  action                           2                1             price, address  5         2 h 30 m
  A run: 9.1 root executions, 5.1 of them transactions; at worst 2 h 37 m.
`);
});

test("children that take turns, or may be any, are said to have no limit", async () => {
  await use("parents");
  const { out } = await workflowCodegen("explain");
  expect(out).toContain("2 for each countWords of pages");
  expect(out).toContain("and those of each child of unknown");
  expect(out).toContain("no worst case: no fixed limit for pages.");
});

test("of a rate that the pool cannot give while actions wait for slots is told what it can", async () => {
  await use("limits");
  const file = join(app(), "convex/stepwise.config.ts");
  const config = await readFile(file, "utf8");
  const some = "about 100 a second while actions also wait for slots";
  expect((await workflowCodegen("explain", "answer")).out).not.toContain(some);
  await writeFile(file, config.replace("limit: 500", "limit: 6_001"));
  expect((await workflowCodegen("explain", "answer")).out).toContain(
    `within limit api (25 at once, 6001 per 1m, 50 of them at once, ${some})`,
  );
});
