import { mkdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { WorkflowManagerOptions } from "@stepwise/workflow";
import { beforeEach, expect, expectTypeOf, test } from "vitest";
import { mkdtemp, rm } from "../../../scripts/folders.mjs";
import { generate } from "../src/cli/generate.js";
import { Compiler, compileSources } from "../src/compile.js";
import { explain } from "../src/explain/explain.js";
import { logLevels } from "../src/plan/constants.js";
import { toWritten } from "../src/plan/write.js";
import { unchangedSince } from "../src/cache/last-compile.js";

const FLOWS = `import { defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";

export const mail = defineWorkflow({ input: z.object({}) }).step("send", { action: () => 1 });
export const once = defineWorkflow({ input: z.object({}), retry: false }).step("send", { action: () => 1 });
`;

const sources = [{ file: "flows.workflow.ts", text: FLOWS }];

const config = (options: string) =>
  `import { defineConfig } from "@stepwise/workflow";\nexport default defineConfig(${options});\n`;

const reading = (text: string | undefined) => (file: string) =>
  file === "stepwise.config.ts" ? text : undefined;

test(
  "an empty config, one whose options are undefined in the end, and none at all change nothing of what is generated",
  { tags: ["large"] },
  async () => {
    const without = await compileSources(sources);
    const unset = '{ retry: true, component: "flows", component: undefined, retry: undefined }';
    for (const options of ["{}", "{ retry: undefined }", unset]) {
      const { files } = await new Compiler().compileSources(sources, reading(config(options)));
      expect(files).toEqual(without.files);
    }
  },
);

test("a compiler that is used again gives what a new one gives, whatever the config was before", async () => {
  const compiler = new Compiler();
  const configs = [
    undefined,
    config("{ retry: true }"),
    config('{ retry: true, component: "flows" }'),
    config("{ retry: { maxAttempts: 2, initialBackoffMs: 1, base: 1 } }"),
    config("{ retry: tru }"),
    config('{ component: "flows", maxParallelism: 7 }'),
    config("{ retry: true }"),
    undefined,
  ];
  for (const text of configs) {
    const again = await compiler.compileSources(sources, reading(text));
    const anew = await new Compiler().compileSources(sources, reading(text));
    expect(again.files).toEqual(anew.files);
    expect(again.diagnostics).toEqual(anew.diagnostics);
  }
});

test.each(["../stepwise.config.ts", "stepwise.config.js"])(
  "a config that is not read, as it is %s, is reported",
  async (place) => {
    const read = (file: string) => (file === place ? config("{ retry: true }") : undefined);
    const { diagnostics } = await new Compiler().compileSources(sources, read);
    expect(diagnostics).toMatchObject([{ code: "SW1601", place: { file: place } }]);
  },
);

test.each([
  ["an option", "const limits = { exports: { total: 5 } };", "{ limits }"],
  ["a limit", "export const exports = { total: 5 } as const;", "{ limits: { exports } }"],
  ["a part", "const five = { total: 5 };", "{ limits: { exports: { ...five } } }"],
  ["all of it", "const all = { limits: { exports: { total: 5 } } };", "all"],
])("a config may be held in consts of its file: %s", async (_what, held, options) => {
  const text = config(options).replace("export default", `${held}\nexport default`);
  const exportedByName = `${text.replace("export default", "const given =")}\nexport { given as default };`;
  for (const each of [text, exportedByName]) {
    const { diagnostics, plan } = await new Compiler().compileSources(sources, reading(each));
    expect(diagnostics).toEqual([]);
    expect(plan.config?.values.limits).toEqual({ exports: { total: 5 } });
  }
});

test.each([
  ["assigned", "given.retry = true;"],
  ["handed to what may change it", "Object.assign(given, { retry: true });"],
])("a config that is changed later is refused: it is %s", async (_how, change) => {
  const text = config("{}").replace("export default", "const given =");
  const found = async (rest: string) =>
    (await new Compiler().compileSources(sources, reading(text + rest))).diagnostics;
  expect(await found("export default given;")).toEqual([]);
  expect(await found(`${change} export default given;`)).toMatchObject([{ code: "SW1601" }]);
});

/** So many limits, and what names them. */
const limitsOf = (count: number) => Array.from({ length: count }, (_, n) => `l${n}`);
const configOf = (names: readonly string[]) =>
  config(`{ limits: { ${names.map((name) => `${name}: { total: 1 }`).join(", ")} } }`);

test("[S265] more limits than a pool has are refused where they are written", async () => {
  const found = async (count: number) => {
    const read = reading(configOf(limitsOf(count)));
    return (await new Compiler().compileSources(sources, read)).diagnostics;
  };
  expect(await found(100)).toEqual([]);
  expect(await found(101)).toMatchObject([{ hint: "these are 101: an app may have 100" }]);
});

test.each([
  ["[]", [9, 9], 'step "send" names 9 limits: an action may have 8'],
  ['["l0", "l8"]', [8, 9], 'step "send" names 9 limits, with those of its workflow: an action'],
  ['["l0", "l7"]', [8, 8], undefined],
])(
  "[S265] more limits than an action has are refused where it names them: %s beside them",
  async (ofWorkflow, [named, all], message) => {
    const names = JSON.stringify(limitsOf(named!));
    const text = FLOWS.replace("{ action: () => 1 }", `{ action: () => 1, limits: ${names} }`);
    const flows = text.replace("z.object({}) }", `z.object({}), limits: ${ofWorkflow} }`);
    const read = reading(configOf(limitsOf(all!)));
    const file = { file: "flows.workflow.ts", text: flows };
    const { diagnostics } = await new Compiler().compileSources([file], read);
    if (message === undefined) expect(diagnostics).toEqual([]);
    else expect(diagnostics).toMatchObject([{ message: expect.stringContaining(message) }]);
  },
);

test(
  "a config that is too deep for the stack is one line at its place",
  { tags: ["large"] },
  async () => {
    const text = config(`{\nretry: ${"1 + ".repeat(30_000)}1\n}`);
    const { diagnostics } = await new Compiler().compileSources(sources, reading(text));
    expect(diagnostics).toMatchObject([{ code: "SW1901", place: { line: 3 } }]);
  },
);

test("the app's retry is part of the plan of each workflow that says nothing, and of no other", async () => {
  const hashes = async (text: string | undefined) => {
    const { plan } = await new Compiler().compileSources(sources, reading(text));
    return Object.fromEntries(toWritten(plan).workflows.map(({ name, hash }) => [name, hash]));
  };
  const [without, retried, paused] = [
    await hashes(undefined),
    await hashes(config("{ retry: true }")),
    await hashes(
      config('{ maxParallelism: 0, logLevel: "INFO", retention: "1 day", component: "flows" }'),
    ),
  ];
  expect(retried["mail"]).not.toBe(without["mail"]);
  expect(retried["once"]).toBe(without["once"]);
  // Where it is mounted, how much runs at once, what is logged and how long it is kept makes no run
  // another one.
  expect(paused).toEqual(without);
});

test("the log levels are those of the manager", () => {
  expectTypeOf<(typeof logLevels)[number]>().toEqualTypeOf<
    NonNullable<WorkflowManagerOptions["logLevel"]>
  >();
});

test("explain counts the attempts that the config gives", async () => {
  const { plan } = await new Compiler().compileSources(
    sources,
    reading(config("{ retry: { maxAttempts: 4, initialBackoffMs: 1, base: 1 } }")),
  );
  const attempts = explain(plan, undefined).map(({ name, nodes }) => [
    name,
    nodes[0]?.stages[0]?.attempts,
  ]);
  expect(attempts).toEqual([
    ["mail", 4],
    ["once", 1],
  ]);
});

test("what a workflow that is gone leaves behind finds the component too", async () => {
  const before = toWritten((await compileSources(sources)).plan);
  const read = reading(config('{ component: "flows" }'));
  const { files, ok } = await new Compiler().compileSources([], read, () => ({ last: [before] }));
  expect(ok).toBe(true);
  const left = files.find(({ path }) => path === "_workflows/mail.ts");
  expect(left?.text).toContain('removedWorkflow(components.flows, "mail",');
  expect(left?.text).not.toContain("components.workflow");
});

let app = "";
beforeEach(async () => {
  app = await mkdtemp(join(tmpdir(), "stepwise-config-"));
  return () => rm(app, { recursive: true });
});

test("a config that is added, changed or broken is seen although no definition has changed", async () => {
  const functionsDir = join(app, "convex");
  await mkdir(functionsDir);
  await writeFile(join(app, "package.json"), "{}");
  await writeFile(join(functionsDir, "flows.workflow.ts"), FLOWS);
  const silent = { write: () => {} };
  const terminal = { cwd: app, color: false, stdout: silent, stderr: silent, exitCode: 0 };
  for (const [text, code] of [
    ["{ maxParallelism: 5 }", 0],
    ["{ maxParallelism: 6 }", 0],
    ["{ maxParallelism: 600 }", 1],
  ] as const) {
    expect(await generate({}, terminal)).toBe(0);
    expect(unchangedSince(functionsDir)).toBeDefined();
    await writeFile(join(functionsDir, "stepwise.config.ts"), config(text));
    expect(unchangedSince(functionsDir)).toBeUndefined();
    expect(await generate({}, terminal)).toBe(code);
  }
});
