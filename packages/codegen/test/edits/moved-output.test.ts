import { afterAll, afterEach, beforeEach, expect, test, vi } from "vitest";
import { Deployment, Releases, type Files } from "./deployed.js";

/*
 * Generated code may move to another folder while runs are in flight: what they are at and come back to is found where it was. That each kind of
 * wait is, `edits.test.ts` has; here generated code moves more than once.
 */

const app = (output: string | undefined, definitions: string): Files => ({
  "flows.workflow.ts": `
import { defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
import { internal } from "./_generated/api";
${definitions}`,
  "stepwise.config.ts": `
import { defineConfig } from "@stepwise/workflow";
export default defineConfig({ ${output === undefined ? "" : `output: "${output}"`} });`,
});

const logged = (text: string) =>
  `async (ctx) => { await ctx.runMutation(internal.runs.log, { text: "${text}" }); return "${text}"; }`;
const FLOW = `
export const flow = defineWorkflow({ input: z.object({}) })
  .step("first", { action: async () => "first", compensate: { action: ${logged("first undone")} } })
  .sleep("nap", "1 day")
  .step("work", { action: (_ctx, { first }) => first + " worked" });
`;
const OTHER = `export const other = defineWorkflow({ input: z.object({}) }).step("ping", { query: () => "pong" });
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

/** Releases versions one after the other, each over those before it. */
async function released(versions: readonly Files[]) {
  vi.useRealTimers();
  const made = [];
  for (const [at, files] of versions.entries())
    made.push(await releases.release(files, ...versions.slice(0, at)));
  vi.useFakeTimers();
  return made;
}

test.each([
  ["on to a third folder", [undefined, "generated/flows", "flows"]],
  ["there and back", [undefined, "generated/flows", undefined]],
  ["into a folder inside the former one", ["flows", "flows/now", "flows/now/deeper"]],
])("[S113] runs that were started in each of the folders go on: %s", async (_what, outputs) => {
  const made = await released(outputs.map((output) => app(output, FLOW + OTHER)));
  const deployed = new Deployment(made[0]!, made);
  const runs: string[] = [];
  for (const version of made) {
    deployed.deploy(version);
    const id = (await deployed.call("start", { name: "flow", input: {} })) as string;
    await deployed.drive(async () => (await deployed.see(id)).active[0]?.node === "nap");
    runs.push(id);
  }
  await deployed.drive();
  for (const id of runs)
    expect(await deployed.see(id)).toMatchObject({ state: "completed", output: "first worked" });
  expect(await deployed.pending()).toBe(0);
});

test("[S118] of a workflow that is removed after generated code has moved, runs from before that are undone", async () => {
  const versions = await released([
    app(undefined, FLOW + OTHER),
    app("flows", FLOW + OTHER),
    app("generated/flows", OTHER),
  ]);
  const deployed = new Deployment(versions[0]!, versions);
  const id = (await deployed.call("start", { name: "flow", input: {} })) as string;
  await deployed.drive(async () => (await deployed.see(id)).active[0]?.node === "nap");
  deployed.deploy(versions[2]!);
  await deployed.drive();
  expect(await deployed.see(id)).toMatchObject({
    state: "failed",
    error: { kind: "removedNode" },
    active: [],
  });
  expect(await deployed.logged()).toEqual(["first undone"]);
});

test("without what forwards from the former folder a run fails", async () => {
  const versions = await released([app(undefined, FLOW + OTHER), app("flows", FLOW + OTHER)]);
  const [before, now] = [versions[0]!, versions[1]!];
  const modules = Object.fromEntries(
    Object.entries(now.modules).filter(([path]) => !path.includes("/_workflows/")),
  );
  expect(Object.keys(now.modules).length - Object.keys(modules).length).toBe(2);
  const deployed = new Deployment(before, versions);
  const id = (await deployed.call("start", { name: "flow", input: {} })) as string;
  await deployed.drive(async () => (await deployed.see(id)).active[0]?.node === "nap");
  deployed.deploy({ modules });
  const told = vi.spyOn(console, "error").mockImplementation(() => {});
  await deployed.drive();
  expect(told).toHaveBeenCalled();
  told.mockRestore();
  expect((await deployed.see(id)).state).toBe("failed");
});
