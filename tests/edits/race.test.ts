import { expect, test } from "vitest";
import { type Files, released, useReleases } from "./deployed.js";
import { endOf, verdictOf } from "./edited.js";

/* Races that are changed while runs are before them, in them, and after them. */

const releases = useReleases();

const app = (nodes: string, options = ""): Files => ({
  "flow.workflow.ts": `
import { defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
export const flow = defineWorkflow({ input: z.object({})${options} })${nodes};`,
});

/** A case that ends well after so many hours, or fails. */
const ends = (of: string, hours: number, made = `() => "${of}"`) =>
  `${of}: (b) => b.sleep("rest", "${hours}h").step("made", { query: ${made} })`;
const fails = (of: string, hours: number) =>
  ends(of, hours, `(): string => { throw new Error("${of} fails"); }`);
const race = (cases: readonly string[], options = "") =>
  `.race("first", { cases: { ${cases.join(", ")} }${options} })`;
const LAST = `.step("last", { query: (_ctx, { first }) => first })`;

/** The end, under the next version, of a run that has come so far under the one before. */
const endsUnder = async (before: Files, now: Files, hours: number) =>
  await endOf(await released(releases, before, now), hours);

const completed = (output: unknown) => ({ state: "completed", output });

test(
  "[S168] an added case is not run by runs that have come to the race; by those before it, it is",
  { tags: ["large"] },
  async () => {
    const rest = `.sleep("before", "1h")`;
    const before = app(rest + race([ends("slow", 4)]) + LAST);
    const now = app(rest + race([ends("slow", 4), ends("quick", 1)]) + LAST);
    expect(await verdictOf(before, now)).toEqual([
      'first.quick safe: added: runs that have come to "first" do not run it',
    ]);
    expect(await endsUnder(before, now, 0.5)).toMatchObject(
      completed({ case: "quick", output: "quick" }),
    );
    expect(await endsUnder(before, now, 2)).toMatchObject(
      completed({ case: "slow", output: "slow" }),
    );
  },
);

test(
  "[S168] a removed case is out; if no other wins, the run stops; if it has won, it keeps that",
  { tags: ["large"] },
  async () => {
    const gone =
      "first.quick stops: the case is removed: it stops in runs that are in it; it is then out of the race, and the run stops if no other case wins";
    const before = app(race([ends("slow", 4), ends("quick", 2)]) + LAST);
    const now = app(race([ends("slow", 4)]) + LAST);
    expect(await verdictOf(before, now)).toEqual([gone]);
    expect(await endsUnder(before, now, 1)).toMatchObject(
      completed({ case: "slow", output: "slow" }),
    );
    const late = `.sleep("after", "1h")`;
    const won = [before, now].map((files) => ({
      "flow.workflow.ts": files["flow.workflow.ts"]!.replace(LAST, late + LAST),
    }));
    expect(await endsUnder(won[0]!, won[1]!, 2.5)).toMatchObject(
      completed({ case: "quick", output: "quick" }),
    );
    const failing = app(race([fails("slow", 4), ends("quick", 2)]) + LAST);
    const alone = app(race([fails("slow", 4)]) + LAST);
    expect(await verdictOf(failing, alone)).toEqual([gone]);
    expect(await endsUnder(failing, alone, 1)).toMatchObject({
      state: "failed",
      error: {
        kind: "childFailed",
        causes: { slow: { kind: "thrown" }, quick: { kind: "removedNode" } },
      },
    });
  },
);

test(
  "[S168] a node that is removed inside a case takes the case out of the race, and stops no run while another wins",
  { tags: ["large"] },
  async () => {
    const removed = (then: string) => [
      `first.quick.rest stops: the node is removed: runs that are at it stop; its case ${then}; those before or after it go on`,
    ];
    const made = `quick: (b) => b.step("made", { query: () => "quick" })`;
    const before = app(race([ends("slow", 4), ends("quick", 2)]) + LAST);
    const now = app(race([ends("slow", 4), made]) + LAST);
    const out = "is then out of the race, and the run stops if no other case wins";
    expect(await verdictOf(before, now)).toEqual(removed(out));
    expect(await endsUnder(before, now, 1)).toMatchObject(
      completed({ case: "slow", output: "slow" }),
    );
    const any = `, first: "any"`;
    const [first, then] = [
      race([ends("slow", 4), ends("quick", 2)], any),
      race([ends("slow", 4), made], any),
    ];
    expect(await verdictOf(app(first + LAST), app(then + LAST))).toEqual(
      removed("has then failed, which may win the race"),
    );
  },
);

test("[S263] a race that recovers does not stop its run: check says so, also of a branch and an item", async () => {
  const recover = `, recover: () => ({ case: "none", output: "made good" })`;
  const before = app(race([fails("slow", 4), ends("quick", 2)], recover) + LAST);
  const now = app(race([fails("slow", 4)], recover) + LAST);
  expect(await verdictOf(before, now)).toEqual([
    "first.quick stops: the case is removed: it stops in runs that are in it; it is then out of the race, and if no other case wins, `recover` gives the output",
  ]);
  expect(await endsUnder(before, now, 1)).toMatchObject(
    completed({ case: "none", output: "made good" }),
  );
  const node = { all: `branches: { one: (b) => b`, each: `of: () => [1], body: (b) => b` };
  for (const [at, ended] of [
    ["all", ` }`],
    ["each", ``],
  ] as const) {
    const kind = at === "all" ? "parallel" : "each";
    const of = (inner: string) =>
      app(`.${kind}("first", { ${node[at]}${inner}${ended}, recover: () => "made good" })` + LAST);
    const [rests, sleeps] = [
      of(`.sleep("rest", "4h").step("made", { query: () => 1 })`),
      of(`.step("made", { query: () => 1 })`),
    ];
    expect((await verdictOf(rests, sleeps))[0]).toContain(
      "runs that are at it stop; the node has then failed, and its `recover` gives the output; those",
    );
    expect(await endsUnder(rests, sleeps, 1)).toMatchObject(completed("made good"));
  }
});

test(
  "[S168] another `first` holds for races that begin; check says so of those that have begun",
  { tags: ["large"] },
  async () => {
    const cases = [fails("quick", 1), ends("slow", 2)];
    const well = app(race(cases) + LAST);
    const any = app(race(cases, `, first: "any"`) + LAST);
    const changed =
      "first safe: changed: runs in flight go on, and run the new code when they get there; a race that has begun keeps its rule";
    expect(await verdictOf(well, any)).toContain(changed);
    expect(await endsUnder(well, any, 0.5)).toMatchObject(
      completed({ case: "slow", ok: true, output: "slow" }),
    );
    const fails_ = `${changed}, and stops its run if a case that failed has won`;
    expect(await verdictOf(any, well)).toContain(fails_);
    expect(await endsUnder(any, well, 0.5)).toMatchObject({
      state: "failed",
      error: { node: "first", kind: "childFailed" },
    });
  },
);

test(
  "[S168] renamed cases and nodes keep what runs in them have done",
  { tags: ["large"] },
  async () => {
    const before = app(race([ends("quick", 1), ends("slow", 3)]) + LAST);
    const now = app(
      race([ends("fast", 1).replaceAll(`"made"`, `"done"`), ends("slow", 3)]) + LAST,
      `, renamed: { "first.quick": "first.fast", "first.quick.made": "first.fast.done" }`,
    );
    const verdict = await verdictOf(before, now);
    expect(verdict.filter((each) => !each.includes(" safe: "))).toEqual([]);
    expect(await endsUnder(before, now, 0.5)).toMatchObject(
      completed({ case: "fast", output: "fast" }),
    );
  },
);

test(
  "[S168] the whole race removed, or of another kind: runs that are in it stop",
  { tags: ["large"] },
  async () => {
    const before = app(race([ends("slow", 4)]) + LAST);
    const gone = app(`.step("last", { query: () => "last" })`);
    expect(await verdictOf(before, gone)).toContain(
      "first stops: the node is removed: runs that are at it or inside it stop; those before or after it go on",
    );
    expect(await endsUnder(before, gone, 1)).toMatchObject({ state: "failed" });
    const all = app(`.parallel("first", { branches: { ${ends("slow", 4)} } })` + LAST);
    const kind = (is: string) =>
      `first stops: runs that are at first (${is}) stop: it is not there any more`;
    const error = { kind: "removedNode", node: "first" };
    expect(await verdictOf(before, all)).toContain(kind("race"));
    expect(await endsUnder(before, all, 1)).toMatchObject({ state: "failed", error });
    expect(await verdictOf(all, before)).toContain(kind("parallel"));
    expect(await endsUnder(all, before, 1)).toMatchObject({ state: "failed", error });
  },
);
