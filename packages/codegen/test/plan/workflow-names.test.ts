import { expect, test } from "vitest";
import { Compiler } from "../../src/compile.js";
import { compare } from "../../src/compatibility/compare.js";
import type { WrittenPlan } from "../../src/plan/schema.js";
import { toWritten } from "../../src/plan/write.js";

/** Workflows by name, each with its options: the old name, mostly. */
type App = Readonly<Record<string, string>>;
const from = (name: string) => `renamedFrom: "${name}"`;

const sourcesOf = (app: App) => [
  {
    file: "a.workflow.ts",
    text: `import { defineWorkflow } from "@stepwise/workflow";\nimport { z } from "zod";\n${Object.entries(
      app,
    )
      .map(
        ([name, options]) =>
          `export const ${name} = defineWorkflow({ input: z.object({}), ${options} }).step("pay", { action: () => 1, compensate: { action: () => 2 } });\n`,
      )
      .join("")}`,
  },
];

const compiled = async (app: App, last: readonly WrittenPlan[], baseline?: WrittenPlan) =>
  await new Compiler({ once: true }).compileSources(sourcesOf(app), undefined, () => ({
    last,
    baseline,
  }));

/** The last plan of an app that was generated several times. @param baseline what is deployed */
async function planOf(apps: readonly App[], baseline?: WrittenPlan): Promise<WrittenPlan> {
  const last: WrittenPlan[] = [];
  for (const app of apps) {
    const { plan, diagnostics } = await compiled(app, last.slice(-1), baseline);
    expect(diagnostics.map(({ message }) => message)).toEqual([]);
    last.push(toWritten(plan));
  }
  return last.at(-1)!;
}

const storedIn = ({ workflows }: WrittenPlan) =>
  workflows.map(({ name, storage = name }) => `${name} ${storage}`);

test.each<[what: string, apps: App[], stored: string[]]>([
  ["renamed", [{ a: "" }, { b: from("a") }], ["b a"]],
  ["renamed, and the option deleted", [{ a: "" }, { b: from("a") }, { b: "" }], ["b a"]],
  ["renamed twice", [{ a: "" }, { b: from("a") }, { c: from("b") }], ["c a"]],
  ["renamed twice, of the first name", [{ a: "" }, { b: from("a") }, { c: from("a") }], ["c a"]],
  ["renamed and back", [{ a: "" }, { b: from("a") }, { a: from("b") }], ["a a"]],
  ["renamed in case only", [{ ab: "" }, { aB: from("ab") }], ["aB ab"]],
  ["told of afterwards", [{ a: "" }, { b: "" }, { b: from("a") }], ["b a"]],
  [
    "exchanged with another",
    [
      { a: "", b: "" },
      { a: from("b"), b: from("a") },
    ],
    ["a b", "b a"],
  ],
  [
    "moved up with another",
    [
      { a: "", b: "" },
      { b: from("a"), c: from("b") },
    ],
    ["b a", "c b"],
  ],
  [
    "renamed, and its name given away",
    [{ a: "" }, { b: from("a") }, { a: "", b: "" }],
    ["a a2", "b a"],
  ],
  [
    // On some disks, "aB.ts" is the same file as "ab.ts".
    "renamed, and its name given away in another case",
    [{ ab: "" }, { b: from("ab") }, { aB: "", b: "" }],
    ["aB aB2", "b ab"],
  ],
  [
    "renamed, its name and the one after it given away",
    [{ a: "" }, { b: from("a") }, { a: "", a2: "", b: "" }],
    ["a a3", "a2 a2", "b a"],
  ],
])("[S176] a workflow that is %s: what its runs are stored under", async (_what, apps, stored) => {
  const last = await planOf(apps);
  expect(storedIn(last)).toEqual(stored);
  // Nobody has changed anything: it stays so.
  const again = await compiled(apps.at(-1)!, [last]);
  expect(toWritten(again.plan)).toEqual(last);
});

test.each<[what: string, apps: App[], stored: string[]]>([
  ["is renamed twice on a branch", [{ b: from("a") }, { c: from("b") }], ["c a"]],
  ["is renamed, and the option deleted on a branch", [{ b: from("a") }, { b: "" }], ["b a"]],
  ["has its name back on a branch", [{ b: from("a") }, { a: "" }], ["a a"]],
  ["is said to be renamed after a while", [{ b: "" }, { b: from("a") }], ["b a"]],
])("[S176] of the main branch: one that %s", async (_what, apps, stored) => {
  const baseline = await planOf([{ a: "" }]);
  const last = await planOf([{ a: "" }, ...apps], baseline);
  expect(storedIn(last)).toEqual(stored);
  expect(last.removed ?? []).toEqual([]);
});

test("[S176] one that is new on a branch, and renamed there, is stored under its last name", async () => {
  const baseline = await planOf([{ other: "" }]);
  const apps: App[] = [{ other: "" }, { other: "", a: "" }, { other: "", b: from("a") }];
  const last = await planOf(apps, baseline);
  expect(storedIn({ ...last })).toEqual(["b a", "other other"]);
});

test("[S176] the files of a renamed workflow keep their names, as do its functions", async () => {
  const before = await planOf([{ onboard: "", other: "" }]);
  const app = { onBoarding: from("onboard"), other: "" };
  const { files, plan } = await compiled(app, [before]);
  expect(files.map(({ path }) => path).filter((path) => /onboard/i.test(path))).toEqual([
    "_workflows/onboard.plan.json",
    "_workflows/onboard.ts",
  ]);
  expect(plan.removed).toEqual([]);
  const textOf = (name: string) =>
    files.find(({ path }) => path === `_workflows/${name}`)?.text ?? "";
  expect(textOf("onboard.ts")).toContain('"onBoarding", definition, {');
  expect(textOf("onboard.ts")).toContain('storedAs: "onboard"');
  expect(textOf("workflows.ts")).toContain('export { reference as onBoarding } from "./onboard";');
  expect(textOf("index.ts")).toContain('renamed: { onboard: "onBoarding" }');
});

const verdicts = async (before: WrittenPlan, app: App) =>
  compare(before, toWritten((await compiled(app, [before])).plan)).map((change) => {
    const { workflow, node = "", compatibility, message, hint = "" } = change;
    return [`${workflow} ${node}: ${compatibility}`, message, hint] as const;
  });

test("[S176] check says that runs go on if a rename is told, and stop if it is not", async () => {
  const before = await planOf([{ onboard: "", other: "" }]);
  expect(await verdicts(before, { onBoarding: from("onboard"), other: "" })).toEqual([
    ["onBoarding : safe", expect.stringContaining('renamed from "onboard": its runs go on'), ""],
  ]);
  const untold = await verdicts(before, { onBoarding: "", other: "" });
  expect(untold.map(([what]) => what)).toEqual([
    "onBoarding : safe",
    "onboard : stops",
    "onboard pay: loses",
  ]);
  expect(untold[1]?.[2]).toContain(
    'if it is "onBoarding" now, say so in the options of that: `renamedFrom: "onboard"`',
  );
});

test("[S176] an old name under which nothing was generated, and one that is taken, are errors", async () => {
  const problems = async (app: App, ...before: App[]) => {
    const { diagnostics } = await compiled(app, before.length === 0 ? [] : [await planOf(before)]);
    return diagnostics.map(({ code, message, hint }) => `${code} ${message}: ${hint}`);
  };
  expect(await problems({ b: from("onbord") }, { onboard: "" })).toEqual([
    'SW1013 `renamedFrom` of workflow "b" is "onbord", which was never generated: did you mean "onboard"?',
  ]);
  // Nobody knows what there was before.
  expect(await problems({ b: from("a") })).toEqual([]);
  // What has become known stays right, whoever has said it.
  expect(await problems({ b: from("a") }, { a: "" }, { b: from("a") }, { b: "" })).toEqual([]);
  expect(await problems({ a: "", b: from("a") }, { a: "" }, { b: from("a") })).toEqual([
    expect.stringContaining("is another workflow now: delete the option"),
  ]);
});
