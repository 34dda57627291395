import { afterAll, afterEach, beforeEach, expect, test, vi } from "vitest";
import { compileSources } from "../../src/compile.js";
import { compare } from "../../src/compatibility/compare.js";
import { toWritten } from "../../src/plan/write.js";
import { Deployment, Releases, type Files } from "./deployed.js";

/* Ends that are added, removed or changed while runs are before, at and after them. */

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

/** A run rests before, in, and after a branch, for an hour each; all cases are in the type. */
const app = (big: string): Files => ({
  "flow.workflow.ts": `
import { defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
export const flow = defineWorkflow({ input: z.object({}) })
  .sleep("before", "1h")
  .branch("route", {
    on: (): "big" | "small" => "big",
    cases: { big: (b) => b.sleep("inside", "1h")${big}, small: (b) => b },
  })
  .sleep("after", "1h")
  .step("last", { query: (_ctx, { route }) => "last of " + route });`,
});
const MADE = `.step("made", { query: () => "made" })`;
const end = (text: string) => `.end(() => "${text}")`;

/** What `check` says of an edit, and what a run gives that is before, in or after the branch. */
async function edited(before: Files, now: Files) {
  const plan = async (files: Files, last?: Parameters<typeof compileSources>[1]) => {
    const sources = Object.entries(files).map(([file, text]) => ({ file, text }));
    return toWritten((await compileSources(sources, last)).plan);
  };
  const was = await plan(before);
  const verdict = compare(was, await plan(now, was)).map(
    ({ node, compatibility, message }) => `${node ?? ""} ${compatibility}: ${message}`,
  );
  vi.useRealTimers();
  const versions = [await releases.release(before), await releases.release(now, before)] as const;
  vi.useFakeTimers();
  const outputs: unknown[] = [];
  for (const hours of [0.5, 1.5, 2.5]) {
    const deployment = new Deployment(versions[0], versions);
    const id = (await deployment.call("start", { name: "flow", input: {} })) as string;
    const at = Date.now() + hours * 3_600_000;
    const alarm = setTimeout(() => {}, hours * 3_600_000);
    await deployment.drive(() => Date.now() >= at);
    clearTimeout(alarm);
    deployment.deploy(versions[1]);
    await deployment.drive();
    expect(await deployment.pending()).toBe(0);
    const { state, output } = await deployment.see(id);
    outputs.push(state === "completed" ? output : state);
  }
  return { verdict, outputs };
}

test("[S167] runs that come to an added end end there; those past it go on", async () => {
  expect(await edited(app(MADE), app(MADE + end("ended")))).toEqual({
    verdict: [
      "route.big.end safe: added at the end of route.big: runs in flight that come to it end there",
    ],
    outputs: ["ended", "ended", "last of made"],
  });
});

test("[S167] without the end, runs that have not ended go on after the branch", async () => {
  expect(await edited(app(MADE + end("ended")), app(MADE))).toEqual({
    verdict: [
      "route.big.end safe: the node is removed: runs go on without it, but for one that is paused there, which stops",
    ],
    outputs: ["last of made", "last of made", "ended"],
  });
});

test("[S167] a run ends with what its end gives when it comes there", async () => {
  expect(await edited(app(MADE + end("ended")), app(MADE + end("changed")))).toEqual({
    verdict: [
      "route.big.end safe: changed: runs in flight go on, and run the new code when they get there",
    ],
    outputs: ["changed", "changed", "ended"],
  });
});
