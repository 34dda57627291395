import { afterAll, afterEach, beforeEach, expect, test, vi } from "vitest";
import { Deployment, Releases } from "./edits/deployed.js";

/** What each node makes of the secret, or is given, says so; only what is open does not. */
const SECRET = "s3cret";

const DEFINITIONS = `
import { child, defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
export const kid = defineWorkflow({ input: z.object({}) }).step("grown", { action: () => "grown" });
export const flow = defineWorkflow({ input: z.object({}) })
  .event("early", { schema: z.string(), sensitive: true })
  .event("late", { anyOf: { late: z.string() }, timeout: "1h", sensitive: true })
  .parent("handled", {
    action: (_ctx, { early }) => early + " handled",
    children: ({ output }) => (output.endsWith("handled") ? [child(kid, {})] : []),
    sensitive: true,
    finalize: { action: (_ctx, { output, children }) => output + children[0] },
  })
  .parent("summed", {
    query: (_ctx, { late }) => late.event.value,
    children: () => ({ one: child(kid, {}), two: child(kid, {}) }),
    reduce: { initial: "${SECRET}", step: (text, output) => text + output },
    sensitive: true,
  })
  .step("open", { action: (_ctx, { handled, summed }) => [handled.length, summed.children.length] });
`;

const releases = new Releases();
beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});
afterAll(async () => {
  await releases.remove();
});

test(
  "[S97] of a sensitive event or parent no result is shown, and nothing of it is among scheduled arguments",
  { tags: ["large"] },
  async () => {
    vi.useRealTimers();
    const version = await releases.release({ "flow.workflow.ts": DEFINITIONS });
    vi.useFakeTimers();
    const app = new Deployment(version);
    const runId = (await app.call("start", { name: "flow", input: {} })) as string;
    // The first is kept until the run waits for it, the second is waited for.
    await app.call("send", { name: "flow", runId, event: "early", value: SECRET });
    await app.drive(async () => (await app.see(runId)).active.some(({ node }) => node === "late"));
    await app.call("send", { name: "flow", runId, event: "late", value: SECRET });
    await app.drive();
    expect(await app.see(runId)).toMatchObject({
      state: "completed",
      output: ["s3cret handledgrown".length, "s3cretgrowngrown".length],
    });
    const { page } = await app.ask<{ page: { node: string; isSensitive?: true }[] }>("steps", {
      name: "flow",
      runId,
    });
    expect(page.map(({ node, isSensitive = false }) => [node, isSensitive])).toEqual([
      ["early", true],
      ["late", true],
      ["handled.output", true],
      ["handled", true],
      ["handled.finalize", true],
      ["summed.output", true],
      ["summed", true],
      ["open", false],
    ]);
    expect(JSON.stringify(page)).not.toContain(SECRET);
    expect(JSON.stringify(await app.jobs())).not.toContain(SECRET);
  },
);
