import { afterEach, expect, test, vi } from "vitest";
import { runWorkflow } from "../src/local/index.js";
import { type TestApp, writeApp } from "./local-app.js";

// Each run bundles an app: half a second here, more on a busy machine.
vi.setConfig({ testTimeout: 60_000 });

const FLOWS = `
  import { defineWorkflow } from "@stepwise/workflow";
  import { z } from "zod";

  export const inherits = defineWorkflow({ input: z.object({}) }).step("work", {
    action: async (_ctx, _scope, info) => {
      if (info.attempt < 3) throw new Error("no luck at attempt " + info.attempt);
      return info.attempt;
    },
  });

  export const refuses = defineWorkflow({ input: z.object({}), retry: false }).step("work", {
    action: async (_ctx, _scope, info) => {
      throw new Error("no luck at attempt " + info.attempt);
    },
  });
`;

const MOUNTED_AS_FLOWS = `
  import { defineApp } from "convex/server";
  import workflow from "@stepwise/workflow/convex.config";
  const app = defineApp();
  app.use(workflow, { name: "flows" });
  export default app;
`;

let app: TestApp;
afterEach(async () => await app.remove());

const config = (options: string) => `
  import { defineConfig } from "@stepwise/workflow";
  export default defineConfig(${options});
`;

test("the component is found under its name, and workflows that say nothing of retry have the app's", async () => {
  app = await writeApp({
    "convex.config.ts": MOUNTED_AS_FLOWS,
    "flows.workflow.ts": FLOWS,
    "stepwise.config.ts": config(
      '{ component: "flows", maxParallelism: 2, retention: "30 days", retry: { maxAttempts: 3, initialBackoffMs: 60_000, base: 2 } }',
    ),
  });
  const run = { ...app, component: "flows", input: {}, skipTime: true };
  expect(await runWorkflow({ ...run, workflow: "inherits" })).toMatchObject({
    state: "completed",
    output: 3,
  });
  expect(await runWorkflow({ ...run, workflow: "refuses" })).toMatchObject({
    state: "failed",
    error: { message: "no luck at attempt 1", attempt: 1 },
  });
});

test("a component under a name that the config does not have is told with what to write", async () => {
  app = await writeApp({ "convex.config.ts": MOUNTED_AS_FLOWS, "flows.workflow.ts": FLOWS });
  const run = runWorkflow({ ...app, workflow: "inherits", input: {}, skipTime: true });
  await expect(run).rejects.toThrow(
    'The app mounts "@stepwise/workflow" under the name "flows", but generated code looks for "workflow". Say so in stepwise.config.ts:\n' +
      '  export default defineConfig({ component: "flows" });',
  );
});
