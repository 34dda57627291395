import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { compile, compileSources } from "../src/compile.js";
import { discover } from "../src/discover/discover.js";
import { allNodes } from "../src/plan/flow.js";
import { workflowPlanFile } from "../src/plan/schema.js";
import { fixtures } from "./golden.js";

const functionsDir = join(fixtures, "parents", "convex");

test(
  "the output does not depend on the order in which files are found",
  { tags: ["large"] },
  async () => {
    const sources = discover(functionsDir);
    expect(sources.length).toBeGreaterThan(1);
    const [forwards, backwards] = [
      await compileSources(sources),
      await compileSources(sources.toReversed()),
    ];
    expect(backwards.files).toEqual(forwards.files);
  },
);

test(
  "the output does not depend on line ends or a byte order mark",
  { tags: ["large"] },
  async () => {
    const { normalized } = await import("../src/discover/discover.js");
    const sources = discover(functionsDir);
    const onWindows = sources.map(({ file, text }) => ({
      file,
      text: normalized(`\ufeff${text.replaceAll("\n", "\r\n")}`),
    }));
    expect((await compileSources(onWindows)).files).toEqual(
      (await compile({ functionsDir })).files,
    );
  },
);

test("an edit that adds lines or comments, or formats anew, changes nothing", async () => {
  const [source] = discover(join(fixtures, "steps", "convex"));
  const text = source?.text ?? "";
  const edited = `// A new first line.\n\n${text}`
    .replace('.step("price", {', '.step(\n    /* why */ "price",\n{ // what\n')
    .replace(
      "_ctx, { input }) => input.orderId.length",
      "_ctx, { input, }) =>\n\n input . orderId.length",
    );
  expect(edited).not.toContain(text.slice(-2000));
  const files = async (content: string) =>
    (await compileSources([{ file: "orders.workflow.ts", text: content }])).files;
  expect(await files(edited)).toEqual(await files(text));
});

test("an edit inside a handler changes only that node's hash, and the plan's", async () => {
  const [source] = discover(join(fixtures, "steps", "convex"));
  const text = source?.text ?? "";
  const before = await compileSources([{ file: "orders.workflow.ts", text }]);
  const after = await compileSources([
    { file: "orders.workflow.ts", text: text.replace("orderId.length", "orderId.length + 1") },
  ]);
  const hashes = ({ plan }: typeof before) =>
    plan.workflows.flatMap(({ nodes }) => nodes.map(({ hash }) => hash));
  const changed = hashes(after).filter((hash, index) => hash !== hashes(before)[index]);
  expect(changed).toHaveLength(1);
  // The hashes of the plan and of the file's own content change with it, and no other line.
  const lines = ({ files }: typeof before) =>
    files
      .filter(({ path }) => path.endsWith(".ts"))
      .flatMap(({ text: code }) => code.split("\n"))
      .filter((line) => !/^\/\/ workflow-codegen |^ {2}plan: "/.test(line));
  expect(lines(after)).toEqual(lines(before));
});

test("what a node names of its file, a handler or its options, is part of its hash, and so is what that calls", async () => {
  const text = `import { defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
const options = { action: () => 1, retry: { maxAttempts: 2, initialBackoffMs: 1, base: 1 } };
async function handler() { return helper(); }
function helper() { return "helped"; }
export const flow = defineWorkflow({ input: z.object({}) })
  .step("held", options)
  .step("named", { action: handler })
  .step("other", { action: () => 1 });`;
  const hashes = async (from: string, to: string) => {
    const edited = text.replace(from, to);
    const { plan } = await compileSources([{ file: "a.workflow.ts", text: edited }]);
    return plan.workflows.flatMap(({ nodes }) => nodes.map(({ hash }) => hash));
  };
  const before = await hashes("", "");
  const changed = async (from: string, to: string) =>
    (await hashes(from, to)).map((hash, index) => hash !== before[index]);
  expect(await changed("maxAttempts: 2", "maxAttempts: 3")).toEqual([true, false, false]);
  expect(await changed("return helper()", "return helper() + 1")).toEqual([false, true, false]);
  expect(await changed('"helped"', '"other"')).toEqual([false, true, false]);
});

test("what stands inside a branch or a loop is part of its own hash, and not of theirs", async () => {
  const sources = discover(join(fixtures, "every-kind", "convex"));
  const edited = sources.map(({ file, text }) => ({
    file,
    text: text.replace("loop.state.messages.join()", "loop.state.messages.join(1)"),
  }));
  const hashes = async (all: typeof sources) => {
    const { plan } = await compileSources(all);
    return allNodes(plan.workflows.flatMap(({ nodes }) => nodes)).map(
      ({ path, hash }) => path + hash,
    );
  };
  const before = new Set(await hashes(sources));
  const changed = (await hashes(edited)).filter((each) => !before.has(each));
  expect(changed.map((each) => each.slice(0, -16))).toEqual(["agent.think"]);
});

test("a plan is what its schema says, and holds no line numbers", async () => {
  const text = await readFile(
    join(fixtures, "parents", "expected", "_workflows", "analyse.plan.json"),
    "utf8",
  );
  expect(workflowPlanFile.parse(JSON.parse(text))).toEqual(JSON.parse(text));
  expect(text).not.toMatch(/"(line|column|place)"/);
});

test("a node of the plan knows its place", async () => {
  const { plan } = await compile({ functionsDir });
  const pages = plan.workflows.find(({ name }) => name === "analyse")?.nodes[0];
  expect(pages?.place).toMatchObject({ file: "trees.workflow.ts", line: 8, column: 11 });
});

test("nothing in a file's name or path can leave a comment or a string", async () => {
  const text = await readFile(join(fixtures, "steps", "convex", "orders.workflow.ts"), "utf8");
  const file = 'a*/b" + `${evil}`\n\u2028/x.workflow.ts';
  const { files, diagnostics } = await compileSources([{ file, text }]);
  expect(diagnostics).toEqual([]);
  for (const { path, text: generated } of files.filter((each) => each.path.endsWith(".ts"))) {
    const again = await compileSources([
      { file: "again.workflow.ts", text: `${generated}\n// defineWorkflow` },
    ]);
    expect(again.diagnostics, path).toEqual([]);
    expect(
      generated
        .split("\n")
        .filter((line) => line.includes("evil") && !/^(\/\/|\/\*\*|import|\} from)/.test(line)),
    ).toEqual([]);
  }
});
