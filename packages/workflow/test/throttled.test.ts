/** @module-tag large */
import { Deployment, type Faults, S16 } from "@stepwise/testing";
import { expect, test, vi } from "vitest";
import { modules as component, schema as componentSchema } from "../src/test.js";
import schema from "./convex/schema.js";

vi.spyOn(console, "error").mockImplementation(() => {});

const modules = import.meta.glob(["./convex/**/*.{ts,js}", "!./convex/**/*.*.ts"]);
const parts = [
  { path: "", schema, modules },
  { path: "workflow", schema: componentSchema, modules: component },
];

interface Row {
  readonly workflow: string;
  readonly state: string;
}

const leaves = Array.from({ length: 6 }, (_, n) => ({ n, ms: 100 }));
const LIST = { name: "list", input: { leaves } };

/** Starts a run, and refuses all that is not the system's, from `after` its first action began. */
async function refusing(
  why: ReturnType<NonNullable<Faults["refuses"]>>,
  ms: number,
  {
    after = 0,
    seed,
    ...start
  }: { name: string; input: unknown; after?: number; seed?: number } = LIST,
) {
  let isRefused = false;
  const faults: Faults = { refuses: () => (isRefused ? why : undefined) };
  const deployment = await Deployment.of(parts, { class: S16, faults, seed });
  deployment.at(0, () => deployment.mutation("runs:start", start));
  const stop = deployment.onHappening((event) => {
    if (event.what !== "began") return;
    stop();
    deployment.at(after, () => (isRefused = true));
    deployment.at(after + ms, () => (isRefused = false));
  });
  await deployment.drive();
  return {
    states: deployment.rows<Row>("workflow", "runs").map(({ state }) => state),
    attempts: deployment
      .rows<{ attempt: number }>("workflow", "steps")
      .map(({ attempt }) => attempt),
  };
}

test.each([
  ["TooManyWrites", 5_000],
  ["TooManyWrites", 180_000],
  ["TooManyConcurrentRequests", 180_000],
] as const)("[S132] %s for %i ms: no finished step is lost", async (why, ms) => {
  const { states, attempts } = await refusing(why, ms);
  expect(states).toEqual(Array.from({ length: 7 }, () => "completed"));
  expect(Math.max(...attempts)).toBe(1);
});

test.each([
  ["TooManyWrites", 700_000],
  ["TooManyWrites", 1_500_000],
  ["TooManyConcurrentRequests", 700_000],
  ["TooManyConcurrentRequests", 1_500_000],
  // Convex pauses for up to 2 hours by then, and so may the watchdog.
  ["TooManyConcurrentRequests", 15_000_000],
] as const)("[S132] %s for %i ms, longer than an action lives: nor then", async (why, ms) => {
  const { states, attempts } = await refusing(why, ms);
  expect(states).toEqual(Array.from({ length: 7 }, () => "completed"));
  expect(Math.max(...attempts)).toBe(1);
});

test.each([
  ["TooManyWrites", 25_000],
  ["TooManyWrites", 45_000],
  ["TooManyWrites", 180_000],
  // Until just before the sweep in reserve, which comes a minute after the first.
  ["TooManyWrites", 71_000],
  ["TooManyConcurrentRequests", 25_000],
  ["TooManyConcurrentRequests", 71_000],
  ["TooManyConcurrentRequests", 180_000],
] as const)(
  "[S132] %s for %i ms, beyond the timeout of what has ended: nor then",
  async (why, ms) => {
    // It takes 9 s of its 10 s, and a check has seen that it began.
    const slow = { name: "slow", input: { ms: 9_000 }, after: 8_000 };
    const { states, attempts } = await refusing(why, ms, slow);
    expect(states).toEqual(["completed"]);
    expect(attempts).toEqual([1]);
  },
);

test.each([1, 2, 3, 4])(
  "[S132] nor if writes are accepted again shortly before the watchdog looks (seed %i)",
  { tags: ["large"] },
  async (seed) => {
    for (const took of [1_000, 9_000])
      for (let until = 9_500; until <= 45_000; until += 1_000) {
        // Its timeout is over after 10 s.
        const after = took - 1_000;
        const slow = { name: "slow", input: { ms: took }, after, seed };
        const { states, attempts } = await refusing("TooManyWrites", until - after, slow);
        const what = { took, until, states: ["completed"], attempts: [1] };
        expect({ took, until, states, attempts }).toEqual(what);
      }
  },
);
