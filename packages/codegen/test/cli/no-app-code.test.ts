import { spawnSync } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { app, useApp, workflowCodegen } from "./command.js";

useApp();

/** Whatever runs of an app ends the process, and nothing that it imports is installed. */
const trap = `process.exit(99);\n`;
const files = {
  "convex/flow.workflow.ts": `${trap}
import OpenAI from "openai";
import { defineWorkflow, childNamed } from "@stepwise/workflow";
import { z } from "zod";
import { internal } from "./_generated/api";
import { retry } from "./shared";
import { Kind } from "@acme/kinds";
const openai = new OpenAI({ apiKey: process.env.KEY });
export const flow = defineWorkflow({ input: z.object({ kind: z.enum(Kind) }), retry })
  .step("ask", { action: async (_ctx, { input }) => openai.ask(input.kind) })
  .step("save", { mutation: internal.docs.save, args: ({ ask }) => ({ ask }) })
  .parent("kids", { children: () => [1].map(() => childNamed("flow", {})) });
`,
  "convex/shared.ts": `${trap}export const retry = true;\n`,
  "convex/docs.js": trap,
  "convex/convex.config.ts": `${trap}
import { defineApp } from "convex/server";
import workflow from "@stepwise/workflow/convex.config";
const app = defineApp();
app.use(workflow);
export default app;
`,
  "convex/stepwise.config.ts": `import { defineConfig } from "@stepwise/workflow";
export default defineConfig({ retention: "1d" });
process.exit(99);
`,
  "package.json": JSON.stringify({ type: "module", scripts: { prepare: "exit 99" } }),
};

test("[S179] generate, check, graph and explain run no code of the app, and need nothing installed", async () => {
  await mkdir(join(app(), "convex"));
  for (const [path, text] of Object.entries(files)) await writeFile(join(app(), path), text);
  // Else nothing would be shown.
  const { status } = spawnSync(process.execPath, [join(app(), "convex/docs.js")]);
  expect(status).toBe(99);
  for (const command of ["generate", "check", "graph", "explain"]) {
    const { code, out, err } = await workflowCodegen(command);
    expect({ command, code, err }).toEqual({ command, code: 0, err: "" });
    expect(out).not.toBe("");
  }
});
