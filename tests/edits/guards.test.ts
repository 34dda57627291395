import { expect, test } from "vitest";
import { Deployment, type Files, released, useReleases } from "./deployed.js";

/* What is sent to runs that wait since before an edit. */

const releases = useReleases();

const flow = (nodes: string, options = ""): Files => ({
  "flow.workflow.ts": `
import { defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
export const flow = defineWorkflow({ input: z.object({})${options} })${nodes};`,
});

/** A run waits at its first node under one version; then the next is deployed. */
async function waitsWhile(before: Files, now: Files): Promise<readonly [Deployment, string]> {
  const versions = await released(releases, before, now);
  const app = new Deployment(versions[0], versions);
  const id = (await app.call("start", { name: "flow", input: {} })) as string;
  await app.drive(async () => (await app.see(id)).active[0]?.state === "waiting");
  app.deploy(versions[1]);
  return [app, id];
}

const node = (name: string, more = "") =>
  `.event("${name}", { schema: z.string()${more} }).finalize({ query: (_ctx, { ${name} }) => ${name} })`;

test.each([
  ["", "yes"],
  [', timeout: "1h"', { timedOut: false, event: "yes" }],
])(
  "[S69] [S116] an event under the new name is taken by a run that waits at the node under its old one%s",
  { tags: ["large"] },
  async (more, output) => {
    const [app, id] = await waitsWhile(
      flow(node("asked", more)),
      flow(node("answered", more), ', renamed: { asked: "answered" }'),
    );
    const event = { name: "flow", runId: id, event: "answered", value: "yes" };
    expect(await app.call("send", event)).toBe("taken");
    expect(await app.see(id)).toMatchObject({ state: "completed", output, active: [] });
    expect(await app.pending()).toBe(0);
  },
);
