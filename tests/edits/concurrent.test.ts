import { expect, test } from "vitest";
import { type Files, released, useReleases } from "./deployed.js";
import { endOf, verdictOf } from "./edited.js";

/* Branches and bodies that are changed while runs are in them. */

const releases = useReleases();

const app = (nodes: string, options = ""): Files => ({
  "flow.workflow.ts": `
import { defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
export const flow = defineWorkflow({ input: z.object({ ns: z.array(z.number()) })${options} })
  .step("first", { query: () => "first" })${nodes};`,
});

const rest = (of: string) =>
  `${of}: (b) => b.sleep("rest", "1h").step("made", { query: (_ctx, { first }) => first + " ${of}" })`;
const parallel = (...branches: string[]) =>
  `.parallel("both", { branches: { ${branches.join(", ")} } })`;
const LAST = `.step("last", { query: (_ctx, { both }) => both })`;

/** A run that came into its branches under one version ends under the next. */
const endsUnder = async (before: Files, now: Files, hours = 0.01) =>
  await endOf(await released(releases, before, now), hours, { ns: [1, 2] });

test(
  "[S165] an added branch is not run by runs that have come to the node, whose readers are named",
  { tags: ["large"] },
  async () => {
    const before = app(parallel(rest("a")) + LAST);
    const now = app(parallel(rest("a"), rest("b")) + LAST);
    expect(await verdictOf(before, now)).toEqual([
      'both.b safe: added: runs that have come to "both" do not run it, and "last" finds no output of it in them',
    ]);
    expect(await endsUnder(before, now)).toMatchObject({
      state: "completed",
      output: { a: "first a" },
    });
  },
);

test(
  "[S165] runs that have not come to the node run the added branch too",
  { tags: ["large"] },
  async () => {
    const wait = `.sleep("before", "1h")`;
    const before = app(wait + parallel(rest("a")) + LAST);
    const now = app(wait + parallel(rest("a"), rest("b")) + LAST);
    expect(await endsUnder(before, now)).toMatchObject({
      state: "completed",
      output: { a: "first a", b: "first b" },
    });
  },
);

test(
  "[S165] a removed branch stops the runs that are in it; of one that has ended the output stays",
  { tags: ["large"] },
  async () => {
    const quick = `b: (b) => b.step("made", { query: () => "quick" })`;
    const before = app(parallel(rest("a"), rest("b")) + LAST);
    const now = app(parallel(rest("a")) + LAST);
    expect(await verdictOf(before, now)).toContain(
      "both.b stops: the branch is removed: runs that are in it stop",
    );
    expect(await endsUnder(before, now)).toMatchObject({
      state: "failed",
      error: { kind: "childFailed", node: "both", cause: { kind: "removedNode" } },
    });
    const ended = app(parallel(rest("a"), quick) + LAST);
    expect(await endsUnder(ended, now)).toMatchObject({
      state: "completed",
      output: { a: "first a", b: "quick" },
    });
  },
);

test(
  "[S165] a changed body is run by what has not come to it; a node that is removed from it stops",
  { tags: ["large"] },
  async () => {
    const each = (...nodes: string[]) =>
      `.each("all", { of: ({ input }) => input.ns, body: (b) => b${nodes.join("")} })`;
    const sleep = `.sleep("rest", "1h")`;
    const made = (text: string) => `.step("made", { query: (_ctx, { each, first }) => ${text} })`;
    const before = app(each(sleep, made("each.item")));
    const changed = app(each(sleep, made("first + each.item + each.index")));
    expect(await verdictOf(before, changed)).toEqual([
      "all.made safe: changed: runs in flight go on, and run the new code when they get there",
    ]);
    expect(await endsUnder(before, changed)).toMatchObject({
      state: "completed",
      output: ["first10", "first21"],
    });
    const removed = app(each(made("each.item")));
    expect(await verdictOf(before, removed)).toEqual([
      "all.rest stops: the node is removed: runs that are at it stop; those before or after it go on",
    ]);
    expect(await endsUnder(before, removed)).toMatchObject({
      state: "failed",
      error: { kind: "childFailed", cause: { kind: "removedNode", node: "all.rest" } },
    });
  },
);

test("[S165] renamed branches and nodes keep what runs in them have done", async () => {
  const before = app(parallel(rest("a")) + LAST);
  const now = app(
    parallel(rest("other").replaceAll(`"made"`, `"done"`)) + LAST,
    `, renamed: { "both.a": "both.other", "both.a.made": "both.other.done" }`,
  );
  expect((await verdictOf(before, now)).filter((each) => !each.includes(" safe: "))).toEqual([]);
  expect(await endsUnder(before, now)).toMatchObject({
    state: "completed",
    output: { other: "first other" },
  });
});

test(
  "[S165] the whole node removed, or of another kind: runs that are in it stop",
  { tags: ["large"] },
  async () => {
    const before = app(parallel(rest("a")) + LAST);
    const gone = app(`.step("last", { query: (_ctx, { first }) => first })`);
    expect(await endsUnder(before, gone)).toMatchObject({ state: "failed" });
    expect(await verdictOf(before, gone)).toContain(
      "both stops: the node is removed: runs that are at it or inside it stop; those before or after it go on",
    );
    const other = app(`.sleep("both", "1h").step("last", { query: (_ctx, { first }) => first })`);
    expect(await endsUnder(before, other)).toMatchObject({
      state: "failed",
      error: { cause: { kind: "removedNode" } },
    });
  },
);

test.each([
  ["{ failures: 1 }", "{ failures: 0 }", true],
  ["{ percentage: 50 }", "{ percentage: 1 }", true],
  [`"all"`, undefined, false],
  ["{ failures: 1 }", undefined, false],
])(
  "[S256] a tolerate of %s becomes %s in a run in which one has failed: it goes on, %s",
  { tags: ["large"] },
  async (was, is, goesOn) => {
    const fails = `f: (b) => b.step("thrown", { query: () => { throw new Error("no"); } })`;
    const tolerating = (tolerate?: string) => {
      const option = tolerate === undefined ? "" : `, tolerate: ${tolerate}`;
      return `.parallel("both", { branches: { ${fails}, ${rest("a")} }${option} })`;
    };
    const [before, now] = [app(tolerating(was)), app(tolerating(is) + LAST)];
    const stops = (await verdictOf(before, now)).some((line) => line.startsWith("both stops: "));
    expect(stops).toBe(!goesOn);
    const ended = await endsUnder(before, now, 1 / 60);
    expect(ended.state).toBe(goesOn ? "completed" : "failed");
  },
);

test("[S256] check says that a removed tolerate stops runs, and that another one does not", async () => {
  const tolerating = (option: string) =>
    app(`.parallel("both", { branches: { ${rest("a")} }${option} })`);
  const before = tolerating(`, tolerate: { failures: 1 }`);
  expect(await verdictOf(before, tolerating(""))).toEqual([
    expect.stringMatching(/^both stops: it has no tolerate that can be seen/),
  ]);
  expect(await verdictOf(before, tolerating(`, tolerate: { failures: 0 }`))).toEqual([
    expect.stringMatching(/^both safe: changed/),
  ]);
});
