/** @module-tag large */
import { existsSync } from "node:fs";
import { cp, mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, expect, test, vi } from "vitest";
import { mkdtemp, rm } from "../../../../scripts/folders.mjs";
import { runProgram } from "../../src/cli/program.js";
import { Compiler } from "../../src/compile.js";
import { filesIn, fixtures } from "../golden.js";

let app = "";
let printed = { out: "", err: "" };
let stop: () => Promise<void>;
/** The time in ms, which goes by only where a test says so. */
let now = 0;

beforeEach(async () => {
  app = await mkdtemp(join(tmpdir(), "stepwise-watch-"));
  await cp(join(fixtures, "placement", "convex"), join(app, "convex"), { recursive: true });
  printed = { out: "", err: "" };
  now = 1_000_000;
  vi.spyOn(Date, "now").mockImplementation(() => now);
  const interrupt = new AbortController();
  const terminal = {
    cwd: app,
    color: false,
    stdout: { write: (text: string) => void (printed.out += text) },
    stderr: { write: (text: string) => void (printed.err += text) },
    interrupted: interrupt.signal,
    exitCode: 0,
  };
  const ended = runProgram(terminal, ["--watch"]);
  stop = async () => {
    interrupt.abort();
    await ended;
  };
  await says("Watching convex for changes");
  printed.out = "";
  // What was pushed at the beginning is pushed by now.
  now += 60_000;
  return async () => {
    await stop();
    vi.restoreAllMocks();
    await rm(app, { recursive: true });
  };
});

const patience = { timeout: 300_000, interval: 5 };
const says = (text: string | RegExp) =>
  vi.waitFor(() => expect(printed.out + printed.err).toMatch(text), patience);
const mail = () => join(app, "convex/features/mail.workflow.ts");

/** As editors do it: nobody sees half of a file, and there is one change. */
async function save(path: string, text: string): Promise<void> {
  await writeFile(join(app, "saved"), text);
  await rename(join(app, "saved"), path);
}
const edit = async (from: string | RegExp, to: string) =>
  await save(mail(), (await readFile(mail(), "utf8")).replace(from, to));

test(
  "a saved definition is compiled at once, and the time it took is printed",
  { tags: ["large"] },
  async () => {
    await edit('.step("send"', '.step("extra", { query: () => 1 }).step("send"');
    await says(/wrote convex\/_workflows\/sendMail\.ts\n2 workflows, 3 nodes, in \d+ ms\./);
    expect(await readFile(join(app, "convex/_workflows/sendMail.ts"), "utf8")).toContain("extra");
    expect(printed.err).toBe("");
  },
);

test(
  "a broken definition ends nothing and writes nothing; once it is mended, that is said",
  { tags: ["large"] },
  async () => {
    const before = await filesIn(join(app, "convex/_workflows"));
    await edit('"send"', '"not a name"');
    await says("error SW1002");
    await says("Nothing was written.");
    expect(await filesIn(join(app, "convex/_workflows"))).toEqual(before);
    await edit('"not a name"', '"send');
    await says("error SW1901");
    await edit('"send', '"send"');
    await says(/Compiles again\.\n.*2 workflows, 2 nodes, in \d+ ms\. Everything is up to date\./);
  },
);

test("a saved config is answered as a definition is", async () => {
  const config = async (options: string) => {
    // What is awaited must not be what was said before.
    printed = { out: "", err: "" };
    await save(
      join(app, "convex/stepwise.config.ts"),
      `import { defineConfig } from "@stepwise/workflow";\nexport default defineConfig(${options});\n`,
    );
  };
  await config("{ maxParallelism: 7 }");
  await says("wrote convex/_workflows/index.ts");
  await config("{ maxParallelism: 700 }");
  await says("error SW1603");
  await config("{ maxParallelism: 8 }");
  await says(/Compiles again\.\n.*wrote convex\/_workflows\/index\.ts/);
  expect(await readFile(join(app, "convex/_workflows/index.ts"), "utf8")).toContain(
    "maxParallelism: 8",
  );
});

test("a saved convex.config.ts that does not mount the component is told at once, and once", async () => {
  const config = async (uses: string) =>
    await save(
      join(app, "convex/convex.config.ts"),
      `import { defineApp } from "convex/server";\nimport workflow from "@stepwise/workflow/convex.config";\nconst app = defineApp();\n${uses}\nexport default app;\n`,
    );
  await config("");
  await says("warning SW1604");
  printed.err = "";
  await save(join(app, "convex/other.ts"), "export const other = 1;\n");
  await config('app.use(workflow, { name: "flows" });');
  await says("mounts the workflow component as");
  expect(printed.err.match(/warning SW1604/g)).toHaveLength(1);
  printed.err = "";
  await config("app.use(workflow);");
  await edit('.step("send"', '.step("extra", { query: () => 1 }).step("send"');
  await says("wrote convex/_workflows/sendMail.ts");
  expect(printed.err).toBe("");
});

test("a problem that is still there after an edit elsewhere is not told again", async () => {
  await edit('"send"', '"not a name"');
  await says("Nothing was written.");
  printed.err = "";
  const compile = vi.spyOn(Compiler.prototype, "compile");
  await save(join(app, "convex/other.ts"), "export const other = 1;\n");
  await vi.waitFor(() => expect(compile).toHaveBeenCalled(), patience);
  await compile.mock.results[0]!.value;
  await edit('"not a name"', '"send"');
  await says("Compiles again.");
  expect(printed.err).toBe("");
});

test("definitions in new folders, moved and removed ones are seen", async () => {
  const features = join(app, "convex/features");
  const name = "invoices.monthly.workflow.ts";
  await mkdir(join(features, "late"));
  await rename(join(features, "billing", name), join(features, "late", name));
  await says("wrote convex/_workflows/invoice.ts");
  // A round may find it in neither folder while it is moved, but the next one does.
  const moved = () => readFile(join(app, "convex/_workflows/invoice.ts"), "utf8");
  await vi.waitFor(
    async () => expect(await moved()).toContain("../features/late/invoices.monthly.workflow"),
    patience,
  );
  printed.out = "";
  await rm(join(features, "late", name));
  await says("wrote convex/_workflows/invoice.ts");
  await says("kept for runs in flight: invoice");
  expect(await readFile(join(app, "convex/_workflows/invoice.ts"), "utf8")).toContain(
    "removedWorkflow",
  );
});

test("a functions folder that is gone is told; nothing is written until it is back", async () => {
  await rename(join(app, "convex"), join(app, "elsewhere"));
  await says("There is no functions folder at convex.");
  expect(existsSync(join(app, "convex"))).toBe(false);
  await rename(join(app, "elsewhere"), join(app, "convex"));
  await says("Compiles again.");
  await edit('"send"', '"post"');
  await says(/wrote convex\/_workflows\/sendMail\.ts/);
});

test("a file of another origin that comes in the way is told, and survived", async () => {
  await writeFile(join(app, "convex/_workflows/added.ts"), "export const mine = 1;\n");
  const definition = (await readFile(mail(), "utf8")).replace("sendMail", "added");
  await save(join(app, "convex/added.workflow.ts"), definition.replaceAll("../", "./"));
  await says("cannot write _workflows/added.ts");
  await rm(join(app, "convex/_workflows/added.ts"));
  await save(join(app, "convex/nudge.ts"), "");
  await says(/Compiles again\.[^]*wrote convex\/_workflows\/added\.ts/);
});

const generated = () => readFile(join(app, "convex/_workflows/sendMail.ts"), "utf8");
const written = "wrote convex/_workflows/sendMail.ts";
/** Renames the node, and waits until that is compiled. */
async function renamed(from: string, to: string): Promise<void> {
  printed.out = "";
  await edit(`"${from}"`, `"${to}"`);
  await says(written);
}

test("names that were there only while somebody typed leave nothing behind; what may have been deployed does", async () => {
  await renamed("send", "s");
  await renamed("s", "se");
  now += 400;
  await renamed("se", "sent");
  await says("kept for runs in flight: sendMail › send (see check --drop)");
  expect(await generated()).not.toMatch(/removed\("se?"\)/);
  // By now `convex dev` has pushed it, and may be at it yet when the next ones are written.
  now += 600;
  await renamed("sent", "mail");
  await renamed("mail", "mailed");
  await says("kept for runs in flight: sendMail › mail, sendMail › send, sendMail › sent (see");
  now += 60_000;
  await renamed("mailed", "posted");
  await renamed("posted", "gone");
  await says("sendMail › mailed, sendMail › send, sendMail › sent (see");
  expect(await generated()).not.toContain("posted");
});

test("a workflow that was added while watching, and may have been deployed, gets tombstones when it is removed; one that was not gets none", async () => {
  const added = join(app, "convex/pay.workflow.ts");
  const definition = (await readFile(mail(), "utf8")).replaceAll("../", "./");
  const add = async () => {
    printed.out = "";
    await save(added, definition.replace("sendMail", "pay"));
    await says("wrote convex/_workflows/pay.ts");
    printed.out = "";
  };
  await add();
  await rm(added);
  await says("removed convex/_workflows/pay.ts");
  await add();
  now += 600;
  await edit('"send"', '"sent"');
  await says(written);
  await rm(added);
  await says("wrote convex/_workflows/pay.ts");
  const text = await readFile(join(app, "convex/_workflows/pay.ts"), "utf8");
  expect(text).toContain('own.removed("send")');
});

test("that somebody deletes the plan is no reason to forget what was there; a plan from elsewhere is a new beginning", async () => {
  const plan = join(app, "convex/_workflows/sendMail.plan.json");
  await rm(plan);
  await renamed("send", "sent");
  await says("kept for runs in flight: sendMail › send (see check --drop)");
  // As `git pull` brings one: what it has is deployed, or will be.
  const pulled = JSON.parse(await readFile(plan, "utf8"));
  pulled.removed = { workflow: "sendMail", stages: ["first"] };
  await writeFile(plan, JSON.stringify(pulled));
  await renamed("sent", "posted");
  await says("kept for runs in flight: sendMail › first, sendMail › sent (see check --drop)");
  for (const stage of ["first", "sent"])
    expect(await generated()).toContain(`own.removed("${stage}")`);
});

test("a plan that is damaged is told, and nothing is written until it can be read", async () => {
  const plan = join(app, "convex/_workflows/sendMail.plan.json");
  const text = await readFile(plan, "utf8");
  await writeFile(plan, "garbage");
  await edit('"send"', '"sent"');
  await says(/error SW1904[^]*is not JSON/);
  expect(await generated()).not.toContain('"sent"');
  await writeFile(plan, text);
  await edit('"sent"', '"mailed"');
  await says("kept for runs in flight: sendMail › send (see check --drop)");
});

const moveTo = async (output: string) =>
  await save(
    join(app, "convex/stepwise.config.ts"),
    `import { defineConfig } from "@stepwise/workflow";\nexport default defineConfig({ output: "${output}" });\n`,
  );

test(
  "what it writes itself is no change to answer, in a folder that definitions may stand in too",
  { tags: ["large"] },
  async () => {
    await rm(join(app, "convex/_workflows"), { recursive: true });
    await moveTo("flows");
    await says("wrote convex/flows/index.ts");
    const definition = (await readFile(mail(), "utf8")).replace("sendMail", "pay");
    await save(join(app, "convex/flows/pay.workflow.ts"), definition);
    await says("wrote convex/flows/pay.ts");
    const compile = vi.spyOn(Compiler.prototype, "compile");
    // The folders that came and went may be answered by more rounds.
    for (let calls = -1; calls < compile.mock.calls.length;) {
      calls = compile.mock.calls.length;
      await new Promise((resolve) => setTimeout(resolve, 300));
    }
    compile.mockClear();
    printed.out = "";
    await edit('"send"', '"sent"');
    await says("wrote convex/flows/sendMail.ts");
    // A change is answered within some ms.
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(compile).toHaveBeenCalledTimes(1);
  },
);
