import { expect, test } from "vitest";
import { chainOf } from "./chain.js";
import { compile } from "./compiler.js";

/** How many types are instantiated to check a workflow of so many nodes. It does not vary. */
async function instantiations(nodes: number): Promise<number> {
  const printed = await compile(`speed-${nodes}`, chainOf(nodes), [
    "--extendedDiagnostics",
    "--singleThreaded",
    // The pool as an app has it, by its declarations: its own code is no cost of a workflow.
    "--customConditions",
    "none",
  ]);
  expect(printed).not.toContain("error TS");
  return figure(printed, "Instantiations");
}

function figure(printed: string, name: string): number {
  const [, value] = new RegExp(`^${name}: +([\\d.]+)`, "m").exec(printed) ?? [];
  if (value === undefined) throw new Error(`tsc has not printed "${name}":\n${printed}`);
  return Number(value);
}

const one = await instantiations(1);
const forty = await instantiations(40);
const hundred = await instantiations(100);

test("100 nodes are less than five times the work of 40", () => {
  expect((hundred - one) / (forty - one)).toBeLessThan(5);
});

test("[L15] kinds of nodes that a workflow does not have cost it next to nothing", () => {
  // 1.15 times what 40 nodes took before there were branches, items, ends, matches and races.
  expect(forty).toBeLessThan(1.15 * 162_044);
});
