import { afterEach, expect, test } from "vitest";
import { type RunEvent, runWorkflow } from "../../src/dev-server/index.js";
import { convexConfig, type TestApp, writeApp } from "./app.js";

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

test(
  "the component is found under its name, and workflows that say nothing of retry have the app's",
  { tags: ["large"] },
  async () => {
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
  },
);

test(
  "a run with children and a sleep goes through generated code in a nested folder",
  { tags: ["large"] },
  async () => {
    app = await writeApp({
      "convex.config.ts": convexConfig(),
      "stepwise.config.ts": config('{ output: "generated/workflows" }'),
      "sub/flows.workflow.ts": `
  import { child, defineWorkflow } from "@stepwise/workflow";
  import { z } from "zod";
  import { word } from "../words";

  export const leaf = defineWorkflow({ input: word }).step("said", {
    action: async (_ctx, { input }) => input.word + "!",
    recover: () => "nothing",
  });

  export const tree = defineWorkflow({ input: z.object({ words: z.array(word) }) })
    .sleep("nap", "1h")
    .parent("leaves", { children: ({ input }) => input.words.map((each) => child(leaf, each)) })
    .step("count", { mutation: (_ctx, { leaves }) => leaves.children.length })
    .finalize({ query: (_ctx, { leaves, count }) => [count, ...leaves.children] });
`,
      "words.ts": `
  import { z } from "zod";
  export const word = z.object({ word: z.string() });
`,
    });
    const input = { words: [{ word: "hey" }, { word: "ho" }] };
    const run = { ...app, output: "generated/workflows", workflow: "tree", input, skipTime: true };
    expect(await runWorkflow(run)).toMatchObject({
      state: "completed",
      output: [2, "hey!", "ho!"],
    });
    // Where nobody says where it is, it is looked for in the usual place.
    await expect(runWorkflow({ ...app, workflow: "tree", input })).rejects.toThrow(
      "There is no _workflows/index in the functions folder.",
    );
  },
);

test(
  "what the component logs is shown where the config says a level, and else only errors",
  { tags: ["large"] },
  async () => {
    const logged = async (options: string) => {
      app = await writeApp({
        "convex.config.ts": convexConfig(),
        "flows.workflow.ts": FLOWS,
        "stepwise.config.ts": config(options),
      });
      const lines: string[] = [];
      const onEvent = (event: RunEvent) => void (event.type === "log" && lines.push(event.text));
      await runWorkflow({ ...app, workflow: "refuses", input: {}, skipTime: true, onEvent });
      return lines.map((line) => (JSON.parse(line) as { event: string }).event);
    };
    expect(await logged("{}")).toEqual([]);
    await app.remove();
    expect(await logged('{ logLevel: "INFO" }')).toEqual(["started", "ended"]);
  },
);

test(
  "a component under a name that the config does not have is told with what to write",
  { tags: ["large"] },
  async () => {
    app = await writeApp({ "convex.config.ts": MOUNTED_AS_FLOWS, "flows.workflow.ts": FLOWS });
    const run = runWorkflow({ ...app, workflow: "inherits", input: {}, skipTime: true });
    await expect(run).rejects.toThrow(
      'The app mounts "@stepwise/workflow" under the name "flows", but generated code looks for "workflow". Say so in stepwise.config.ts:\n' +
        '  export default defineConfig({ component: "flows" });',
    );
  },
);
