/** @module-tag large */
import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { compile } from "../../src/compile.js";
import { mountComponent } from "../../src/init/convex-config.js";
import { addScripts, nameComponent } from "../../src/init/app-files.js";
import { filesIn } from "../golden.js";
import { app, useApp, workflowCodegen } from "./command.js";

useApp();

test("in an empty folder it makes the scripts, the component and a first workflow that compiles", async () => {
  const { code, out, err } = await workflowCodegen("init");
  expect({ code, err }).toEqual({ code: 0, err: "" });
  expect(out)
    .toBe(`created package.json: adds the scripts workflows, workflows:watch, workflows:check
created convex/convex.config.ts: mounts the workflow component
created convex/hello.workflow.ts: a first workflow
created convex/_generated: a first version, which npx convex dev replaces
created convex/tsconfig.json: the settings for TypeScript that npx convex dev would write
created .prettierignore: keeps Prettier out of generated code
Next:
  $ npm install @stepwise/workflow convex zod && npm install --save-dev @stepwise/codegen
  $ npx workflow-codegen run hello --input '{ "name": "Ada" }'
  $ npx workflow-codegen dev
`);
  expect(Object.keys(await filesIn(app())).sort()).toEqual([
    ".prettierignore",
    "convex/_generated/api.d.ts",
    "convex/_generated/api.js",
    "convex/_generated/dataModel.d.ts",
    "convex/_generated/server.d.ts",
    "convex/_generated/server.js",
    "convex/convex.config.ts",
    "convex/hello.workflow.ts",
    "convex/tsconfig.json",
    "package.json",
  ]);
  const { diagnostics, plan } = await compile({ functionsDir: join(app(), "convex") });
  expect(diagnostics).toEqual([]);
  expect(plan.workflows.map(({ name }) => name)).toEqual(["hello"]);
});

test("a package that is linked, which no manifest names, is not to be installed", async () => {
  const scope = join(app(), "node_modules", "@stepwise");
  await mkdir(scope, { recursive: true });
  for (const name of ["workflow", "codegen"]) await symlink(app(), join(scope, name), "junction");
  const { out } = await workflowCodegen("init");
  expect(out).toContain("Next:\n  $ npm install convex zod\n  $ npx workflow-codegen run");
});

test("the second time it changes nothing, and says so", async () => {
  await workflowCodegen("init");
  const packages = ["@stepwise/workflow", "convex", "zod", "@stepwise/codegen"];
  const manifest = JSON.parse(await readFile(join(app(), "package.json"), "utf8"));
  manifest.dependencies = Object.fromEntries(packages.map((name) => [name, "*"]));
  await writeFile(join(app(), "package.json"), JSON.stringify(manifest));
  const before = await filesIn(app());
  const { code, out } = await workflowCodegen("init");
  expect(code).toBe(0);
  expect(out).toBe(`kept package.json: has the scripts already
kept convex/convex.config.ts: mounts the workflow component already
kept convex/hello.workflow.ts: is a workflow already
kept convex/_generated: is there already
kept .prettierignore: ignores generated code already
Nothing to do: convex is ready for workflows.
`);
  expect(await filesIn(app())).toEqual(before);
});

test("again, with a schema that came later, it types the tables; what convex dev has written stays", async () => {
  await workflowCodegen("init");
  const types = join(app(), "convex/_generated/dataModel.d.ts");
  await writeFile(join(app(), "convex/schema.ts"), "export default defineSchema({});\n");
  const { code, out } = await workflowCodegen("init");
  expect(code).toBe(0);
  expect(out).toContain(
    "changed convex/_generated/dataModel.d.ts: types the tables of schema.ts\n",
  );
  expect(await readFile(types, "utf8")).toContain("DataModelFromSchemaDefinition<typeof schema>");
  await writeFile(types, "// convex dev\n");
  expect((await workflowCodegen("init")).out).toContain(
    "kept convex/_generated: is there already\n",
  );
  expect(await readFile(types, "utf8")).toBe("// convex dev\n");
});

test("in an existing app it adds what is missing, where convex.json says, and keeps the rest", async () => {
  await mkdir(join(app(), "backend"));
  await writeFile(join(app(), "convex.json"), '{ "functions": "backend/" }');
  await writeFile(join(app(), "backend/mine.workflow.ts"), "// mine\n");
  await writeFile(
    join(app(), "package.json"),
    '{\n\t"name": "app",\n\t"dependencies": { "convex": "1" }\n}\n',
  );
  const { code, out } = await workflowCodegen("init");
  expect(code).toBe(0);
  expect(out).toContain("kept backend/mine.workflow.ts");
  expect(out).toContain(
    "npm install @stepwise/workflow zod && npm install --save-dev @stepwise/codegen",
  );
  expect(await filesIn(app())).toMatchObject({
    "backend/mine.workflow.ts": "// mine\n",
    "backend/convex.config.ts": expect.stringContaining("app.use(workflow);"),
    "package.json": `{
\t"name": "app",
\t"dependencies": {
\t\t"convex": "1"
\t},
\t"scripts": {
\t\t"workflows": "workflow-codegen",
\t\t"workflows:watch": "workflow-codegen --watch",
\t\t"workflows:check": "workflow-codegen check"
\t}
}
`,
  });
});

test("a file that cannot be changed safely is left, with what to do; the exit code is 1", async () => {
  await mkdir(join(app(), "convex"));
  await writeFile(join(app(), "convex/convex.config.ts"), "export default make();\n");
  const { code, out } = await workflowCodegen("init");
  expect(code).toBe(1);
  expect(out).toContain(
    "not changed convex/convex.config.ts: it calls no `defineApp()` as `const app = defineApp()` or `export default defineApp()`: add `import workflow",
  );
  // Nothing would work without the component.
  expect(out).not.toContain("Next:");
  expect(out).toContain(
    "convex is not ready for workflows: convex.config.ts must be changed by hand, as said above. Then run init again.\n",
  );
  expect((await filesIn(app()))["convex/convex.config.ts"]).toBe("export default make();\n");
});

const mounted = (text: string) => {
  const { edit } = mountComponent("convex.config.ts", text, "workflow");
  return "text" in edit ? edit.text : edit.kind;
};

test.each<[what: string, before: string, after: string]>([
  [
    "after the other components, with comments, quotes and semicolons as they are",
    `// ours\nimport { defineApp } from 'convex/server'\nimport rag from "@convex-dev/rag/convex.config"; // search\n\nconst app = defineApp()\napp.use(rag, { name: "search" }) // first\n\nexport default app\n`,
    `// ours\nimport { defineApp } from 'convex/server'\nimport rag from "@convex-dev/rag/convex.config"; // search\nimport workflow from "@stepwise/workflow/convex.config";\n\nconst app = defineApp()\napp.use(rag, { name: "search" })\napp.use(workflow); // first\n\nexport default app\n`,
  ],
  [
    "after the app, when it is the first",
    `import { defineApp } from "convex/server";\nconst server = defineApp();\nexport default server;`,
    `import { defineApp } from "convex/server";\nimport workflow from "@stepwise/workflow/convex.config";\nconst server = defineApp();\nserver.use(workflow);\nexport default server;`,
  ],
  [
    "under another local name, when its own is taken",
    `import { defineApp } from "convex/server";\nimport workflow from "./workflow/convex.config";\nconst app = defineApp();\napp.use(workflow, { name: "mine" });\nexport default app;\n`,
    `import { defineApp } from "convex/server";\nimport workflow from "./workflow/convex.config";\nimport stepwise from "@stepwise/workflow/convex.config";\nconst app = defineApp();\napp.use(workflow, { name: "mine" });\napp.use(stepwise);\nexport default app;\n`,
  ],
  [
    "with the import that is there",
    `import { defineApp } from "convex/server";\nimport flows from "@stepwise/workflow/convex.config.js";\nconst app = defineApp();\nexport default app;\n`,
    `import { defineApp } from "convex/server";\nimport flows from "@stepwise/workflow/convex.config.js";\nconst app = defineApp();\napp.use(flows);\nexport default app;\n`,
  ],
  [
    "in an app that has no name",
    `import { defineApp } from "convex/server";\n\n// Ours.\nexport default defineApp();\n`,
    `import { defineApp } from "convex/server";\nimport workflow from "@stepwise/workflow/convex.config";\n\n// Ours.\nconst app = defineApp();\napp.use(workflow);\n\nexport default app;\n`,
  ],
  [
    "in an app that has no name, right under the imports",
    `import { defineApp } from "convex/server";\nexport default defineApp();\n`,
    `import { defineApp } from "convex/server";\nimport workflow from "@stepwise/workflow/convex.config";\nconst app = defineApp();\napp.use(workflow);\n\nexport default app;\n`,
  ],
  [
    "under a name of its own, when another component has the usual one",
    `import workflow from "@convex-dev/workflow/convex.config";\nconst app = defineApp();\napp.use(workflow);\nexport default app;\n`,
    `import workflow from "@convex-dev/workflow/convex.config";\nimport stepwise from "@stepwise/workflow/convex.config";\nconst app = defineApp();\napp.use(workflow);\napp.use(stepwise, { name: "stepwise" });\nexport default app;\n`,
  ],
  [
    "where its type is said",
    `import { type AppDefinition, defineApp as make } from "convex/server";\nconst app = (make()) satisfies AppDefinition;\nexport default app;\n`,
    `import { type AppDefinition, defineApp as make } from "convex/server";\nimport workflow from "@stepwise/workflow/convex.config";\nconst app = (make()) satisfies AppDefinition;\napp.use(workflow);\nexport default app;\n`,
  ],
  [
    "where the whole of Convex is imported",
    `import * as server from "convex/server";\nconst app = server.defineApp();\nexport default app;\n`,
    `import * as server from "convex/server";\nimport workflow from "@stepwise/workflow/convex.config";\nconst app = server.defineApp();\napp.use(workflow);\nexport default app;\n`,
  ],
  [
    "with the line ends and the byte order mark of the file",
    `\ufeffimport { defineApp } from "convex/server";\r\nconst app = defineApp();\r\nexport default app;\r\n`,
    `\ufeffimport { defineApp } from "convex/server";\r\nimport workflow from "@stepwise/workflow/convex.config";\r\nconst app = defineApp();\r\napp.use(workflow);\r\nexport default app;\r\n`,
  ],
])("the component is mounted %s", (_what, before, after) => {
  expect(mounted(before)).toBe(after);
  expect(mounted(after)).toBe("keep");
});

test.each([
  ["does not parse", "const app = ;"],
  ["calls no `defineApp()` as", "export default make();"],
  [
    "calls `defineComponent()`, and workflows are part of an app",
    'import { defineComponent as make } from "convex/server";\nexport default make("mine");\n',
  ],
  [
    "is a CommonJS module",
    'const { defineApp } = require("convex/server");\nmodule.exports = defineApp();\n',
  ],
  [
    "under a name that is computed",
    `import flows from "@stepwise/workflow/convex.config";\nconst app = defineApp();\napp.use(flows, { name: NAME });\n`,
  ],
  [
    'two components under the name "workflow", with `app.use(stepwise)` and `app.use(workflow)`',
    `import workflow from "@convex-dev/workflow/convex.config";\nimport stepwise from "@stepwise/workflow/convex.config";\nconst app = defineApp();\napp.use(workflow);\napp.use(stepwise);\n`,
  ],
])("a convex.config.ts that %s is not touched", (what, text) => {
  const { edit } = mountComponent("convex.config.ts", text, "workflow");
  expect(edit).toMatchObject({ kind: "refuse", what: expect.stringContaining(what) });
});

test("a convex.config.ts that gives another component the name of stepwise.config.ts is not touched", () => {
  const text = `import own from "./own/convex.config";\nconst app = defineApp();\napp.use(own, { name: "flows" });\n`;
  expect(mountComponent("convex.config.ts", text, "flows").edit).toMatchObject({
    kind: "refuse",
    what: expect.stringContaining("another component"),
  });
});

test("beside another component of the usual name, the app's config says the name of its own", async () => {
  await mkdir(join(app(), "convex"));
  const before = `import workflow from "@convex-dev/workflow/convex.config";\nimport { defineApp } from "convex/server";\nconst app = defineApp();\napp.use(workflow);\nexport default app;\n`;
  await writeFile(join(app(), "convex/convex.config.ts"), before);
  expect((await workflowCodegen("init")).code).toBe(0);
  const { files, diagnostics } = await compile({ functionsDir: join(app(), "convex") });
  expect(diagnostics).toEqual([]);
  expect(files.find(({ path }) => path.endsWith("/index.ts"))?.text).toContain(
    "components.stepwise",
  );
});

test("a convex.config.js is edited, as Convex knows it by either name", async () => {
  await mkdir(join(app(), "convex"));
  const file = join(app(), "convex/convex.config.js");
  await writeFile(
    file,
    'import { defineApp } from "convex/server";\nconst app = defineApp();\nexport default app;\n',
  );
  const { code, out } = await workflowCodegen("init");
  expect(code).toBe(0);
  expect(out).toContain("changed convex/convex.config.js: mounts the workflow component\n");
  expect(await readFile(file, "utf8")).toContain("app.use(workflow);");
  expect(Object.keys(await filesIn(join(app(), "convex"))).sort()).toEqual([
    "_generated/api.d.ts",
    "_generated/api.js",
    "_generated/dataModel.d.ts",
    "_generated/server.d.ts",
    "_generated/server.js",
    "convex.config.js",
    "hello.workflow.ts",
    "tsconfig.json",
  ]);
});

const mountedAsFlows = `import flows from "@stepwise/workflow/convex.config";
import { defineApp } from "convex/server";
const app = defineApp();
app.use(flows, { name: "flows" });
export default app;
`;

const configWith = (object: string) =>
  `import { defineConfig } from "@stepwise/workflow";\nexport default defineConfig(${object});\n`;

test("an edited file keeps its line ends and its byte order mark", async () => {
  await mkdir(join(app(), "convex"));
  const windows = (lines: string) => `\ufeff${lines.replaceAll("\n", "\r\n")}`;
  // Another component has the usual name, so every one of them is edited.
  const before = {
    "package.json": '{\n\t"name": "app"\n}\n',
    ".prettierignore": "dist\n",
    "convex/convex.config.ts": `import workflow from "@convex-dev/workflow/convex.config";\nimport { defineApp } from "convex/server";\nconst app = defineApp();\napp.use(workflow);\nexport default app;\n`,
    "convex/stepwise.config.ts": configWith("{\n  retry: true,\n}"),
  };
  for (const [path, text] of Object.entries(before))
    await writeFile(join(app(), path), windows(text));
  const { out } = await workflowCodegen("init");
  for (const path of Object.keys(before)) {
    expect(out).toContain(`changed ${path}: `);
    const after = await readFile(join(app(), path), "utf8");
    expect(after).toBe(windows(after.replaceAll(/[\ufeff\r]/g, "")));
  }
});

test("a component that is mounted under another name is named in stepwise.config.ts, by which generated code finds it", async () => {
  await mkdir(join(app(), "convex"));
  await writeFile(join(app(), "convex/convex.config.ts"), mountedAsFlows);
  const { code, out } = await workflowCodegen("init");
  expect(code).toBe(0);
  expect(out)
    .toContain(`kept convex/convex.config.ts: mounts the workflow component already, as "flows"
created convex/stepwise.config.ts: says that the component is mounted as "flows"
`);
  const { files, diagnostics } = await compile({ functionsDir: join(app(), "convex") });
  expect(diagnostics).toEqual([]);
  expect(files.find(({ path }) => path.endsWith("/index.ts"))?.text).toContain("components.flows");
  const again = await workflowCodegen("init");
  expect(again.code).toBe(0);
  expect(again.out).toContain(
    'kept convex/stepwise.config.ts: says that the component is mounted as "flows" already',
  );
});

test("the component is mounted under the name that stepwise.config.ts gives", async () => {
  await mkdir(join(app(), "convex"));
  await writeFile(
    join(app(), "convex/stepwise.config.ts"),
    'import { defineConfig } from "@stepwise/workflow";\nexport default defineConfig({ component: "flows" });\n',
  );
  const { code, out } = await workflowCodegen("init");
  expect(code).toBe(0);
  expect(out).toContain(
    'created convex/convex.config.ts: mounts the workflow component as "flows"',
  );
  expect(await readFile(join(app(), "convex/convex.config.ts"), "utf8")).toContain(
    'app.use(workflow, { name: "flows" });',
  );
});

test("a stepwise.config.ts that gives another name is left, with what to write; the exit code is 1", async () => {
  await mkdir(join(app(), "convex"));
  await writeFile(join(app(), "convex/convex.config.ts"), mountedAsFlows);
  await writeFile(
    join(app(), "convex/stepwise.config.ts"),
    'import { defineConfig } from "@stepwise/workflow";\nexport default defineConfig({ component: "other" });\n',
  );
  const { code, out } = await workflowCodegen("init");
  expect(code).toBe(1);
  expect(out).toContain(
    'not changed convex/stepwise.config.ts: it gives another name to the component than convex.config, which mounts it as "flows": write `component: "flows"` into it yourself',
  );
  expect(out).not.toContain("Next:");
});

test.each<[before: string, after: string]>([
  ["{}", '{ component: "flows" }'],
  ["{ retry: true }", '{ component: "flows", retry: true }'],
  ["{\n  retry: true,\n}", '{\n  component: "flows",\n  retry: true,\n}'],
])("the name is added to a config that has %j", (before, after) => {
  const edit = nameComponent(configWith(before), "flows");
  expect(edit).toMatchObject({ kind: "change", text: configWith(after) });
  expect(nameComponent(configWith(after), "flows")).toMatchObject({ kind: "keep" });
  expect(nameComponent(configWith(before), "workflow")).toBeUndefined();
});

test.each<[what: string, before: string, after: string | undefined]>([
  [
    "scripts of its own",
    '{\n  "scripts": {\n    "dev": "x"\n  }\n}',
    '{\n  "scripts": {\n    "dev": "x",\n    "workflows": "workflow-codegen",\n    "workflows:watch": "workflow-codegen --watch",\n    "workflows:check": "workflow-codegen check"\n  }\n}\n',
  ],
  [
    "some of them, with other commands",
    '{ "scripts": { "workflows": "mine", "workflows:watch": "mine" } }',
    '{\n  "scripts": {\n    "workflows": "mine",\n    "workflows:watch": "mine",\n    "workflows:check": "workflow-codegen check"\n  }\n}\n',
  ],
  [
    "nothing in it",
    "{}",
    '{\n  "scripts": {\n    "workflows": "workflow-codegen",\n    "workflows:watch": "workflow-codegen --watch",\n    "workflows:check": "workflow-codegen check"\n  }\n}\n',
  ],
  ["no JSON in it", "{ // }", undefined],
  ["scripts that are none", '{ "scripts": 3 }', undefined],
])("a package.json with %s keeps it", (_what, before, after) => {
  const edit = addScripts(before);
  expect("text" in edit ? edit.text : undefined).toBe(after);
  if (after === undefined) expect(edit.kind).toBe("refuse");
  else {
    expect(JSON.parse(after)).toHaveProperty("scripts");
    expect(addScripts(after).kind).toBe("keep");
  }
});

test("keeps Prettier out of generated code, once, and leaves the other lines", async () => {
  await workflowCodegen("init");
  const path = join(app(), ".prettierignore");
  expect(await readFile(path, "utf8")).toBe("convex/_workflows\n");
  await writeFile(path, "dist");
  expect((await workflowCodegen("init")).out).toContain("changed .prettierignore");
  expect(await readFile(path, "utf8")).toBe("dist\nconvex/_workflows\n");
  for (const line of ["/convex/_workflows/", "**/_workflows", "convex/_workflows"]) {
    await writeFile(path, `${line}\n`);
    expect((await workflowCodegen("init")).out).toContain("kept .prettierignore");
  }
  const config =
    'import { defineConfig } from "@stepwise/workflow";\nexport default defineConfig({ output: "made/flows" });\n';
  await writeFile(join(app(), "convex/stepwise.config.ts"), config);
  await workflowCodegen("init");
  expect(await readFile(path, "utf8")).toBe("convex/_workflows\nconvex/made/flows\n");
  expect((await workflowCodegen("init")).out).toContain("kept .prettierignore");
});
