/** @module-tag large */
import { cp } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { type RunEvent, runWorkflow } from "../../src/dev-server/index.js";
import { convexConfig, type TestApp, writeApp } from "./app.js";

const flows = `
  import { defineWorkflow } from "@stepwise/workflow";
  import { z } from "zod";

  export const quick = defineWorkflow({ input: z.object({}) })
    .step("one", { query: async () => 1 });

  export const asks = defineWorkflow({ input: z.object({}) })
    .event("goAhead", { schema: z.any(), timeout: 300 })
    .step("one", { query: async () => 1 });
`;

async function newApp(): Promise<TestApp> {
  const app = await writeApp({
    "convex.config.ts": convexConfig(),
    "flows.workflow.ts": flows,
  });
  onTestFinished(async () => await app.remove());
  return app;
}

test("an app runs in a folder whose name is a pattern", async () => {
  const app = await newApp();
  for (const name of ["star*app", "[a]{b}(c)!", "**"]) {
    const functionsDir = join(dirname(app.functionsDir), name, "convex");
    await cp(app.functionsDir, functionsDir, { recursive: true });
    const outcome = await runWorkflow({ functionsDir, workflow: "quick", input: {} });
    expect([name, outcome.state]).toEqual([name, "completed"]);
  }
});

test("a workflow that cannot be loaded is told by its name and file, whatever is run", async () => {
  const { functionsDir, remove } = await writeApp({
    "convex.config.ts": convexConfig(),
    "flows.workflow.ts": flows,
    "needs.ts": `export const needs = (name) => { throw new Error(name + " is not set"); };`,
    "pay/card.workflow.ts": `
      import { defineWorkflow } from "@stepwise/workflow";
      import { z } from "zod";
      import { needs } from "../needs";
      const key = needs("CARD_KEY");
      export const pay = defineWorkflow({ input: z.object({}) })
        .step("paid", { action: async () => key });
    `,
  });
  onTestFinished(remove);
  const run = runWorkflow({ functionsDir, workflow: "quick", input: {} });
  await expect(run).rejects.toMatchObject({
    message:
      'Workflow "pay" (pay/card.workflow.ts) cannot be loaded, so no deployment would take the app',
    cause: { message: "CARD_KEY is not set" },
  });
});

test("a wait for an event that nobody can send is told as soon as it begins, once", async () => {
  const { functionsDir } = await newApp();
  const told = async (events: { name: string; value: unknown; atMs?: number }[]) => {
    const said: RunEvent[] = [];
    const onEvent = (event: RunEvent) => void said.push(event);
    await runWorkflow({ functionsDir, workflow: "asks", input: {}, events, onEvent });
    return said.flatMap((event) => (event.type === "waiting" ? [event.text] : []));
  };
  expect(await told([])).toEqual(['waiting for "goAhead": send it with --events']);
  expect(await told([{ name: "goAhead", value: {} }])).toEqual([]);
  expect(await told([{ name: "goAhead", value: {}, atMs: 50 }])).toEqual([]);
});

test("Bun is told that a run needs Node", async () => {
  const { functionsDir } = await newApp();
  vi.stubGlobal("Bun", {});
  onTestFinished(() => void vi.unstubAllGlobals());
  await expect(runWorkflow({ functionsDir, workflow: "quick", input: {} })).rejects.toThrow(
    "Workflows run in Node",
  );
});

test.each([
  ["export default { users: {} };", "exports by default what is no schema"],
  ["export default null;", "exports by default what is no schema"],
  ["export const schema = { users: {} };", "has no default export"],
])("a schema file that gives no schema is told by its path: %s", async (text, what) => {
  const { functionsDir, remove } = await writeApp({
    "convex.config.ts": convexConfig(),
    "flows.workflow.ts": flows,
    "schema.ts": text,
  });
  onTestFinished(remove);
  const run = runWorkflow({ functionsDir, workflow: "quick", input: {} });
  await expect(run).rejects.toThrow(
    `${join(functionsDir, "schema.ts")} ${what}. Write there:\n  import { defineSchema }`,
  );
});
