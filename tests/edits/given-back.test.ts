import { afterEach, expect, test, vi } from "vitest";
import { Deployment, type Files, useReleases } from "./deployed.js";

/* What becomes of an event that a node inside another has taken, when a restart begins that anew. */

const releases = useReleases();
afterEach(() => void vi.unstubAllGlobals());

const FAILS = `if (globalThis.isBroken) throw new Error("no");`;
const TAKES = `.event("go", { schema: z.string() })
  .step("work", { mutation: (_ctx, { go }) => { ${FAILS} return go; } })`;

const app = (node: string): Files => ({
  "flow.workflow.ts": `
import { child, defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
export const kid = defineWorkflow({ input: z.object({}) })${TAKES};
export const flow = defineWorkflow({ input: z.object({}) })${node};`,
});

/** A run whose node failed after it had taken its event. */
async function failed(node: string, workflow: string) {
  vi.useRealTimers();
  const deployment = new Deployment(await releases.release(app(node)));
  vi.useFakeTimers();
  vi.stubGlobal("isBroken", true);
  const runId = (await deployment.call("start", { name: "flow", input: {} })) as string;
  const waiting = async () => {
    const steps = await deployment.rows("steps");
    return steps.filter(({ state, names }) => state === "waiting" && names?.includes("go"));
  };
  await deployment.drive(async () => (await waiting()).length > 0);
  const [waits] = await waiting();
  const to = node.startsWith(".race") ? runId : waits!.run;
  await deployment.call("send", { name: workflow, runId: to, event: "go", value: "now" });
  await deployment.drive();
  expect(await deployment.see(runId)).toMatchObject({ state: "failed" });
  vi.stubGlobal("isBroken", false);
  await deployment.call("restart", { name: "flow", runId, from: "n" });
  await deployment.drive();
  return { deployment, runId, waiting };
}

test.each([
  ["a case of a branch", `.branch("n", { on: () => "a", cases: { a: (b) => b${TAKES} } })`],
  [
    "a case of a race",
    `.race("n", { cases: {
      a: (b) => b${TAKES},
      z: (b) => b.step("late", { mutation: () => { ${FAILS} } }).sleep("nap", "1h"),
    } })`,
  ],
  [
    "a loop in a loop",
    `.loop("n", { initial: () => "", maxIterations: 2, body: (b) =>
      b.loop("m", { initial: () => "", maxIterations: 2, body: (c) => c${TAKES}, until: () => true }),
      until: () => true })`,
  ],
])("[S134] %s gets its event back", { tags: ["large"] }, async (_what, node) => {
  const { deployment, runId } = await failed(node, "flow");
  const { state, output } = await deployment.see(runId);
  expect([state, JSON.stringify(output)]).toEqual(["completed", expect.stringContaining("now")]);
});

test.each<[what: string, node: string, workflow?: string]>([
  ["a branch of a parallel", `.parallel("n", { branches: { a: (b) => b${TAKES} } })`],
  ["an item", `.each("n", { of: () => [1], body: (b) => b${TAKES} })`],
  ["a child", `.child("n", kid, () => ({}))`, "kid"],
  ["a parent's child", `.parent("n", { children: () => [child(kid, {})] })`, "kid"],
])(
  "[S134] %s begins anew, as a run of its own, and waits for its event again",
  { tags: ["large"] },
  async (_what, node, workflow = "flow") => {
    const { deployment, runId, waiting } = await failed(node, workflow);
    const [waits] = await waiting();
    const of = { name: workflow, runId: waits!.run, event: "go" };
    expect(await deployment.call("send", { ...of, value: "again" })).toBe("taken");
    await deployment.drive();
    const { state, output } = await deployment.see(runId);
    expect([state, JSON.stringify(output)]).toEqual([
      "completed",
      expect.stringContaining("again"),
    ]);
  },
);
