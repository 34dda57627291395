import { expect, test } from "vitest";
import { chainOf } from "./chain.js";
import { compile } from "./compiler.js";

/**
 * What it takes to check a workflow of so many nodes: the best of some times, and how many types
 * were instantiated, which does not vary.
 */
async function measure(nodes: number, times: number) {
  const seconds: number[] = [];
  let instantiations = NaN;
  for (let time = 0; time < times; time++) {
    const printed = await compile(`speed-${nodes}`, chainOf(nodes), [
      "--extendedDiagnostics",
      "--singleThreaded",
      // The pool as an app has it, by its declarations: its own code is no cost of a workflow.
      "--customConditions",
      "none",
    ]);
    expect(printed).not.toContain("error TS");
    seconds.push(figure(printed, "Total time"));
    instantiations = figure(printed, "Instantiations");
  }
  return { seconds: Math.min(...seconds), instantiations };
}

function figure(printed: string, name: string): number {
  const [, value] = new RegExp(`^${name}: +([\\d.]+)`, "m").exec(printed) ?? [];
  if (value === undefined) throw new Error(`tsc has not printed "${name}":\n${printed}`);
  return Number(value);
}

const one = await measure(1, 2);
const forty = await measure(40, 1);
const hundred = await measure(100, 2);

test("a workflow of 100 nodes of all kinds is checked in a few times what one of a single node takes", async ({
  annotate,
}) => {
  await annotate(`1 node: ${one.seconds} s; 100 nodes: ${hundred.seconds} s`);
  // 3 to 4 as seen on a quiet machine.
  expect(hundred.seconds / one.seconds).toBeLessThan(12);
});

test("100 nodes are less than five times the work of 40", () => {
  const work = (measured: typeof one) => measured.instantiations - one.instantiations;
  expect(work(hundred) / work(forty)).toBeLessThan(5);
});

test("[L15] kinds of nodes that a workflow does not have cost it next to nothing", () => {
  // 1.15 times what 40 nodes took before there were branches, items, ends, matches and races.
  expect(forty.instantiations).toBeLessThan(1.15 * 162_044);
});
