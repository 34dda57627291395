/** @module-tag large */
import { writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { rm } from "../../scripts/folders.mjs";
import type { TestApp } from "../../packages/codegen/test/dev-server/app.js";
import { eventually, writeShop } from "./app.js";

const bin = fileURLToPath(
  new URL("../../packages/codegen/bin/workflow-codegen.js", import.meta.url),
);

let app: TestApp;
let client: Client;
beforeAll(async () => {
  app = await writeShop();
  client = new Client({ name: "test", version: "1" });
  const cwd = dirname(app.functionsDir);
  await client.connect(
    new StdioClientTransport({ command: process.execPath, args: [bin, "mcp"], cwd }),
  );
});
afterAll(async () => {
  await client.close();
  await app.remove();
});

async function call(name: string, args: Record<string, unknown> = {}) {
  const { content, isError } = await client.callTool({ name, arguments: args });
  const [first] = content;
  const text = first?.type === "text" ? first.text : "";
  return {
    isError: isError === true,
    text,
    value: isError === true ? undefined : JSON.parse(text),
  };
}

test("an agent checks, explains, starts, reads and restarts", async () => {
  expect((await call("check")).value).toMatchObject({ ok: true, problems: [] });
  expect((await call("explain")).value).toMatchObject([
    { name: "anything" },
    { name: "order" },
    { name: "parcel" },
    { name: "vault" },
  ]);
  const start = { workflow: "parcel", input: { item: "a" }, key: "box 1" };
  const started = await call("start_run", start);
  const runId = started.value as string;
  const run = async () => (await call("get_run", { runId })).value;
  await eventually(async () =>
    expect(await run()).toMatchObject({ state: "completed", output: "packed a" }),
  );
  expect((await call("list_runs", { state: "completed" })).value.page).toMatchObject([{ runId }]);
  for (const [filter, count] of [
    [{ workflow: "parcel", node: "pack" }, 0],
    [{ workflow: "parcel", key: "box" }, 1],
    [{ workflow: "parcel", outdated: true }, 0],
    [{ text: "BOX 1" }, 1],
    [{ text: "box 2" }, 0],
    [{ since: "2020-01-01T00:00:00Z" }, 1],
    [{ until: "2020-01-01T00:00:00+01:00" }, 0],
  ] as const)
    expect([filter, (await call("list_runs", filter)).value.page.length]).toEqual([filter, count]);
  expect((await call("timeline", { runId })).value.page).toMatchObject([
    { node: "pack", state: "completed", output: "packed a" },
  ]);
  await call("restart_run", { runId });
  expect(await run()).toMatchObject({ generation: 2 });
  await eventually(async () =>
    expect(await run()).toMatchObject({ generation: 2, state: "completed" }),
  );
  await call("restart_run", { runId, from: "pack", input: { item: "b" } });
  await eventually(async () =>
    expect(await run()).toMatchObject({ generation: 3, output: "packed b" }),
  );
});

test("an agent pauses, resumes and removes a run", async () => {
  const held = (await call("start_run", { workflow: "vault", input: { isOpen: true } }))
    .value as string;
  const vault = async () => (await call("get_run", { runId: held })).value;
  await eventually(async () => expect(await vault()).toMatchObject({ active: [{ node: "code" }] }));
  expect(await call("pause_run", { runId: held })).toMatchObject({ value: true });
  expect(await vault()).toMatchObject({ paused: true });
  expect(await call("resume_run", { runId: held })).toMatchObject({ value: true });
  expect(await vault()).toMatchObject({ state: "running", paused: false });
  await call("send_event", { runId: held, name: "code", payload: { pin: "1" } });
  await eventually(async () => expect(await vault()).toMatchObject({ state: "completed" }));
  const start = { workflow: "parcel", input: { item: "a" } };
  const runId = (await call("start_run", start)).value as string;
  const run = async () => (await call("get_run", { runId })).value;
  await eventually(async () => expect(await run()).toMatchObject({ state: "completed" }));
  // Neither changes a run that has ended, and the manager says so.
  expect(await call("pause_run", { runId })).toMatchObject({ value: false });
  expect(await call("resume_run", { runId })).toMatchObject({ value: false });
  expect(await call("count_runs", { workflow: "parcel", text: runId })).toMatchObject({
    value: { count: 1 },
  });
  const bulk = { do: "resume", where: { workflow: "parcel", text: runId } };
  const bulkId = (await call("start_bulk", bulk)).value as string;
  await eventually(async () =>
    expect((await call("list_bulks", {})).value).toMatchObject([
      { bulkId, refused: 1, refusals: [{ why: "it is not paused" }] },
    ]),
  );
  expect(await call("stop_bulk", { bulkId })).toMatchObject({ value: false });
  expect(await call("remove_run", { runId })).toMatchObject({ isError: false });
  await eventually(async () => expect(await run()).toBeNull());
});

test("an agent sees, pauses, overrides and gives back what a limit lets run", async () => {
  const pool = { name: "maxParallelism" };
  const now = async () => (await call("list_limits")).value[0];
  await call("pause_limit", { ...pool, lasts: "1h" });
  expect(await now()).toMatchObject({
    ...pool,
    paused: { by: "studio", until: expect.any(Number) },
  });
  await call("resume_limit", pool);
  await call("override_limit", { ...pool, total: 7 });
  expect(await now()).toMatchObject({ total: 7, origin: "override" });
  expect(await now()).not.toHaveProperty("paused");
  await call("reset_limit", pool);
  expect(await now()).toMatchObject({ origin: "code" });
  const wrong = await call("pause_limit", { ...pool, lasts: "soon" });
  expect(wrong.text).toContain('"soon"');
});

test("an agent runs a workflow to its end without waiting for its time", async () => {
  const file = join(app.functionsDir, "nap.workflow.ts");
  onTestFinished(() => rm(file));
  await writeFile(
    file,
    `import { defineWorkflow } from "@stepwise/workflow";
    import { z } from "zod";
    export const nap = defineWorkflow({ input: z.object({ item: z.string() }) })
      .sleep("rest", "1 day")
      .each("both", { of: () => [1, 2], body: (b) => b.event("go", { schema: z.string() }) })
      .step("pack", {
        query: (_ctx, { input, both }) => "packed " + input.item + both.join(""),
      });`,
  );
  const events = [
    { name: "go", value: "!", in: "both/1" },
    { name: "go", value: "?" },
  ];
  // Longer than an argument of a command may be.
  const item = "a".repeat(200_000);
  const nap = { workflow: "nap", input: { item }, events };
  expect((await call("run_skipping_time", nap)).value).toMatchObject({
    ok: true,
    output: `packed ${item}?!`,
  });
  const unknown = await call("run_skipping_time", { workflow: "parcle", input: {} });
  expect(unknown.value).toMatchObject({ ok: false, progress: expect.stringContaining("parcel") });
});

test("check tells an agent what is wrong with a definition, until it is right", async () => {
  const file = join(app.functionsDir, "more.workflow.ts");
  const more = (retry: string) => `
    import { defineWorkflow } from "@stepwise/workflow";
    import { z } from "zod";
    export const more = defineWorkflow({ input: z.object({}) })
      .step("only", { action: async () => 1, retry: ${retry} });
  `;
  await writeFile(file, more("{ maxAttempts: 0, initialBackoffMs: 1, base: 1 }"));
  expect((await call("check")).value).toMatchObject({
    ok: false,
    problems: [expect.objectContaining({ message: expect.stringContaining("maxAttempts") })],
  });
  await writeFile(file, more("{ maxAttempts: 2, initialBackoffMs: 1, base: 1 }"));
  expect((await call("check")).value).toMatchObject({ ok: true, problems: [] });
});

test("what cannot be done is said to the agent", async () => {
  const unknown = await call("start_run", { workflow: "parcle", input: {} });
  expect(unknown).toMatchObject({ isError: true });
  expect(unknown.text).toContain("order, parcel, vault");
  const misfit = await call("start_run", { workflow: "parcel", input: {} });
  expect(misfit.text).toContain("input.item");
  for (const input of [{ a: [{ $integer: 5 }] }, JSON.parse('{ "__proto__": { "a": 1 } }')])
    expect(await call("start_run", { workflow: "parcel", input })).toMatchObject({
      isError: true,
      text: expect.stringMatching(/\binput\b.*is no value of Convex/),
    });
  expect((await call("start_run", { workflow: "parcel" })).text).toContain("input: is missing");
  const noWorkflow = await call("list_runs", { node: "pack" });
  expect(noWorkflow.text).toContain("needs a workflow");
});

test("a misspelled argument is refused: of a filter without it, all runs would be canceled", async () => {
  for (const [name, args] of [
    ["start_bulk", { do: "cancel", where: { workflw: "parcel" } }],
    ["count_runs", { workflw: "parcel" }],
    ["run_skipping_time", { workflow: "vault", input: {}, events: [{ name: "code", whn: "1m" }] }],
  ] as const)
    expect(await call(name, args)).toMatchObject({
      isError: true,
      text: expect.stringMatching(/workflw|whn/),
    });
});
