/** @module-tag large */
import { expect, test } from "vitest";
import { Deployment, type Files, released, useReleases } from "./deployed.js";
import { edited } from "./edited.js";

/* Matches and ends are added, removed or changed while runs are before, at and after them. */

const releases = useReleases();

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

test(
  "[S167] runs that come to an added end end there; those past it go on",
  { tags: ["large"] },
  async () => {
    expect(await edited(releases, app(MADE), app(MADE + end("ended")))).toEqual({
      verdict: [
        "route.big.end safe: added at the end of route.big: runs in flight that come to it end there",
      ],
      outputs: ["ended", "ended", "last of made"],
    });
  },
);

test("[S167] without the end, runs that have not ended go on after the branch", async () => {
  expect(await edited(releases, app(MADE + end("ended")), app(MADE))).toEqual({
    verdict: [
      "route.big.end safe: the node is removed: runs go on without it, but for one that is just at it or paused there, which stops",
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

test(
  "[S166] a branch may become a match while runs are in it, and a match another",
  { tags: ["large"] },
  async () => {
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
  },
);

/** A run rests before a match, in one of its cases, and after it; more nodes may follow. */
const matched = (cases: string, { before = "", after = "", options = "" } = {}): Files => ({
  "flow.workflow.ts": `
import { defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
export const flow = defineWorkflow({ input: z.object({})${options} })
  .step("made", { query: (): { size: "big" | "small" } => ({ size: "big" }) })${before}
  .sleep("before", "1h")
  .match("route", { of: "made", by: "size", ${cases} })
  .sleep("after", "1h")${after}
  .step("last", { query: (_ctx, { route }) => "last of " + route });`,
});
/** The same without its match, and without what reads that. */
const unmatched = ({ "flow.workflow.ts": text = "" }: Files): Files => {
  const read = `(_ctx, { route }) => "last of " + route`;
  return { "flow.workflow.ts": text.replace(/^ {2}\.match.*$/m, "").replace(read, `() => "last"`) };
};
/** The same with a branch in the place of its match. */
const branched = ({ "flow.workflow.ts": text = "" }: Files): Files => ({
  "flow.workflow.ts": text.replace(
    '.match("route", { of: "made", by: "size",',
    '.branch("route", { on: ({ made }) => made.size,',
  ),
});
const INSIDE = `(b) => b.sleep("inside", "1h").step("grown", { query: () => "grown" })`;
const both = `cases: { big: ${INSIDE}, small: (b) => b }`;

test.each([
  [
    "a removed case: a run in it stops, one before it takes the default, one after it goes on",
    matched(both),
    matched(`cases: { small: (b) => b }, default: (b) => b.step("any", { query: () => "any" })`),
    [
      "route.big stops: the case is removed: runs that are in it stop",
      "route safe: changed: runs in flight go on, and run the new code when they get there",
    ],
    ["last of any", "failed", "last of grown"],
  ],
  [
    "a renamed node of a case: runs go on",
    matched(both),
    matched(both.replace("grown", "taller"), {
      options: `, renamed: { "route.big.grown": "route.big.taller" }`,
    }),
    [
      'route.big.grown safe: renamed to "route.big.taller": runs that are at it go on there, and those that are past it keep its result',
    ],
    ["last of grown", "last of grown", "last of grown"],
  ],
  [
    "a case that ends: runs that come to its end end there",
    matched(both),
    matched(both.replace(`"grown" })`, `"grown" }).end(() => "ended")`)),
    ["route.big.end safe: added at the end of route.big: runs in flight that come to it end there"],
    ["ended", "ended", "last of grown"],
  ],
  [
    "a match that is moved behind another node: runs go on",
    matched(both, { after: `.step("more", { query: () => 1 })` }),
    matched(both, { before: `.step("more", { query: () => 1 })` }),
    [
      'more safe: moved before "before": runs that are there or past it, and have not run it, do not run it',
    ],
    ["last of grown", "last of grown", "last of grown"],
  ],
  [
    "a renamed case: a run in it or after it goes on, one that has made its old key stops",
    matched(both),
    matched(both.replace("big", "huge"), { options: `, renamed: { "route.big": "route.huge" }` }),
    [
      'route.huge stops: the case is renamed: those runs stop there that come to it with "big", which was given before',
      "route safe: changed: runs in flight go on, and run the new code when they get there",
    ],
    ["failed", "last of grown", "last of grown"],
  ],
  [
    "a renamed case of a branch beside one that is called default: a run that has made its old key stops",
    branched(matched(`cases: { big: ${INSIDE}, default: (b) => b }`)),
    branched(
      matched(`cases: { huge: ${INSIDE}, default: (b) => b }`, {
        options: `, renamed: { "route.big": "route.huge" }`,
      }),
    ),
    [
      'route.huge stops: the case is renamed: those runs stop there that come to it with "big", which was given before',
      "route safe: changed: runs in flight go on, and run the new code when they get there",
    ],
    ["failed", "last of grown", "last of grown"],
  ],
  [
    "a default that is removed: a run that has made a value without a case stops",
    matched(`cases: { small: (b) => b }, default: ${INSIDE}`),
    matched(`cases: { small: (b) => b }`),
    [
      "route.default stops: the case is removed: runs that are in it stop, and so do those that come to it with a value that has no other case",
      "route safe: changed: runs in flight go on, and run the new code when they get there",
    ],
    ["failed", "failed", "last of grown"],
  ],
  [
    "a renamed case beside a default: a run that has made its old key takes that",
    matched(both),
    matched(
      `cases: { huge: ${INSIDE}, small: (b) => b }, default: (b) => b.step("any", { query: () => "any" })`,
      { options: `, renamed: { "route.big": "route.huge" }` },
    ),
    [
      'route.huge safe: the case is renamed: those runs take the default that come to it with "big", which was given before',
      "route safe: changed: runs in flight go on, and run the new code when they get there",
    ],
    ["last of any", "last of grown", "last of grown"],
  ],
  [
    "a match that is removed: a run in it stops, the others go on",
    matched(both),
    unmatched(matched(both)),
    [
      "route stops: the node is removed: runs that are at it or inside it stop; those before or after it go on",
      "last safe: changed: runs in flight go on, and run the new code when they get there",
    ],
    ["last", "failed", "last"],
  ],
])("[S166] [S167] %s", { tags: ["large"] }, async (_what, before, now, verdict, outputs) => {
  expect(await edited(releases, before, now)).toEqual({ verdict, outputs });
});

/* A run passes a match in the transaction that brings it there: only one that fails rests at it. */
test.each([
  ["added", `, huge: (b) => b.step("any", { query: () => "any" }) }`],
  ["covered by a default", ` }, default: (b) => b.step("any", { query: () => "any" })`],
])(
  "[S166] a run that failed at a match, whose case is %s, goes on from there",
  async (_what, end) => {
    const huge = ({ "flow.workflow.ts": text = "" }: Files): Files => ({
      "flow.workflow.ts": text.replace(`size: "big" }) })`, `size: "huge" as never }) })`),
    });
    const [before, after] = [huge(matched(both)), huge(matched(both.replace(/ }$/, end)))];
    const versions = await released(releases, before, after);
    const deployment = new Deployment(versions[0], versions);
    const id = (await deployment.call("start", { name: "flow", input: {} })) as string;
    await deployment.drive();
    const { state, error } = await deployment.see(id);
    deployment.deploy(versions[1]);
    await deployment.call("restart", { name: "flow", runId: id, from: "route" });
    await deployment.drive();
    expect([state, error?.node]).toEqual(["failed", "route"]);
    expect((await deployment.see(id)).output).toBe("last of any");
  },
);

/** A race of which one case ends well after an hour, between two rests of an hour. */
const raced = (paid: string, [first, second, third]: readonly number[] = [0, 1, 2]): Files => {
  const nodes = [
    `.sleep("before", "1h")`,
    `.race("route", { cases: {
      paid: (b) => b.sleep("inside", "1h").step("made", { query: () => "made" })${paid},
      never: (b) => b.sleep("long", "9h"),
    } })`,
    `.sleep("after", "1h")`,
  ];
  return {
    "flow.workflow.ts": `
import { defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
export const flow = defineWorkflow({ input: z.object({}) })
  ${[first, second, third].map((at = 0) => nodes[at]).join("\n  ")}
  .step("last", { query: (_ctx, { route }) => route && route.case + " " + route.output });`,
  };
};

test.each([
  [
    "an end that moves into a case: it ends the case of runs that come to it",
    raced(""),
    raced(end("ended")),
    [
      "route.paid.end safe: added at the end of route.paid: runs in flight that come to it end there",
    ],
    ["paid ended", "paid ended", "paid made"],
  ],
  [
    "a race that is moved before the place of a run: it does not run there",
    raced(""),
    raced("", [1, 0, 2]),
    [
      'route safe: moved before "before": runs that are there or past it, and have not run it, do not run it, nor do those that have not begun, and "last" reads undefined in them',
    ],
    [null, "paid made", "paid made"],
  ],
  [
    "a race that is moved behind the next node: runs go on in the new order",
    raced(""),
    raced("", [0, 2, 1]),
    [
      'after safe: moved before "route": runs that are there or past it, and have not run it, do not run it',
    ],
    ["paid made", "paid made", "paid made"],
  ],
])("[S168] %s", { tags: ["large"] }, async (_what, before, now, verdict, outputs) => {
  expect(await edited(releases, before, now)).toEqual({ verdict, outputs });
});
