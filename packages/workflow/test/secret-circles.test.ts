import { expect, test } from "vitest";
import { z } from "zod";
import type { AnyDefinition } from "../src/definition/definition.js";
import { defineWorkflow } from "../src/definition/index.js";
import type { Bound } from "../src/runtime/functions.js";
import { allNodes } from "../src/runtime/place.js";
import { marksOf, readsOf } from "../src/runtime/reads.js";
import { knowCompiled } from "../src/runtime/secrets.js";

/* What is secret by what it is made of, which may be made of it in turn. */

/** A chain of calls as long as a test makes it. */
interface Chain {
  step(name: string, node: object): Chain;
  end(output: () => unknown): Chain;
  parallel(name: string, node: object): Chain;
  parent(name: string, node: object): Chain;
  loop(name: string, node: object): Chain;
}

type Reads = Record<string, readonly string[]>;

/** A workflow whose branches end with what they read. Its parent starts `all`. */
function workflow(
  { secret, reads }: { readonly secret: boolean; readonly reads: Reads },
  all: () => readonly AnyDefinition[],
  onRead = () => {},
) {
  const branches = {
    one: (b: Chain) => b.end(() => 0),
    two: (b: Chain) => b.end(() => 0),
  };
  const body = (b: Chain) =>
    ["first", "second", "third"].reduce((made, name) => made.parallel(name, { branches }), b);
  // As it is built: its types grow with each node.
  const definition = (defineWorkflow({ input: z.object({}) }) as unknown as Chain)
    .step("token", { query: () => 0, sensitive: secret })
    .parent("kids", { start: () => [] })
    .loop("rounds", { initial: () => 0, body, until: () => true, maxIterations: 2 })
    .parallel("last", { branches }) as unknown as AnyDefinition;
  const get = (stage: string) => {
    onRead();
    return reads[stage];
  };
  const own = {
    definition,
    reads: { get } as Bound["reads"],
    starts: { kids: () => all().map((started) => ({ definition: started }) as never) },
  };
  knowCompiled(definition, own as unknown as Bound);
  return own;
}

const ENDS = ["rounds.first", "rounds.second", "rounds.third", "last"].flatMap((path) =>
  ["one", "two"].map((branch) => `${path}.${branch}.end`),
);

test("[S97] it is asked of each function once what it reads, however many hand on what they read", () => {
  let asked = 0;
  const reads = Object.fromEntries(ENDS.map((end) => [end, ["*"]]));
  const all: AnyDefinition[] = [];
  for (let count = 0; count < 20; count++) {
    const { definition } = workflow(
      { secret: false, reads },
      () => all,
      () => {
        asked += 1;
        if (asked > 1_000) throw new Error("It is asked again and again");
      },
    );
    all.push(definition);
  }
  const [first] = all;
  const own = workflow({ secret: false, reads }, () => [first!]);
  expect(marksOf(own, "last").sensitive).toBeUndefined();
  expect(asked).toBeLessThanOrEqual(20 * (ENDS.length + 1));
});

test("[S97] what is secret does not depend on what was asked before", { tags: ["large"] }, () => {
  let seed = 1;
  const chance = (of: number) => (seed = (seed * 48_271) % 2_147_483_647) % of === 0;
  let secrets = 0;
  for (let round = 0; round < 25; round++) {
    const plans = Array.from({ length: 3 }, (_, index) => ({
      secret: index > 0 && chance(2),
      reads: Object.fromEntries(
        ["rounds", ...ENDS].map((stage) => [
          stage,
          ["token", "kids", "loop", "first", "second", "rounds"].filter(() => chance(4)),
        ]),
      ),
    }));
    const starts = plans.map(() => plans.map(() => chance(2)));
    const made = () => {
      const all: AnyDefinition[] = [];
      const owns = plans.map((plan, index) =>
        workflow(plan, () => all.filter((_, to) => starts[index]?.[to])),
      );
      all.push(...owns.map(({ definition }) => definition));
      return owns;
    };
    const answers = (owns: ReturnType<typeof made>, which: number, path: string) => [
      marksOf(owns[which]!, path).sensitive,
      readsOf(owns[which]!, path).map(({ name, sensitive }) => [name, sensitive]),
    ];
    const shared = made();
    for (const [which, { definition }] of shared.entries())
      for (const { path } of allNodes(definition.nodes)) {
        const told = answers(shared, which, path);
        expect(told).toEqual(answers(made(), which, path));
        secrets += Number(told[0] === true);
      }
  }
  expect(secrets).toBeGreaterThan(50);
});
