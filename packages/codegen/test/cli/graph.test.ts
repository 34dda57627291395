/** @module-tag large */
import { cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { fixtures } from "../golden.js";
import { app, useApp, workflowCodegen } from "./command.js";

useApp();

const use = (feature: string) =>
  cp(join(fixtures, feature, "convex"), join(app(), "convex"), { recursive: true });

test(
  "graph draws one workflow: its nodes, how they are run, and the children they start",
  { tags: ["large"] },
  async () => {
    await use("parents");
    const { out, code, err } = await workflowCodegen("graph", "analyse");
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toBe(`flowchart TD
  subgraph w_analyse["analyse"]
    n_analyse.pages[["pages<br/>action<br/>children<br/>mutation<br/>4 at once"]]
    n_analyse.both[["both<br/>children"]]
    n_analyse.after["after<br/>query"]
    n_analyse.pages --> n_analyse.both
    n_analyse.both --> n_analyse.after
  end
  w_checkSpelling[["checkSpelling"]]
  w_countWords[["countWords"]]
  n_analyse.pages -.-> w_countWords
  n_analyse.both -.-> w_checkSpelling
  n_analyse.both -.-> w_countWords
`);
  },
);

test("graph draws all workflows; children that may be any are shown as that", async () => {
  await use("parents");
  const { out } = await workflowCodegen("graph");
  expect(out.match(/subgraph (\w+)/g)).toHaveLength(6);
  expect(out).toContain('any[["any workflow"]]');
  expect(out).toContain("n_anything.unknown -.-> any");
});

test("[S10] a workflow that is its own descendant is drawn as a circle", async () => {
  await use("recursion");
  const { out } = await workflowCodegen("graph");
  expect(out).toMatch(/n_walk\.\w+ -\.-> w_walk\n/);
});

test("retries, timeouts and references are in the drawing", async () => {
  await use("steps");
  const { out } = await workflowCodegen("graph", "fulfilOrder");
  expect(out).toContain("action internal.payments");
  const json = JSON.parse((await workflowCodegen("graph", "fulfilOrder", "--format", "json")).out);
  const policies = json.workflows[0].nodes.flatMap((node: { policies: string[] }) => node.policies);
  for (const policy of policies) expect(out).toContain(policy);
  expect(policies.length).toBeGreaterThan(0);
});

test("the limits that a workflow and a step name are in the drawing, and its one", async () => {
  await use("limits");
  const { out } = await workflowCodegen("graph", "answer");
  expect(out).toContain('subgraph w_answer["answer<br/>limit tenant"]');
  const { out: drawn } = await workflowCodegen("graph", "answer", "--format", "dot");
  expect(drawn).toContain('label="answer\\nlimit tenant";');
  expect(out).toContain(
    "exported<br/>action<br/>waits at most 10m<br/>limit exports<br/>limit api<br/>limit both",
  );
  await use("one");
  const { out: one } = await workflowCodegen("graph", "sync");
  expect(one).toContain('["sync<br/>one run of a key, otherwise cancelOld"]');
});

test("sleeps, events, branches, loops and children are told apart, and where a run goes from each", async () => {
  await use("every-kind");
  const { out } = await workflowCodegen("graph", "drip");
  expect(out).toBe(`flowchart TD
  subgraph w_drip["drip"]
    n_drip.profile["profile<br/>action<br/>retry 5×"]
    n_drip.settle(["settle<br/>sleep"])
    n_drip.approval(["approval<br/>event"])
    n_drip.route{"route<br/>branch"}
    n_drip.route.big.x["route.big.x<br/>action"]
    n_drip.route.big.y["route.big.y<br/>query"]
    n_drip.route.small.z["route.small.z<br/>mutation"]
    n_drip.agent{{"agent<br/>loop<br/>at most 10 iterations"}}
    n_drip.agent.think["agent.think<br/>action"]
    n_drip.agent.next["agent.next<br/>mutation"]
    n_drip.one[["one<br/>child"]]
    n_drip.charge["charge<br/>action internal.payments.charge<br/>undone by mutation<br/>recovers"]
    n_drip.finalize["finalize<br/>mutation"]
    n_drip.profile --> n_drip.settle
    n_drip.settle --> n_drip.approval
    n_drip.approval --> n_drip.route
    n_drip.route -->|"big"| n_drip.route.big.x
    n_drip.route.big.x --> n_drip.route.big.y
    n_drip.route -->|"small"| n_drip.route.small.z
    n_drip.route.big.y --> n_drip.agent
    n_drip.route.small.z --> n_drip.agent
    n_drip.agent --> n_drip.agent.think
    n_drip.agent.think --> n_drip.agent.next
    n_drip.agent.next -->|"next iteration"| n_drip.agent
    n_drip.agent -->|"done"| n_drip.one
    n_drip.one --> n_drip.charge
    n_drip.charge --> n_drip.finalize
  end
  w_summarize[["summarize"]]
  n_drip.one -.-> w_summarize
`);
});

test("a case without nodes leads past its branch; a branch or a loop in another is drawn through", async () => {
  await use("branches");
  const { out } = await workflowCodegen("graph", "shipping");
  expect(out).toContain('n_shipping.way -->|"none"| n_shipping.label');
  expect(out).toContain("n_shipping.way.freight.load --> n_shipping.label");
  const json = JSON.parse((await workflowCodegen("graph", "nested", "--format", "json")).out);
  expect(json.workflows[0].edges).toContainEqual({
    from: "outer.left.inner",
    to: "outer.left.inner.up.climb",
    label: "up",
  });
});

test("--format dot has the same shapes and labels", async () => {
  await use("every-kind");
  const { out } = await workflowCodegen("graph", "drip", "--format", "dot");
  expect(out).toContain('"drip.route" [label="route\\nbranch", shape=diamond];');
  expect(out).toContain(
    '"drip.agent" [label="agent\\nloop\\nat most 10 iterations", shape=hexagon];',
  );
  expect(out).toContain('"drip.settle" [label="settle\\nsleep", style=rounded];');
  expect(out).toContain('"drip.agent.next" -> "drip.agent" [label="next iteration"];');
});

test("branches begin at their node, and the run goes on from that; an each has one body", async () => {
  await use("concurrent");
  const { out } = await workflowCodegen("graph", "listing");
  for (const line of [
    'n_listing.facts[["facts<br/>parallel<br/>timeout 1h<br/>recovers"]]',
    'n_listing.facts.still_20_image.frame["facts.still image.frame<br/>action<br/>undone by mutation"]',
    'n_listing.facts -->|"still image"| n_listing.facts.still_20_image.frame',
    "n_listing.facts.still_20_image.frame --> n_listing.facts.still_20_image.settle",
    "n_listing.facts --> n_listing.subtitles",
    'n_listing.subtitles[["subtitles<br/>each<br/>tolerates 1 failure"]]',
    'n_listing.subtitles -->|"each"| n_listing.subtitles.text',
    "n_listing.subtitles --> n_listing.rounds",
    "n_listing.subtitles.length -.-> w_words",
  ])
    expect(out).toContain(`  ${line}\n`);
  expect(out).not.toMatch(/thumb -->|pause -->|probed -->/);
});

test("the cases of a race begin at it, and the run goes on from that", async () => {
  await use("races");
  const { out } = await workflowCodegen("graph", "auction");
  for (const line of [
    'n_auction.settled[["settled<br/>race<br/>timeout 8 days<br/>recovers"]]',
    'n_auction.settled -->|"dead line"| n_auction.settled.dead_20_line.week',
    "n_auction.settled --> n_auction.told",
  ])
    expect(out).toContain(`  ${line}\n`);
  expect(out).not.toMatch(/week -->|held -->/);
});

test("a match is called so in its drawing and in what it costs, and a branch is not", async () => {
  await use("matches");
  const { out } = await workflowCodegen("graph", "answered");
  expect(out).toContain('"paidBy<br/>match"');
  expect(out).not.toContain("<br/>branch");
  const { out: costs } = await workflowCodegen("explain", "answered");
  expect(costs).toMatch(/paidBy +match, /);
  expect(costs).not.toContain("branch, ");
});

test("in Mermaid, the keys of two cases never have the same identifier", async () => {
  const branch = (key: string) => `${JSON.stringify(key)}: (b) => b.sleep("s", 1)`;
  const keys = ["a b", "a_20_b", "a_5f_20_b", 'x"]', "x[é"];
  const text = `import { defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
export const keyed = defineWorkflow({ input: z.object({}) })
  .branch("p", { on: () => "a b" as string, cases: { ${keys.map(branch).join(", ")} } });`;
  await mkdir(join(app(), "convex"));
  await writeFile(join(app(), "convex/keyed.workflow.ts"), text);
  const { out } = await workflowCodegen("graph", "keyed");
  const ids = [...out.matchAll(/^ +n_keyed\.(\S+)\(\[/gm)].map(([, id]) => id);
  expect(new Set(ids).size).toBe(keys.length);
  for (const id of ids) expect(id).toMatch(/^p\.\w+\.s$/);
});

test("a sleep says how long, or until which time of day", async () => {
  const text = `import { defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
export const naps = defineWorkflow({ input: z.object({}) })
  .sleep("long", "3 days")
  .sleep("night", { at: "02:30", zone: "UTC" });`;
  await mkdir(join(app(), "convex"));
  await writeFile(join(app(), "convex/naps.workflow.ts"), text);
  const { out } = await workflowCodegen("graph", "naps");
  expect(out).toContain("long<br/>sleep<br/>3 days");
  expect(out).toContain("night<br/>sleep<br/>02:30 UTC");
});

test("an onEnd stands beside the nodes: no way leads to it", async () => {
  await use("on-end");
  const { out } = await workflowCodegen("graph", "locked");
  expect(out).toBe(`flowchart TD
  subgraph w_locked["locked"]
    n_locked.take["take<br/>mutation<br/>undone by mutation"]
    n_locked.finalize["finalize<br/>query"]
    n_locked.onEnd["onEnd<br/>at the end mutation"]
    n_locked.take --> n_locked.finalize
  end
`);
});

test("how many children may fail is told in words", async () => {
  await use("tolerance");
  const { out } = await workflowCodegen("graph", "fetchAll", "--format", "dot");
  for (const some of ["2", "12.5 %", "all"]) expect(out).toContain(`tolerates ${some} failures`);
});

test("--format dot is the same graph for Graphviz, and --out writes it to a file", async () => {
  await use("parents");
  const { out } = await workflowCodegen("graph", "--format", "dot", "--out", "all.dot");
  expect(out).toBe("wrote all.dot\n");
  const text = await readFile(join(app(), "all.dot"), "utf8");
  expect(text).toMatch(/^digraph workflows \{\n[^]*\n\}\n$/);
  expect(text).toContain('  subgraph "cluster_analyse" {');
  expect(text).toContain(
    '"analyse.pages" [label="pages\\naction\\nchildren\\nmutation\\n4 at once", peripheries=2];',
  );
  expect(text).toContain('"analyse.pages" -> "countWords.count" [style=dashed];');
  expect(text).toContain('"anything.unknown" -> "any workflow" [style=dashed];');
});

test("--out into a folder that does not exist says so", async () => {
  await use("parents");
  await expect(workflowCodegen("graph", "--out", "nowhere/all.mmd")).rejects.toThrow(
    /^nowhere\/all\.mmd cannot be written: its folder does not exist$/,
  );
  for (const none of ["", "-/", "drawings/"])
    await expect(workflowCodegen("graph", `--out=${none}`)).rejects.toThrow(
      `--out ${JSON.stringify(none)} is no file: give the path of one.`,
    );
  expect((await workflowCodegen("graph", "--out", "-")).out).toMatch(/^flowchart/);
});

test("a workflow that is not there, and a definition with errors, are told", async () => {
  await use("parents");
  await expect(workflowCodegen("graph", "analyze")).rejects.toThrow(
    'There is no workflow "analyze". Did you mean "analyse"?',
  );
  await use("errors/duplicate-nodes");
  const { code, out, err } = await workflowCodegen("graph");
  expect({ code, out }).toEqual({ code: 1, out: "" });
  expect(err).toContain("error SW1006");
});
