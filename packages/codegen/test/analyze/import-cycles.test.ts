import { describe, expect, test } from "vitest";
import { Compiler } from "../../src/compile.js";
import type { Diagnostic } from "../../src/diagnostics/diagnostic.js";

const head =
  'import { child, defineWorkflow } from "@stepwise/workflow";\nimport { z } from "zod";\n';

/** A workflow with these options of its one step, in a file that imports something. */
const flow = (name: string, imports = "", node = '.step("s", { query: () => 1 })') =>
  `${head}${imports}\nexport const ${name} = defineWorkflow({ input: z.object({}) })${node};\n`;

async function problems(
  files: Readonly<Record<string, string>>,
  config?: string,
): Promise<Diagnostic[]> {
  const all = new Map(Object.entries(files));
  if (config !== undefined) all.set("stepwise.config.ts", config);
  const sources = [...all]
    .filter(([file]) => file.endsWith(".workflow.ts"))
    .map(([file, text]) => ({ file, text }));
  const { diagnostics } = await new Compiler().compileSources(sources, (file) =>
    all.get(file.replace(/^\.\.\/convex\//, "")),
  );
  return diagnostics;
}

const afterwards = '.event("s", { schema: z.any() }).step("t", { query: () => other.wait })';
/** It may start none. */
const children = (other: string) =>
  `.parent("p", { children: () => [1].map(() => child(${other}, {})) })`;

describe("a circle of imports is printed", () => {
  test("definitions that import each other, whatever they read", async () => {
    const found = await problems({
      "a.workflow.ts": flow("a", 'import { b } from "./b.workflow";', children("b")),
      "b.workflow.ts": flow("b", 'import { a } from "./a.workflow";', children("a")),
    });
    expect(found).toMatchObject([{ code: "SW1503", severity: "error" }]);
    expect(found[0]?.message).toContain("a.workflow.ts -> b.workflow.ts -> a.workflow.ts");
  });

  test.each([
    ["a branch", '.parallel("p", { branches: { one: (b) => b.child("c", a, () => ({})) } })'],
    ["a case", '.race("p", { cases: { one: (b) => b.child("c", a, () => ({})) } })'],
    ["an item", '.each("p", { of: () => [1], body: (b) => b.child("c", a, () => ({})) })'],
    [
      "a default",
      '.match("p", { of: "input", by: "k", default: (b) => b.child("c", a, () => ({})) })',
    ],
  ])("what %s reads while its file is loaded", async (_what, node) => {
    const found = await problems({
      "a.workflow.ts": flow("a", 'import { b } from "./all";', children("b")),
      "all.ts": 'export * from "./b.workflow";',
      "b.workflow.ts": flow("b", 'import { a } from "./a.workflow";', node),
    });
    expect(found.map(({ code }) => code)).toContain("SW1504");
  });

  test("one by way of a file that only hands on is a warning", async () => {
    const found = await problems({
      "a.workflow.ts": flow("a", 'import { b } from "./all";', '.child("c", b, () => ({}))'),
      "all.ts": 'export * from "./b.workflow";',
      "b.workflow.ts": flow("b", 'import { a } from "./a.workflow";', children("a")),
    });
    expect(found.map(({ code }) => code)).toEqual(["SW1504"]);
  });

  test(
    "workflow files of which one reads the other while it is loaded",
    { tags: ["large"] },
    async () => {
      const found = await problems({
        "a.workflow.ts": flow("a", 'import { b } from "./b.workflow";', children("b")),
        "b.workflow.ts": flow(
          "b",
          'import { a } from "./a.workflow";',
          '.child("c", a, () => ({}))',
        ),
      });
      expect(found).toMatchObject([
        {
          code: "SW1503",
          place: { line: 3, column: 19, length: 14 },
          message: expect.stringContaining("a.workflow.ts -> b.workflow.ts -> a.workflow.ts"),
        },
      ]);
    },
  );

  test.each([
    ["a schema", "export const schema = z.object({});", '.event("e", { schema: other.schema })'],
    [
      "in a branch",
      "export const wait = 5;",
      '.branch("b", { on: () => "x" as const, cases: { x: (b) => b.event("s", { schema: other.wait }) } })',
    ],
    [
      "in a loop",
      "export const wait = 5;",
      '.loop("l", { initial: () => 0, body: (b) => b.event("s", { schema: other.wait }), until: () => true, maxIterations: 2 })',
    ],
    [
      "in a method",
      "export const wait = 5;",
      '.loop("l", { initial: () => 0, body(b) { return b.event("s", { schema: other.wait }); }, until: () => true, maxIterations: 2 })',
    ],
    [
      "in a function that is called at once",
      "export const wait = 5;",
      '.event("e", { schema: (() => other.wait)() })',
    ],
    ["in the other file", "export const wait = [a];", afterwards],
  ])("%s", { tags: ["large"] }, async (_what, exported, node) => {
    const found = await problems({
      "a.workflow.ts": flow(
        "a",
        'import * as other from "./lib/other"; import { make } from "./lib/other";',
        node,
      ),
      "lib/other.ts": `import { z } from "zod";\nimport { a } from "../a.workflow";\n${exported}\nexport const all = () => [a];`,
    });
    expect(found).toMatchObject([{ code: "SW1504", severity: "warning" }]);
    expect(found[0]?.message).toContain("a.workflow.ts -> lib/other.ts -> a.workflow.ts");
  });

  test.each([
    ["a workspace in a folder of another name", "@acme/flows", "../packages/lib/src/index.ts"],
    ["a linked package", "other/deep", "../libs/other/lib/deep.ts"],
    ["an alias that is called like a package", "zod", "../lib/zod.ts"],
  ])("one by way of %s", async (_what, module, file) => {
    const found = await problems({
      "../node_modules/@acme/flows/": "../packages/lib/",
      "../node_modules/other/": "../libs/other/",
      "../packages/lib/package.json": '{ "name": "@acme/flows", "main": "./src/index.ts" }',
      "../libs/other/package.json":
        '{ "name": "other", "exports": { ".": { "import": "./main.ts" }, "./deep": "./lib/deep.ts" } }',
      "../tsconfig.json": '{ "compilerOptions": { "paths": { "zod": ["./lib/zod.ts"] } } }',
      "a.workflow.ts": flow(
        "a",
        `import { wait } from "${module}";`,
        '.event("e", { schema: wait })',
      ),
      [file]: `import { a } from "${file.replace(/[^/]+/g, "..").slice(0, -5)}/convex/a.workflow";
export const wait = 5, all = () => a;`,
    });
    expect(found.map(({ code }) => code)).toEqual(["SW1504"]);
    expect(found[0]?.message).toContain(`a.workflow.ts -> ${file} -> a.workflow.ts`);
  });

  test("our own packages are not looked through, where they are linked either", async () => {
    const files: Readonly<Record<string, string>> = {
      "../node_modules/@stepwise/workflow/": "../packages/workflow/",
      "../packages/workflow/package.json": '{ "main": "./src/index.ts" }',
      "../packages/workflow/src/index.ts": "export {};",
    };
    const asked: string[] = [];
    await new Compiler().compileSources([{ file: "a.workflow.ts", text: flow("a") }], (file) => {
      asked.push(file);
      return files[file];
    });
    expect(asked.filter((file) => file.includes("packages/workflow"))).toEqual([]);
  });

  test.each([
    ["./other.js", "other.tsx"],
    ["./other.jsx", "other.tsx"],
    ["./other.mjs", "other.mts"],
    ["./other.cjs", "other.cts"],
    ["./other.mjs", "other.mjs"],
    ["./other", "other.jsx"],
    ["./other", "other/index.tsx"],
    ["./other", "other/index.js"],
  ])("one by way of %s, which is %s", async (module, file) => {
    const up = file.includes("/") ? ".." : ".";
    const found = await problems({
      "a.workflow.ts": flow(
        "a",
        `import { wait } from "${module}";`,
        '.event("e", { schema: wait })',
      ),
      [file]: `import { a } from "${up}/a.workflow";\nexport const wait = 5, all = () => a;`,
    });
    expect(found.map(({ code }) => code)).toEqual(["SW1504"]);
  });

  test.each([
    ["a path alias", 'import { b } from "@/b.workflow";', "b"],
    ["an import of the package", 'import { b } from "#b";', "b"],
    ["import … = require(…)", 'import flows = require("./b.workflow");', "flows.b"],
    ["import … = ns.name", 'import * as flows from "./b.workflow"; import b = flows.b;', "b"],
  ])("workflow files that know each other by %s", async (_how, imports, b) => {
    const found = await problems({
      "tsconfig.json": '{ "compilerOptions": { "baseUrl": ".", "paths": { "@/*": ["*"] } } }',
      "package.json": '{ "imports": { "#b": "./b.workflow.ts" } }',
      "a.workflow.ts": flow("a", imports, `.child("c", ${b}, () => ({}))`),
      "b.workflow.ts": flow("b", 'import { a } from "@/a.workflow";', '.event("e", { schema: a })'),
    });
    expect(found.map(({ code }) => code)).toEqual(["SW1503"]);
    expect(found[0]?.message).toContain("a.workflow.ts -> b.workflow.ts -> a.workflow.ts");
  });

  test("one by way of a file outside the functions folder", async () => {
    const waits = '.event("e", { schema: waits })';
    const found = await problems({
      "../tsconfig.json": '{ "compilerOptions": { "paths": { "@/*": ["./*"] } } }',
      "a.workflow.ts": flow("a", 'import { b } from "@/lib/flows";', children("b()")),
      "b.workflow.ts": flow("b", 'import { waits } from "../lib/flows";', waits),
      "../lib/flows.ts":
        'import { b as one } from "../convex/b.workflow";\nexport { a } from "../convex/a.workflow";\nexport const b = () => one, waits = 1;',
    });
    expect(found.map(({ message }) => message)).toEqual([
      expect.stringContaining("b.workflow.ts -> ../lib/flows.ts -> b.workflow.ts"),
    ]);
  });

  test.each([
    ["the index", "./_workflows", "_workflows/index.ts -> _workflows/a.ts"],
    ["the index by its name", "./_workflows/index", "_workflows/index.ts -> _workflows/a.ts"],
    ["the list", "./_workflows/workflows", "_workflows/workflows.ts -> _workflows/a.ts"],
    ["its own generated file", "./_workflows/a", "_workflows/a.ts"],
    ["the index by a path alias", "@/_workflows", "_workflows/index.ts -> _workflows/a.ts"],
  ])("a definition that imports %s", async (_what, module, way) => {
    const imports = `import * as generated from "${module}";`;
    const found = await problems({
      "tsconfig.json": '{ "compilerOptions": { "paths": { "@/*": ["./*"] } } }',
      "a.workflow.ts": flow("a", imports, '.step("s", { mutation: () => generated.workflow })'),
    });
    expect(found).toMatchObject([{ code: "SW1503", place: { file: "a.workflow.ts", line: 3 } }]);
    expect(found[0]?.message).toContain(`a.workflow.ts -> ${way} -> a.workflow.ts`);
    expect(found[0]?.hint).toContain("internal.file.name");
  });

  const ofIndex = '.step("s", { mutation: () => it.workflow })';
  test.each([
    ["require", 'const it = require("./_workflows");', ofIndex],
    ["require, by the name of the file", 'const it = require("./_workflows/index");', ofIndex],
    [
      "what createRequire gives",
      'import { createRequire } from "module";\nconst require = createRequire(""); const it = require("./_workflows");',
      ofIndex,
    ],
    ["await import", 'const it = await import("./_workflows");', ofIndex],
    ["import in pieces", 'const it = await import("./" + "_workflows");', ofIndex],
    [
      "import in a function that is called at once",
      "const it = (() => import(`./_workflows`))();",
      ofIndex,
    ],
    [
      "require in the body of a loop",
      "",
      '.loop("l", { initial: () => 0, body: (b) => b.event("s", { schema: require("./_workflows").x }), until: () => true, maxIterations: 2 })',
    ],
    [
      "a library file",
      'import { it } from "./lib/log";',
      '.step("s", { mutation: () => it().workflow })',
    ],
    [
      "another library file",
      'import { it } from "./lib/wait";',
      '.step("s", { mutation: () => it })',
    ],
  ])("a definition that loads generated code by %s", async (_how, imports, node) => {
    const found = await problems({
      "a.workflow.ts": flow("a", imports, node),
      "lib/log.ts": 'const all = require("../_workflows");\nexport const it = () => all;',
      "lib/wait.ts": 'export const it = (await import("../_workflows")).workflow;',
    });
    expect(found.map(({ code }) => code)).toContain("SW1503");
    expect(found.at(-1)?.message).toMatch(
      /a\.workflow\.ts -> (lib\/\w+\.ts -> )?_workflows\/index\.ts -> _workflows\/a\.ts -> a\.work/,
    );
  });

  test("one by way of modules of the app, wherever generated code stands", async () => {
    const found = await problems(
      {
        "a.workflow.ts": flow(
          "a",
          'import { log } from "./log";',
          '.step("s", { mutation: () => log() })',
        ),
        "log.ts": 'export { log } from "./lib/starts";',
        "lib/starts.ts":
          'import { workflow } from "../flows";\nexport function log() { return workflow; }',
      },
      'import { defineConfig } from "@stepwise/workflow";\nexport default defineConfig({ output: "flows" });\n',
    );
    expect(found.map(({ message }) => message)).toEqual([
      expect.stringContaining(
        "a.workflow.ts -> log.ts -> lib/starts.ts -> flows/index.ts -> flows/a.ts -> a.workflow.ts",
      ),
    ]);
  });
});

describe("a circle that is loaded well is none", () => {
  test.each<[what: string, files: Record<string, string>]>([
    [
      "types",
      {
        "a.workflow.ts": flow("a", 'import type { workflow } from "./_workflows";'),
        "b.workflow.ts": flow("b", 'import { type Api } from "./_workflows/api";\ntype X = Api;'),
      },
    ],
    [
      "values that are only used as types",
      {
        "a.workflow.ts": flow(
          "a",
          'import { workflow } from "./_workflows";\ntype X = typeof workflow;',
        ),
      },
    ],
    [
      "values that are used only inside functions",
      {
        "a.workflow.ts": flow("a", 'import { x } from "./x";', '.step("s", { query: () => x() })'),
        "x.ts": 'import { a } from "./a.workflow";\nexport const x = () => a;',
      },
    ],
    [
      "modules that import generated code but no definition imports",
      {
        "a.workflow.ts": flow("a", 'import { x } from "./x";', '.event("s", { schema: x })'),
        "x.ts": "export const x = 5;",
        "start.ts":
          'import { workflow } from "./_workflows";\nimport { x } from "./x";\nexport const y = [workflow, x];',
      },
    ],
    [
      "members with the name of an import",
      {
        "a.workflow.ts": flow("a", 'import { x } from "./x";', '.event("s", { schema: x })'),
        "x.ts":
          'import { a } from "./a.workflow";\nexport enum E { a }\nexport class K { static a = 1; b() { return this.a; } }\nexport const x = { a() { return E.a; } };',
      },
    ],
    [
      "what is loaded only when a function runs",
      {
        "a.workflow.ts": flow(
          "a",
          'import { load } from "./load";',
          '.step("s", { action: async () => [await import("./_workflows"), await load()] })',
        ),
        "load.ts": 'export const load = async () => require("./_workflows");',
      },
    ],
    [
      "what is loaded after the file, as nothing waits for it",
      {
        "a.workflow.ts": flow(
          "a",
          'import("./_workflows").then((all) => all.workflow);\nvoid import("./_workflows");',
        ),
      },
    ],
    [
      "what only another function of the same name loads",
      {
        "a.workflow.ts": flow(
          "a",
          'export const load = () => require("./_workflows");\n{ const load = () => 1; load(); }',
        ),
      },
    ],
    [
      "what generated code offers to definitions",
      {
        "a.workflow.ts": flow(
          "a",
          'import { internal } from "./_workflows/api";',
          '.step("s", { mutation: internal.x.y, args: () => ({}) })',
        ),
      },
    ],
  ])("%s", async (_what, files) => {
    expect(await problems(files)).toEqual([]);
  });
});
