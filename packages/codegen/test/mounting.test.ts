/** @module-tag large */
import { mkdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { beforeEach, expect, test, vi } from "vitest";
import { mkdtemp, rm } from "../../../scripts/folders.mjs";
import { check, generate } from "../src/cli/generate.js";
import { Compiler } from "../src/compile.js";
import { mountComponent } from "../src/init/convex-config.js";
import { unchangedSince } from "../src/cache/last-compile.js";

const MAIL = `import { defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";

export const mail = defineWorkflow({ input: z.object({}) }).step("send", { action: () => 1 });
`;

const sources = [{ file: "mail.workflow.ts", text: MAIL }];

const named = (component: string) =>
  `import { defineConfig } from "@stepwise/workflow";\nexport default defineConfig({ component: ${component} });\n`;

/** A convex.config.ts whose app is `const app = defineApp()`, unless it is made anew. */
const config = (uses: string, made = "const app = defineApp();", exported = "app") => `
import { defineApp } from "convex/server";
import workflow from "@stepwise/workflow/convex.config";
import aggregate from "@convex-dev/aggregate/convex.config.js";
import billing from "./billing/convex.config";
${made}
${uses}
export default ${exported};
`;

/** What an app with these files is told. */
async function told(files: Readonly<Record<string, string>>): Promise<string[]> {
  const { diagnostics, ok } = await new Compiler().compileSources(sources, (file) => files[file]);
  for (const { code, severity } of diagnostics.filter((each) => each.code === "SW1604"))
    expect({ code, severity, ok }).toEqual({ code: "SW1604", severity: "warning", ok: true });
  return diagnostics.map(({ code, message, place }) => `${code} ${place.line}: ${message}`);
}

test("init mounts the component below the app, though a function above mounts others on it", () => {
  const above = "function add(app) {\n  app.use(aggregate);\n}\nconst app = defineApp();";
  const { edit } = mountComponent("convex.config.ts", config("add(app);", above), "workflow");
  expect(edit.kind === "change" && edit.text).toContain(
    "const app = defineApp();\napp.use(workflow);\nadd(app);",
  );
});

const missed = "so generated code finds no `components.workflow`";

test.each([
  ["nothing", config("")],
  ["nothing, exported at once", config("", "", "defineApp()")],
  ["another component", config("app.use(aggregate);")],
  ["another, under a name", config('app.use(billing, { name: "billing" });')],
  ["another, with other options", config('app.use(aggregate, { httpPrefix: "/x" });')],
])("a config that mounts %s is told, and what init makes of it is not", async (_what, text) => {
  const [first = "", ...others] = await told({ "convex.config.ts": text });
  expect(others).toEqual([]);
  expect(first).toMatch(/^SW1604 [68]: /);
  expect(first).toContain(`convex.config.ts does not mount the workflow component, ${missed}`);
  const { edit } = mountComponent("convex.config.ts", text, "workflow");
  if (edit.kind !== "change") throw new Error(`init does not change it, but: ${edit.kind}`);
  expect(await told({ "convex.config.ts": edit.text })).toEqual([]);
});

test("a component that is mounted under another name than stepwise.config.ts gives is told, with both", async () => {
  const flows = config('app.use(workflow, { name: "flows" });');
  expect(await told({ "convex.config.ts": flows })).toEqual([
    `SW1604 7: convex.config.ts mounts the workflow component as "flows", ${missed}`,
  ]);
  expect(await told({ "convex.config.ts": flows, "stepwise.config.ts": named('"flows"') })).toEqual(
    [],
  );
  const usual = { "convex.config.ts": config("app.use(workflow);") };
  expect(await told(usual)).toEqual([]);
  expect(await told({ ...usual, "stepwise.config.ts": named('"flows"') })).toEqual([
    'SW1604 7: convex.config.ts mounts the workflow component as "workflow", so generated code finds no `components.flows`',
  ]);
});

test.each([
  ["as an option", config("app.use(workflow, { httpPrefix: '/flows' });")],
  ["in a condition", config("if (process.env.FLOWS) app.use(workflow);")],
  ["twice", config('app.use(workflow, { name: "other" });\napp.use(workflow);')],
  ["under a computed name", config("app.use(workflow, { name: NAME });")],
  ["with options from elsewhere", config("app.use(workflow, options);")],
  ["by a list", config("for (const each of [aggregate, workflow]) app.use(each);")],
  ["by a function", config("mountAll(app);")],
  ["by an alias", config("const other = app;\nother.use(workflow);")],
  ["by a method taken out", config("const use = app.use;\nuse(workflow);")],
  ["by brackets", config('app["use"](workflow);')],
  ["on the way out", config("", undefined, "withWorkflows(app)")],
  ["by a component of the app's own", config("app.use(billing);")],
  ["by what another one has the name of", config('app.use(aggregate, { name: "workflow" });')],
  ["by a defineApp of the app's own", config("").replace("convex/server", "./server")],
  ["in an app made in another way", config("app.use(aggregate);", "const app = makeApp();")],
  [
    "by require",
    'const { defineApp } = require("convex/server");\nconst app = defineApp();\nmodule.exports = app;\n',
  ],
  ["by what does not parse", "const app = defineApp("],
  ["by nothing, in an empty file", ""],
])("of a component that may be mounted %s nothing is said", async (_how, text) => {
  expect(await told({ "convex.config.ts": text })).toEqual([]);
});

test.each(["{ ...NAMED }", '{ "name": "flows" }', '{ ["name"]: "flows" }', "{ name }"])(
  "nor of one that may be mounted under the name that stepwise.config.ts gives, with %s",
  async (options) => {
    const uses = `app.use(workflow, ${options});`;
    const files = { "convex.config.ts": config(uses), "stepwise.config.ts": named('"flows"') };
    expect(await told(files)).toEqual([]);
  },
);

test("a name that cannot be read is told as that alone", async () => {
  for (const name of ["NAME", '"a-b"']) {
    const files = { "convex.config.ts": config(""), "stepwise.config.ts": named(name) };
    expect(await told(files)).toMatchObject([expect.stringMatching(/^SW160[13] 2/)]);
  }
});

test("that there is no config at all is told of an app that Convex knows", async () => {
  expect(await told({})).toEqual([]);
  const message = `SW1604 1: there is no convex.config.ts that mounts the workflow component, ${missed}`;
  expect(await told({ "_generated/api.d.ts": "" })).toEqual([message]);
  expect(await told({ "_generated/api.ts": "" })).toEqual([message]);
  const js = { "_generated/api.d.ts": "", "convex.config.js": config("app.use(workflow);") };
  expect(await told(js)).toEqual([]);
  // Convex takes the other, where both are there.
  expect(await told({ ...js, "convex.config.ts": config("") })).toHaveLength(1);
});

test("without workflows there is no code that looks for the component", async () => {
  const { diagnostics } = await new Compiler().compileSources([], (file) =>
    file === "convex.config.ts" ? config("") : undefined,
  );
  expect(diagnostics).toEqual([]);
});

test("a compiler that is used again tells what a new one tells", async () => {
  const compiler = new Compiler();
  const texts = [config(""), undefined, config(""), config("app.use(workflow);"), config("")];
  for (const text of texts) {
    const read = (file: string) => (file === "convex.config.ts" ? text : undefined);
    const again = await compiler.compileSources(sources, read);
    const anew = await new Compiler().compileSources(sources, read);
    expect(again.diagnostics).toEqual(anew.diagnostics);
  }
});

let app = "";
beforeEach(async () => {
  app = await mkdtemp(join(tmpdir(), "stepwise-mounting-"));
  await write("package.json", "{}");
  await write("convex/mail.workflow.ts", MAIL);
  return () => rm(app, { recursive: true });
});

async function write(file: string, text: string): Promise<void> {
  await mkdir(dirname(join(app, file)), { recursive: true });
  await writeFile(join(app, file), text);
}

/** Runs a command on the app; gives its exit code and what it prints. */
async function run(
  command: typeof generate | typeof check,
): Promise<{ code: number; text: string }> {
  let text = "";
  const stream = { write: (part: string) => void (text += part) };
  const terminal = { cwd: app, color: false, stdout: stream, stderr: stream, exitCode: 0 };
  const code = await command({}, terminal);
  return { code, text };
}

const record = () => unchangedSince(join(app, "convex"));

test("it is told every time, by generate and check, and holds up nothing", async () => {
  // There is no baseline here, which `check` refuses in CI.
  vi.stubEnv("CI", "");
  await write("convex/convex.config.ts", config(""));
  for (const command of [generate, generate, check]) {
    const { code, text } = await run(command);
    expect(code).toBe(0);
    expect(text).toContain("convex/convex.config.ts:6:1 warning SW1604: ");
  }
});

test("whatever becomes of the config is seen, although no definition has changed", async () => {
  await write("convex/convex.config.ts", config("app.use(workflow);"));
  expect((await run(generate)).text).not.toContain("warning");
  // Of all that is looked for, only these are read when nothing has changed: what the imports of
  // a definition stand for is said in any manifest or tsconfig around it, or by a link of npm. Our
  // own packages are not looked for.
  const around = ["", "../", "../../", "../../../"];
  const names = ["package.json", "tsconfig.json"];
  const says = around.flatMap((at) => [...names, "node_modules/zod/"].map((name) => at + name));
  const configs = ["stepwise.config.ts", "stepwise.config.js", "../stepwise.config.ts"];
  const consulted = ["convex.config.ts", ...configs, ...says];
  expect(record()?.consulted).toEqual(consulted.sort());
  await write("convex/convex.config.ts", config(""));
  expect(record()).toBeUndefined();
  await write("convex/convex.config.ts", config("app.use(workflow);"));
  await run(generate);
  expect(record()).toBeDefined();
  await rm(join(app, "convex/convex.config.ts"));
  expect(record()).toBeUndefined();
  // Before Convex knows the app, there is nothing to tell; as soon as it does, there is.
  expect((await run(generate)).text).not.toContain("warning");
  expect(record()).toBeDefined();
  await write("convex/_generated/api.d.ts", "export {};\n");
  expect(record()).toBeUndefined();
  expect((await run(generate)).text).toContain("convex/convex.config.ts:1:1 warning SW1604: ");
});
