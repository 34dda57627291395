/** @module-tag large */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { runProgram } from "../../src/cli/program.js";
import { app, useApp, workflowCodegen } from "./command.js";

useApp();

const definition = (nodes: string) => `import { defineWorkflow } from "@stepwise/workflow";
import { v } from "convex/values";
export const order = defineWorkflow({ input: v.object({}) })${nodes};
`;
const save = (text: string) => writeFile(join(app(), "convex/order.workflow.ts"), text);
const said = () => readFile(join(app(), "said"), "utf8").catch(() => "");

/**
 * Installs a program in the place of convex, which writes what happens to it into the file `said`.
 */
async function install(program: string): Promise<void> {
  const folder = join(app(), "node_modules/convex");
  await mkdir(folder, { recursive: true });
  await mkdir(join(app(), "convex"));
  await writeFile(
    join(folder, "package.json"),
    '{ "type": "module", "bin": { "convex": "main.js" } }',
  );
  await writeFile(
    join(folder, "main.js"),
    `import { appendFileSync, existsSync } from "node:fs";
const say = (text) => appendFileSync("said", text + "\\n");
say(process.argv.slice(2).join(" ") + ", compiled: " + existsSync("convex/_workflows/order.ts"));
${program}`,
  );
  await save(definition('.step("paid", { query: () => 1 })'));
}

test("dev compiles before convex dev starts and after every save, in one line; Ctrl-C ends both", async () => {
  await install(`process.on("SIGTERM", () => { say("ended"); process.exit(7); });
setInterval(() => {}, 1000);`);
  let printed = "";
  const stream = { write: (text: string) => void (printed += text) };
  const interrupt = new AbortController();
  const terminal = {
    cwd: app(),
    color: false,
    stdout: stream,
    stderr: stream,
    interrupted: interrupt.signal,
    exitCode: 1,
  };
  const ended = runProgram(terminal, ["dev", "--", "--once"]);
  const patience = { timeout: 300_000, interval: 10 };
  await vi.waitFor(async () => expect(await said()).toBe("dev --once, compiled: true\n"), patience);
  printed = "";
  await save(definition('.step("paid", { query: () => 1 }).step("sent", { query: () => 2 })'));
  await vi.waitFor(() => expect(printed).toContain("2 nodes"), patience);
  expect(printed).toMatch(
    /^\[[\d:]+\] wrote convex\/_workflows\/\S+ and 1 other file; 1 workflow, 2 nodes, in \d+ ms\.\n$/,
  );
  interrupt.abort();
  await ended;
  expect(await said()).toMatch(/\nended\n$/);
  expect(terminal.exitCode).toBe(0);
});

test("dev ends when convex dev ends, says so, and has its exit code", async () => {
  await install("process.exit(3);");
  const { code, err } = await workflowCodegen("dev");
  expect(err).toBe("convex dev has ended with exit code 3.\n");
  expect(code).toBe(3);
});

test("dev in an app without convex says how to install it", async () => {
  await mkdir(join(app(), "convex"));
  await expect(workflowCodegen("dev")).rejects.toThrow(
    /convex is not installed.*npm install convex/,
  );
});
