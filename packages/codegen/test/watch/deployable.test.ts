import { expect, test } from "vitest";
import type { WrittenPlan } from "../../src/plan/schema.js";
import { Deployable } from "../../src/watch/watching.js";

const plan = (compiler: string): WrittenPlan => ({
  generatedBy: "workflow-codegen",
  compiler,
  version: 3,
  workflows: [],
});
const [before, first, second, third] = ["before", "first", "second", "third"].map(plan) as [
  WrittenPlan,
  WrittenPlan,
  WrittenPlan,
  WrittenPlan,
];

/** One that began so long ago that no push of the beginning is under way; with a clock. */
function begun(plans: readonly WrittenPlan[] = [before]) {
  let now = 0;
  const deployable = new Deployable(plans, () => now);
  const advance = (ms: number) => {
    now += ms;
  };
  advance(60_000);
  return { deployable, advance };
}

test("what was there at the beginning counts, until something else does", () => {
  const { deployable } = begun();
  expect(deployable.plans).toEqual([before]);
  expect(begun([]).deployable.plans).toEqual([]);
});

test("a plan that was replaced before `convex dev` can have pushed it does not count", () => {
  const { deployable, advance } = begun();
  for (const each of [first, second]) {
    deployable.wrote(each);
    advance(499);
    expect(deployable.plans).toEqual([before]);
  }
});

test("a plan counts from when it has been there as long as `convex dev` waits, in the place of those before", () => {
  const { deployable, advance } = begun();
  deployable.wrote(first);
  advance(500);
  expect(deployable.plans).toEqual([first]);
  advance(60_000);
  expect(deployable.plans).toEqual([first]);
});

test("while a push may be under way each plan counts, as it may be read in the middle of it", () => {
  const { deployable, advance } = begun();
  deployable.wrote(first);
  advance(600);
  expect(deployable.plans).toEqual([first]);
  deployable.wrote(second);
  advance(1);
  expect(deployable.plans).toEqual([second]);
  advance(10_000);
  deployable.wrote(third);
  advance(1);
  expect(deployable.plans).toEqual([second]);
});

test("so it is at the beginning: `convex dev` may have been started with the compiler", () => {
  let now = 0;
  const deployable = new Deployable([], () => now);
  deployable.wrote(first);
  now += 1;
  expect(deployable.plans).toEqual([first]);
});

test("a plan that nobody has asked about in time counts all the same", () => {
  const { deployable, advance } = begun();
  deployable.wrote(first);
  advance(3_600_000);
  expect(deployable.plans).toEqual([first]);
});
