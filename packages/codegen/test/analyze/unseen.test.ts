/** @module-tag large */
import { mkdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { mkdtemp, rm } from "../../../../scripts/folders.mjs";
import { compile, Compiler, type CompileResult } from "../../src/compile.js";

const head =
  'import { child, defineWorkflow } from "@stepwise/workflow";\nimport { z } from "zod";\n';
const flow = (name: string) =>
  `export const ${name} = defineWorkflow({ input: z.object({}) }).step("s", { query: () => 1 });\n`;

let app = "";
beforeEach(async () => {
  app = await mkdtemp(join(tmpdir(), "stepwise-unseen-"));
  return () => rm(app, { recursive: true });
});

/** What is found in an app with these files. */
async function compiled(files: Readonly<Record<string, string>>): Promise<CompileResult> {
  for (const [file, text] of Object.entries(files)) {
    await mkdir(dirname(join(app, "convex", file)), { recursive: true });
    await writeFile(join(app, "convex", file), text);
  }
  return await compile({ functionsDir: join(app, "convex") });
}

const told = ({ diagnostics }: CompileResult) =>
  diagnostics.map(({ code, place }) => `${code} ${place.file}:${place.line}`);

describe("a workflow that the compiler cannot see is told", () => {
  const base = { "base.workflow.ts": head + flow("base") };

  test("one that is made by defineWorkflow under another name of the app's is told how to import it", async () => {
    const { diagnostics } = await compiled({
      "own.ts": 'export { defineWorkflow as workflow } from "@stepwise/workflow";',
      "a.workflow.ts": `${head}import { workflow } from "./own";\n${flow("a").replace("defineWorkflow", "workflow")}`,
    });
    expect(diagnostics.map(({ code }) => code)).toEqual(["SW1114", "SW1905"]);
    expect(diagnostics[0]?.hint).toContain("`import { defineWorkflow as workflow }`");
  });

  test.each([
    [
      "by its name",
      'import { base } from "./base.workflow";\nexport const more = base.step("t", { query: () => 2 });\n',
    ],
    [
      "by another name",
      'import { base as first } from "./base.workflow";\nexport const more = first.sleep("t", 5);\n',
    ],
    [
      "of a whole module",
      'import * as flows from "./base.workflow";\nexport const more = flows.base.finalize({ query: () => 2 });\n',
    ],
    [
      "in parentheses and asserted",
      'import { base } from "./base.workflow";\nexport const more = (base as any)!.step("t", { query: () => 2 });\n',
    ],
    [
      "under another name",
      'import { base } from "./base.workflow"; const b = base;\nexport const more = b.step("t", { query: () => 2 });\n',
    ],
    [
      "under a name that an import gives",
      'import * as flows from "./base.workflow"; import b = flows.base;\nexport const more = b.step("t", { query: () => 2 });\n',
    ],
    [
      "of what is required",
      'import flows = require("./base.workflow");\nexport const more = flows.base.step("t", { query: () => 2 });\n',
    ],
    [
      "by a path alias",
      'import { base } from "@/base.workflow";\nexport const more = base.step("t", { query: () => 2 });\n',
    ],
    [
      "by a path alias of the folder around",
      'import { base } from "~/convex/all";\nexport const more = base.step("t", { query: () => 2 });\n',
    ],
    [
      "by an import of the package",
      'import { base } from "#flows/base.workflow";\nexport const more = base.step("t", { query: () => 2 });\n',
    ],
    [
      "that a function gets",
      'import { base } from "./base.workflow";\nconst more = (to: typeof base) => to.step("t", { query: () => 2 }); export const longer = more(base);\n',
    ],
    [
      "that a function of a list gets",
      'import { base } from "./base.workflow";\nexport const longer = [base].map((to) => to.step("t", { query: () => 2 }));\n',
    ],
    [
      "whose step is taken",
      'import { base } from "./base.workflow";\nexport const more = Reflect.apply(base.step, base, ["t", { query: () => 2 }]);\n',
    ],
    [
      "that is only handed on",
      'import { base } from "./all";\nexport default base.step("t", { query: () => 2 });\n',
    ],
    [
      "that is taken out of a module",
      'import * as flows from "./base.workflow"; const { base } = flows;\nconst more = base.step("t", { query: () => 2 }); export { more };\n',
    ],
    [
      "of a variable that can change",
      'import { base } from "./base.workflow"; let b = base;\nconst more = b.step("t", { query: () => 2 }); export default more;\n',
    ],
    [
      "of an object",
      'import { base } from "./base.workflow"; const all = { base };\nconst more = all.base.step("t", { query: () => 2 }); export { more };\n',
    ],
    [
      "of what is imported while the code runs",
      'export const other = 1;\nconst more = (await import("./base.workflow")).base.step("t", { query: () => 2 }); export { more };\n',
    ],
    [
      "by a computed name",
      'import { base } from "./base.workflow";\nexport const more = base["step"]("t", { query: () => 2 });\n',
    ],
    [
      "of a package",
      'import { base } from "flows";\nconst more = base.step("t", { query: () => 2 }); export { more };\n',
    ],
  ])("a chain that goes on in another file, %s", async (_how, text) => {
    const found = await compiled({
      ...base,
      "more.workflow.ts": text,
      "tsconfig.json": '{ "extends": "../tsconfig.base", "compilerOptions": {} } // none',
      "../tsconfig.base.json":
        '{ "compilerOptions": { "paths": { /* ours */ "@/*": ["./convex/*"], "~/*": ["./*"], }, }, }',
      "../package.json": '{ "imports": { "#flows/*": { "default": "./convex/*.ts" } } }',
      "all.ts": 'export { base } from "./base.workflow";',
    });
    expect(told(found)).toEqual(["SW1101 more.workflow.ts:2"]);
  });

  test.each([
    [
      'const stepwise = await import("@stepwise/workflow");\nconst { defineWorkflow } = stepwise;',
      "defineWorkflow",
    ],
    ["", '(await import("@stepwise/workflow")).defineWorkflow'],
    ["const { defineWorkflow: make } = await import(`@stepwise/workflow`);", "make"],
  ])("one made by what is imported while the code runs: %s", async (top, make) => {
    const text = `import { z } from "zod";\n${top}\nexport const a = ${make}({ input: z.object({}) }).sleep("s", 5);\n`;
    const found = await compiled({ ...base, "a.workflow.ts": text });
    expect(found.diagnostics.map(({ code }) => code)).toContain("SW1114");
  });

  test.each([
    ['import * as sw from "@stepwise/workflow";', "(sw).defineWorkflow"],
    ['import * as sw from "@stepwise/workflow";', "sw!.defineWorkflow"],
    ['import * as sw from "@stepwise/workflow";\nconst all = { ...sw };', "all.defineWorkflow"],
    ['import sw from "@stepwise/workflow";', "sw.defineWorkflow"],
    ['import sw = require("@stepwise/workflow");', "sw.defineWorkflow"],
    ['const { defineWorkflow: make } = require("@stepwise/workflow");', "make"],
    ['import * as sw from "@stepwise/workflow"; const key = "define" + "Workflow";', "sw[key]"],
    ['import sw from "@stepwise/workflow"; const key = "x";', "sw![key as keyof typeof sw]"],
    ['import * as sw from "@stepwise/workflow"; const all = sw; const key = "x";', "all[key]"],
    ['import * as sw from "@stepwise/workflow"; const { ...all } = sw;', "all.x"],
    ['import sw = require("@stepwise/workflow"); const key = "x";', "sw[key]"],
    ['import { sw } from "./lib"; const key = "x";', "sw[key]"],
    ['import { make } from "./lib";', "make"],
    ['import type { defineWorkflow } from "@stepwise/workflow";', "defineWorkflow"],
    ['import { type defineWorkflow } from "@stepwise/workflow";', "defineWorkflow"],
    ['import { type defineWorkflow as make } from "@stepwise/workflow";', "make"],
    ['import { sw } from "./lib";', "sw.defineWorkflow"],
    ['import { sw } from "./lib";', 'sw["defineWorkflow"]'],
    [
      'import { defineWorkflow } from "@stepwise/workflow";\nconst make = defineWorkflow<any>;',
      "make",
    ],
  ])("one made by what has defineWorkflow: %s %s", async (top, make) => {
    const text = `import { z } from "zod";\n${top}\nexport const a = ${make}({ input: z.object({}) }).sleep("s", 5);\n`;
    const found = await compiled({ "a.workflow.ts": text });
    expect(found.diagnostics.map(({ code }) => code)).toEqual(["SW1114"]);
  });

  test.each(['base["step"]', "(base).step", "(base as any).step", "base!.step", "base?.step"])(
    "a chain that goes on with %s",
    async (member) => {
      const more = `${member}("t", { query: () => 2 });\n`;
      const found = await compiled({ "a.workflow.ts": `${head}${flow("base")}${more}` });
      expect(told(found)).toEqual(["SW1101 a.workflow.ts:4"]);
    },
  );

  test.each([
    ["asserted", 'defineWorkflow({ input: z.object({}) })!.step("t", { query: () => 2 })!;'],
    [
      "with a body that is a function of the file",
      'defineWorkflow({ input: z.object({}) }).branch("to", { on: () => "x", cases: { x: body } });\nfunction body(b: any) { return b.step("t", { query: () => 2 }); }',
    ],
    [
      "with a body that is a method, called as a function that the file calls",
      'defineWorkflow({ input: z.object({}) }).loop("l", { initial: () => 0, body(b: any) { return b.step("t", { query: () => 2 }); }, until: () => true, maxIterations: 2 });\nfunction body() {}\nbody();',
    ],
  ])("but not one that is %s", async (_how, chain) => {
    expect(told(await compiled({ "a.workflow.ts": `${head}export const a = ${chain}\n` }))).toEqual(
      [],
    );
  });

  test("one made by defineWorkflow under another name, from a file of the app", async () => {
    const use = 'import { flow } from "./lib";\nexport const a = flow({}).sleep("s", 5);\n';
    for (const [file, text] of [
      ["lib.ts", 'export { defineWorkflow as flow } from "@stepwise/workflow";\n'],
      [
        "lib.ts",
        'import { defineWorkflow } from "@stepwise/workflow";\nexport { defineWorkflow as flow };\n',
      ],
      [
        "lib.ts",
        'import { defineWorkflow } from "./other";\nexport const flow = defineWorkflow;\n',
      ],
    ] as const)
      expect(told(await compiled({ ...base, "a.workflow.ts": use, [file]: text }))).toEqual([
        "SW1114 a.workflow.ts:2",
        "SW1905 lib.ts:1",
      ]);
    await rm(join(app, "convex/lib.ts"));
    const own = 'export { defineWorkflow as flow } from "@stepwise/workflow";\n';
    expect(told(await compiled({ "a.workflow.ts": use, "lib.workflow.ts": own }))).toEqual([
      "SW1114 a.workflow.ts:2",
      "SW1114 lib.workflow.ts:1",
    ]);
  });

  test.each([
    'import { defineWorkflow } from "@stepwise/workflow";',
    'import { z, defineWorkflow as flow } from "./lib/stepwise";',
    'import * as stepwise from "@stepwise/workflow";\nstepwise.defineWorkflow({});',
    'import stepwise = require("@stepwise/workflow");\nstepwise.defineWorkflow({});',
    'const { defineWorkflow } = require("@stepwise/workflow");',
    '  import { defineWorkflow } from "@stepwise/workflow";',
    'import { z } from "zod"; import { defineWorkflow } from "@stepwise/workflow";',
    '/* flows */ import * as stepwise from "@stepwise/workflow"; stepwise.defineWorkflow({});',
    'const { defineWorkflow } = await import("@stepwise/workflow");',
    'import type { defineWorkflow } from "@stepwise/workflow";\nexport const a = defineWorkflow({});',
    'import type { defineWorkflow as flow } from "@stepwise/workflow";\nexport const a = flow({});',
    'import { type defineWorkflow } from "@stepwise/workflow";\nexport const a = defineWorkflow({});',
  ])("a file of another name that has it by %s", async (text) => {
    expect(told(await compiled({ ...base, "flows.ts": text }))).toEqual(["SW1905 flows.ts:1"]);
  });

  test.each([
    'export { defineWorkflow } from "@stepwise/workflow";',
    'export * from "@stepwise/workflow"; // defineWorkflow',
    'import type { defineWorkflow } from "@stepwise/workflow";',
    'import type { defineWorkflow } from "@stepwise/workflow";\nexport type Make = typeof defineWorkflow;',
    "export const note = 'defineWorkflow';",
  ])("but not one that has %s", async (text) => {
    expect(told(await compiled({ ...base, "lib.ts": text }))).toEqual([]);
  });
});

test.each([
  ["flows/lists", undefined],
  ["@acme/lists", undefined],
  ["lodash", ["leaf"]],
  ["@scope/tools/deep", ["leaf"]],
  ["util", ["leaf"]],
])("children that come from %s may be %s", async (module, workflows) => {
  const text = `${head}import { more } from "${module}";
${flow("leaf")}export const top = defineWorkflow({ input: z.object({}) }).parent("p", { children: () => [child(leaf, {}), ...more()] });
`;
  const manifest = JSON.stringify({
    dependencies: { lodash: "1" },
    devDependencies: { "@scope/tools": "1" },
  });
  const read = (file: string) => (file === "../package.json" ? manifest : undefined);
  const { plan } = await new Compiler().compileSources([{ file: "a.workflow.ts", text }], read);
  const top = plan.workflows.find(({ name }) => name === "top");
  expect(top?.nodes[0]?.stages[0]?.workflows).toEqual(workflows);
});
