import { expect, test } from "vitest";
import { compileSources } from "../../src/compile.js";
import { awaitedEvents, readEvents } from "../../src/cli/run-input.js";

const FLOWS = `import { child, defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
import { schemas } from "./schemas";

const input = z.object({});

export const leaf = defineWorkflow({ input: z.object({}) }).event("ready", { schema: z.string() });

export const computed = defineWorkflow({ input: z.object({}) }).event("any", { anyOf: schemas });

export const top = defineWorkflow({ input: z.object({}) })
  .event("first", { schema: z.string() })
  .branch("route", {
    on: () => "a",
    cases: {
      a: (b) => b.event("inCase", { anyOf: { yes: z.null(), no: z.null() } }),
      b: (b) =>
        b.loop("turns", {
          initial: () => 0,
          body: (b) => b.event("turn", { schema: z.number() }),
          until: () => true,
          maxIterations: 3,
        }),
    },
  })
  .child("below", leaf, () => ({}));

export const apart = defineWorkflow({ input: z.object({}) })
  .event("first", { schema: z.string() })
  .parallel("both", {
    branches: { one: (b) => b.event("inBranch", { schema: z.null() }), two: (b) => b.sleep("s", 1) },
  })
  .each("all", { of: () => [1], body: (b) => b.event("inItem", { schema: z.null() }) });

export const hidden = defineWorkflow({ input: z.object({}) }).parent("some", {
  children: () => pick(),
});

function pick() {
  return [child(leaf, {})];
}
`;

const { plan } = await compileSources([{ file: "flows.workflow.ts", text: FLOWS }]);

test("the events of a workflow are those of its nodes, also inside others, and below it those of its children", () => {
  const own = ["first", "yes", "no", "turn"];
  expect(awaitedEvents(plan, "top", { below: false })).toEqual({ names: own, isWhole: true });
  const all = awaitedEvents(plan, "top", { below: true });
  expect({ ...all, names: all.names.toSorted() }).toEqual({
    names: [...own, "ready"].sort(),
    isWhole: true,
  });
});

test("where names are computed, or a child may be of any workflow, others may be waited for", () => {
  expect(awaitedEvents(plan, "computed", { below: false })).toEqual({ names: [], isWhole: false });
  const all = awaitedEvents(plan, "hidden", { below: true });
  expect(all).toMatchObject({ isWhole: false, names: expect.arrayContaining(["ready", "first"]) });
});

test("[S163] the events of branches and items are not those of the run itself", async () => {
  const own = { names: ["first"], isWhole: true };
  expect(awaitedEvents(plan, "apart", { below: false })).toEqual(own);
  const all = ["first", "inBranch", "inItem"];
  expect(awaitedEvents(plan, "apart", { below: true })).toEqual({ names: all, isWhole: true });
  const given = '[{ "name": "inItem", "at": 5 }, { "name": "first", "in": "all/0" }]';
  expect(await readEvents(given, "apart", plan)).toMatchObject([
    { name: "inItem", atMs: 5, isBelow: true },
    { name: "first", in: "all/0", isBelow: true },
  ]);
  await expect(readEvents('{ "name": "first", "in": 1 }', "apart", plan)).rejects.toThrow(
    'event 1 has 1 as its "in", which is not text such as "reviews/0"',
  );
});

test("an event for a run below a node that is not there is refused before the run", async () => {
  const at = async (place: string) =>
    await readEvents(JSON.stringify({ name: "inItem", in: place }), "apart", plan);
  for (const place of ["all/0", "both/one"])
    expect(await at(place)).toMatchObject([{ in: place, isBelow: true }]);
  await expect(at("al/0")).rejects.toThrow(
    '--events: an event is for "al/0", and apart has no node "al" with runs below it. Did you mean "all"?',
  );
  await expect(readEvents('{ "name": "ready", "in": "x/0" }', "leaf", plan)).rejects.toThrow(
    'has no node "x" with runs below it. There are no such nodes at all.',
  );
});
