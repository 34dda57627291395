import { afterAll, afterEach, beforeEach, expect, test, vi } from "vitest";
import { Releases, type Files } from "./deployed.js";
import { edited } from "./edited.js";

/* Matches and ends are added, removed or changed while runs are before, at and after them. */

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

test("[S167] runs that come to an added end end there; those past it go on", async () => {
  expect(await edited(releases, app(MADE), app(MADE + end("ended")))).toEqual({
    verdict: [
      "route.big.end safe: added at the end of route.big: runs in flight that come to it end there",
    ],
    outputs: ["ended", "ended", "last of made"],
  });
});

test("[S167] without the end, runs that have not ended go on after the branch", async () => {
  expect(await edited(releases, app(MADE + end("ended")), app(MADE))).toEqual({
    verdict: [
      "route.big.end safe: the node is removed: runs go on without it, but for one that is paused there, which stops",
    ],
    outputs: ["last of made", "last of made", "ended"],
  });
});

test("[S167] a run ends with what its end gives when it comes there", async () => {
  expect(await edited(releases, app(MADE + end("ended")), app(MADE + end("changed")))).toEqual({
    verdict: [
      "route.big.end safe: changed: runs in flight go on, and run the new code when they get there",
    ],
    outputs: ["changed", "changed", "ended"],
  });
});

test("[S166] a branch may become a match while runs are in it, and a match another", async () => {
  const routed = (kind: string, way: string, rest = "small") => ({
    "flow.workflow.ts": `
import { defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
export const flow = defineWorkflow({ input: z.object({}) })
  .step("made", { query: (): { size: "big" | "small" } => ({ size: "big" }) })
  .sleep("before", "1h")
  .${kind}("route", {
    ${way}
    cases: { big: (b) => b.sleep("inside", "1h").step("grown", { query: () => "grown" })${rest === "small" ? `, small: (b) => b` : ""} },${rest === "default" ? ` default: (b) => b,` : ""}
  })
  .sleep("after", "1h")
  .step("last", { query: (_ctx, { route }) => "last of " + route });`,
  });
  const branch = routed("branch", "on: ({ made }) => made.size,");
  const match = routed("match", 'of: "made", by: "size",');
  const outputs = ["last of grown", "last of grown", "last of grown"];
  expect(await edited(releases, branch, match)).toEqual({
    verdict: [
      "route safe: changed: runs in flight go on, and run the new code when they get there",
    ],
    outputs,
  });
  expect(
    await edited(releases, match, routed("match", 'of: "made", by: "size",', "default")),
  ).toEqual({
    verdict: [
      "route.small stops: the case is removed: runs that are in it stop",
      "route safe: changed: runs in flight go on, and run the new code when they get there",
    ],
    outputs,
  });
});
