import { cp, mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, expect, test, vi } from "vitest";
import { createProgram } from "../../src/cli/program.js";
import { filesIn, fixtures } from "../golden.js";

let app = "";
let printed = { out: "", err: "" };
let stop: () => Promise<void>;

beforeEach(async () => {
  app = await mkdtemp(join(tmpdir(), "stepwise-watch-"));
  await cp(join(fixtures, "placement", "convex"), join(app, "convex"), { recursive: true });
  printed = { out: "", err: "" };
  const interrupt = new AbortController();
  const terminal = {
    cwd: app,
    color: false,
    stdout: { write: (text: string) => void (printed.out += text) },
    stderr: { write: (text: string) => void (printed.err += text) },
    interrupted: interrupt.signal,
    exitCode: 0,
  };
  const program = createProgram(terminal).exitOverride();
  const ended = program.parseAsync(["node", "workflow-codegen", "--watch"]);
  stop = async () => {
    interrupt.abort();
    await ended;
  };
  await says("Watching convex for changes");
  printed.out = "";
  return async () => {
    await stop();
    await rm(app, { recursive: true });
  };
});

const patience = { timeout: 4000, interval: 5 };
const says = (text: string | RegExp) =>
  vi.waitFor(() => expect(printed.out + printed.err).toMatch(text), patience);
const mail = () => join(app, "convex/features/mail.workflow.ts");

async function edit(from: string | RegExp, to: string): Promise<void> {
  await writeFile(mail(), (await readFile(mail(), "utf8")).replace(from, to));
}

test("a saved definition is compiled at once, and the time it took is printed", async () => {
  await edit('.step("send"', '.step("extra", { query: () => 1 }).step("send"');
  await says(/wrote convex\/_workflows\/sendMail\.ts\n2 workflows, 3 nodes, in \d+ ms\./);
  expect(await readFile(join(app, "convex/_workflows/sendMail.ts"), "utf8")).toContain("extra");
  expect(printed.err).toBe("");
});

test("a broken definition ends nothing and writes nothing; once it is mended, that is said", async () => {
  const before = await filesIn(join(app, "convex/_workflows"));
  await edit('"send"', '"not a name"');
  await says("error SW1002");
  await says("Nothing was written.");
  expect(await filesIn(join(app, "convex/_workflows"))).toEqual(before);
  await edit('"not a name"', '"send');
  await says("error SW1901");
  await edit('"send', '"send"');
  await says(/Mended\.\n.*2 workflows, 2 nodes, in \d+ ms\. Everything is up to date\./);
});

test("a problem that is still there after an edit elsewhere is not told again", async () => {
  await edit('"send"', '"not a name"');
  await says("Nothing was written.");
  printed.err = "";
  await writeFile(join(app, "convex/other.ts"), "export const other = 1;\n");
  await writeFile(join(app, "convex/second.workflow.ts"), "// no definition yet\n");
  await edit('"not a name"', '"send"');
  await says("Mended.");
  expect(printed.err).toBe("");
});

test("definitions in new folders, moved and removed ones are seen", async () => {
  const features = join(app, "convex/features");
  const name = "invoices.monthly.workflow.ts";
  await mkdir(join(features, "late"));
  await rename(join(features, "billing", name), join(features, "late", name));
  await says("wrote convex/_workflows/invoice.ts");
  expect(await readFile(join(app, "convex/_workflows/invoice.ts"), "utf8")).toContain(
    "../features/late/invoices.monthly.workflow",
  );
  printed.out = "";
  await rm(join(features, "late", name));
  await says("removed convex/_workflows/invoice.ts");
});

test("a file of another origin that comes in the way is told, and survived", async () => {
  await writeFile(join(app, "convex/_workflows/added.ts"), "export const mine = 1;\n");
  const definition = (await readFile(mail(), "utf8")).replace("sendMail", "added");
  await writeFile(join(app, "convex/added.workflow.ts"), definition.replaceAll("../", "./"));
  await says("cannot write _workflows/added.ts");
  await rm(join(app, "convex/_workflows/added.ts"));
  await writeFile(join(app, "convex/nudge.ts"), "");
  await says(/Mended\.[^]*wrote convex\/_workflows\/added\.ts/);
});

test("names that were there only while somebody typed leave nothing behind; those of the plan that was there do", async () => {
  const generated = () => readFile(join(app, "convex/_workflows/sendMail.ts"), "utf8");
  await edit('"send"', '"sen"');
  await says("wrote convex/_workflows/sendMail.ts");
  printed.out = "";
  await edit('"sen"', '"sent"');
  await says("wrote convex/_workflows/sendMail.ts");
  expect(await generated()).not.toContain("removed");
  // A plan from elsewhere, as `git pull` brings one: what it has is deployed, or will be.
  const plan = join(app, "convex/_workflows/plan.json");
  const pulled = JSON.parse(await readFile(plan, "utf8"));
  pulled.removed = [{ workflow: "sendMail", stages: ["first"] }];
  await writeFile(plan, JSON.stringify(pulled));
  printed.out = "";
  await edit('"sent"', '"posted"');
  await says("kept for runs in flight: sendMail › first, sendMail › sent (see check --drop)");
  for (const stage of ["first", "sent"])
    expect(await generated()).toContain(`own.removed("${stage}")`);
  printed.out = "";
  await edit('"posted"', '"mailed"');
  await says("kept for runs in flight: sendMail › first, sendMail › sent (see check --drop)");
  expect(await generated()).not.toContain("posted");
});
