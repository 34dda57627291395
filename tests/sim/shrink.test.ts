import { afterAll, expect, test } from "vitest";
import { compiled, removeAll } from "./app.js";
import { type Entry, type Scenario, scenarioOf } from "./scenario.js";
import { shrunk } from "./shrink.js";
import { simulated } from "./simulated.js";

afterAll(removeAll);

const MANY = 20;

/** How many items or children the widest node has. */
function widthOf({ definition }: Scenario): number {
  const items = [...definition.matchAll(/=> (?:items|keyed)\("\w+", .*?, (\d+)\)/g)];
  const children = definition.split("\n").map((line) => line.split("child(").length - 1);
  return Math.max(...items.map(([, count]) => Number(count)), ...children);
}

const restarts = (plan: readonly Entry[]): boolean =>
  JSON.stringify(plan).includes('"does":"restart"');

test.each([
  ["items", 38],
  ["children", 57],
])(
  "a wide run of many %s that fails as it is restarted is shrunk to these, and a restart",
  { tags: ["large"] },
  async (_what, seed) => {
    const scenario = scenarioOf(seed, "s16", "wide");
    const plays = async (candidate: Scenario) => {
      const fails = widthOf(candidate) >= MANY && restarts(candidate.plan);
      return { problems: fails ? ["a restart of many was lost"] : [] };
    };
    const { problems } = await plays(scenario);
    const least = await shrunk(scenario, await compiled([scenario]), problems, plays);
    expect((await plays(least)).problems).toEqual(problems);
    expect(least.plan).toHaveLength(1);
    expect(least.definition.length).toBeLessThan(scenario.definition.length / 2);
    expect(least.throttle).toBeUndefined();
    // What is left is a scenario still.
    expect((await simulated(least)).problems).toEqual([]);
  },
);
