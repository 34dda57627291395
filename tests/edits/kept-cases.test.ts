import { expect, test } from "vitest";
import { Deployment, type Files, released, useReleases } from "./deployed.js";

const releases = useReleases();

const X = `x: (b) => b.sleep("rest", "1h").step("made", { query: () => "of x" })`;
const Y = `y: (b) => b.step("made", { query: () => "of y" })`;

const app = (on: string, ...cases: string[]): Files => ({
  "flow.workflow.ts": `
import { defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
export const flow = defineWorkflow({ input: z.object({}) })
  .branch("route", { on: ${on}, cases: { ${cases.join(", ")} } })
  .step("last", { query: (_ctx, { route }) => route });`,
});
const before = app(`() => "x"`, X);

/** A run sleeps in case x under one version; then the next is deployed. */
async function sleepsWhile(now: Files): Promise<readonly [Deployment, asleep: string]> {
  const versions = await released(releases, before, now);
  const deployment = new Deployment(versions[0], versions);
  const asleep = (await deployment.call("start", { name: "flow", input: {} })) as string;
  await deployment.drive(async () => (await deployment.see(asleep)).active.length > 1);
  expect((await deployment.see(asleep)).active).toContainEqual({
    node: "route.x.rest",
    state: "waiting",
  });
  deployment.deploy(versions[1]);
  return [deployment, asleep];
}

test.each([`(): "x" | "y" => "y"`, `() => "y" as "x" | "y"`])(
  "[S117] a case that only the type still gives, on: %s: a run in it goes on, a new one takes another",
  { tags: ["large"] },
  async (on) => {
    const [deployment, asleep] = await sleepsWhile(app(on, X, Y));
    const young = (await deployment.call("start", { name: "flow", input: {} })) as string;
    await deployment.drive();
    expect(await deployment.see(asleep)).toMatchObject({ state: "completed", output: "of x" });
    expect(await deployment.see(young)).toMatchObject({ state: "completed", output: "of y" });
  },
);

test("[S117] without the case, a run in it fails", { tags: ["large"] }, async () => {
  const [deployment, asleep] = await sleepsWhile(app(`() => "y"`, Y));
  await deployment.drive();
  expect(await deployment.see(asleep)).toMatchObject({
    state: "failed",
    error: { kind: "removedNode", node: "route.x.rest" },
  });
});

test(
  "[S117] a run in a removed case does not go on in one whose key looks alike",
  { tags: ["large"] },
  async () => {
    const of = (key: string, made: string): Files => {
      const nodes = `.sleep("rest", "1h").step("made", { query: () => "${made}" })`;
      return app(`() => "${key}"`, `"${key}": (b) => b${nodes}`);
    };
    const was = of("customer-support-request-refund", "refunded");
    const is = of("customer-support-request-reorder", "ordered");
    const versions = await released(releases, was, is);
    const deployment = new Deployment(versions[0], versions);
    const asleep = (await deployment.call("start", { name: "flow", input: {} })) as string;
    await deployment.drive(async () => (await deployment.see(asleep)).active.length > 1);
    deployment.deploy(versions[1]);
    const young = (await deployment.call("start", { name: "flow", input: {} })) as string;
    await deployment.drive();
    expect(await deployment.see(asleep)).toMatchObject({
      state: "failed",
      error: { kind: "removedNode" },
    });
    expect(await deployment.see(young)).toMatchObject({ state: "completed", output: "ordered" });
  },
);
