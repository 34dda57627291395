import { expect, test } from "vitest";
import { Deployment, type Files, released, useReleases } from "./deployed.js";

/* Actions that a deploy removes, while it adds others whose functions would have the same names. */

const releases = useReleases();

const flow = (nodes: string): Files => ({
  "flow.workflow.ts": `
import { child, defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
import { internal } from "./_generated/api";
export const kid = defineWorkflow({ input: z.object({}) }).step("grown", { query: () => "kid" });
export const flow = defineWorkflow({ input: z.object({}) })${nodes};`,
});

const action = (text: string) => `action: async (ctx) => {
  await ctx.runMutation(internal.runs.log, { text: "${text}" });
  await new Promise((resolve) => setTimeout(resolve, 5_000));
  return "${text}";
}`;
const step = (name: string, text: string) => `.step("${name}", { ${action(text)} })`;
const parent = (handler: string) =>
  `.parent("chapters", { ${handler}children: () => [child(kid, {})] })`;
const branch = `.branch("route", { on: () => "big", cases: { big: (b) => b${step("pay", "old")} } })`;
const loop = `.loop("x", { initial: () => 1, body: (b) => b${step("y", "old")}, until: () => true, maxIterations: 2 })`;

test.each([
  ["chapters.output", parent(`${action("old")}, `), step("chaptersOutput", "new") + parent("")],
  ["route.big.pay", branch, step("routeBigPay", "new")],
  ["x.y", loop, step("xY", "new")],
  ["pay", step("pay", "old"), `.step("z", { query: () => 1 })${step("payDone", "new")}`],
])(
  "[S117] a run at the removed action %s fails, and executes no new one",
  { tags: ["large"] },
  async (node, before, now) => {
    const [was, is] = [flow(before), flow(now)];
    const versions = await released(releases, was, is);
    for (const hasBegun of [false, true]) {
      const app = new Deployment(versions[0], versions);
      const id = (await app.call("start", { name: "flow", input: {} })) as string;
      const isThere = async () => (await app.see(id)).active.some((each) => each.node === node);
      await app.drive(hasBegun ? async () => (await app.logged()).length > 0 : isThere);
      app.deploy(versions[1]);
      await app.drive();
      expect(await app.see(id)).toMatchObject({
        state: "failed",
        error: { kind: "removedNode", node },
      });
      expect(await app.logged()).toEqual(hasBegun ? ["old"] : []);
      expect(await app.pending()).toBe(0);
    }
  },
);
