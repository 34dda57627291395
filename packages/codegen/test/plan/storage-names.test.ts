/** @module-tag large */
import { expect, test } from "vitest";
import { Compiler, compileSources } from "../../src/compile.js";
import { storedNodes } from "../../src/plan/digest.js";
import type { WrittenPlan } from "../../src/plan/schema.js";
import { toWritten } from "../../src/plan/write.js";

/* Under which names results are stored: the first name of a node, whatever it is called since. */

const source = (nodes: string, renamed = "") => [
  {
    file: "flow.workflow.ts",
    text: `import { child, defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
export const flow = defineWorkflow({ input: z.object({})${renamed === "" ? "" : `, renamed: { ${renamed} }`} })${nodes};`,
  },
];

/** A version: its nodes, and what it says was renamed. */
type Version = readonly [nodes: string, renamed?: string];

async function planOf(
  [nodes, renamed]: Version,
  last: readonly WrittenPlan[],
  baseline?: WrittenPlan,
) {
  const result = await new Compiler({ once: true }).compileSources(
    source(nodes, renamed),
    undefined,
    () => ({ last, baseline }),
  );
  expect(result.diagnostics.map(({ message }) => message)).toEqual([]);
  return toWritten(result.plan);
}

/** The last of some versions, of which each was generated after the other. */
async function lastOf(versions: readonly Version[], baseline?: WrittenPlan): Promise<WrittenPlan> {
  let plan: WrittenPlan | undefined;
  for (const version of versions)
    plan = await planOf(version, plan === undefined ? [] : [plan], baseline);
  return plan!;
}

const storedIn = ({ workflows }: WrittenPlan) =>
  storedNodes(workflows[0]!.nodes).map(({ name }) => name);

/** A step whose code is told by a number. */
const step = (name: string, code: number) => `.step("${name}", { query: () => ${code} })`;
const loop = (name: string, body: string) =>
  `.loop("${name}", { initial: () => 1, body: (b) => b${body}, until: () => true, maxIterations: 3 })`;
const branch = (name: string, key: string, nodes: string) =>
  `.branch("${name}", { on: () => f(), cases: { ${key}: (b) => b${nodes} } })`;

test.each<[what: string, versions: Version[], stored: string[]]>([
  ["that was never renamed", [[step("a", 1)]], ["a"]],
  ["that is renamed", [[step("a", 1)], [step("b", 1), 'a: "b"']], ["a"]],
  [
    "that is renamed again, without its first renaming",
    [[step("a", 1)], [step("b", 1), 'a: "b"'], [step("c", 1), 'b: "c"']],
    ["a"],
  ],
  [
    "that is renamed again, with both renamings",
    [[step("a", 1)], [step("b", 1), 'a: "b"'], [step("c", 2), 'b: "c", a: "b"']],
    ["a"],
  ],
  [
    "whose renaming is deleted later",
    [[step("a", 1)], [step("b", 1), 'a: "b"'], [step("b", 2)]],
    ["a"],
  ],
  [
    "that gets its first name back",
    [[step("a", 1)], [step("b", 1), 'a: "b"'], [step("a", 2), 'b: "a"']],
    ["a"],
  ],
  [
    "that gets its first name back as its renaming is reverted",
    [[step("a", 1)], [step("b", 1), 'a: "b"'], [step("a", 1)]],
    ["a"],
  ],
  [
    "that swaps its name with another",
    [[step("a", 1) + step("b", 2)], [step("a", 2) + step("b", 1), 'a: "b", b: "a"']],
    ["b", "a"],
  ],
  [
    "that has swapped its name with another",
    [
      [step("a", 1) + step("b", 2)],
      [step("a", 2) + step("b", 1), 'a: "b", b: "a"'],
      [step("a", 2) + step("b", 1)],
    ],
    ["b", "a"],
  ],
  [
    "that gets the name of one which is renamed",
    [[step("a", 1) + step("b", 2)], [step("b", 1) + step("c", 2), 'a: "b", b: "c"']],
    ["a", "b"],
  ],
  [
    "that is new, under the name of one that is gone",
    [[step("a", 1) + step("b", 2)], [step("b", 2)], [step("a", 3) + step("b", 2)]],
    ["a2", "b"],
  ],
  [
    "that is new, under a name that two are gone from",
    [[step("a", 1)], [step("b", 0)], [step("a", 2)], [step("b", 0)], [step("a", 3)]],
    ["a3"],
  ],
  [
    "that comes back as it was",
    [[step("a", 1) + step("b", 2)], [step("b", 2)], [step("a", 1) + step("b", 2)]],
    ["a", "b"],
  ],
  [
    "that is new, under the name of one that is renamed at once",
    [[step("a", 1)], [step("b", 1) + step("a", 2), 'a: "b"']],
    ["a", "a2"],
  ],
  [
    "that is new, under the name of one that was renamed",
    [[step("a", 1)], [step("b", 1), 'a: "b"'], [step("b", 1) + step("a", 2), 'a: "b"']],
    ["a", "a2"],
  ],
  [
    "that is there beside the one it is said to be",
    [[step("a", 1) + step("b", 2)], [step("a", 1) + step("b", 2), 'a: "b"']],
    ["a", "b"],
  ],
  ["of another kind", [[step("a", 1)], ['.sleep("a", "1h")']], ["a2"]],
  [
    "whose new name is told only after it was generated",
    [[step("a", 1)], [step("b", 1)], [step("b", 1), 'a: "b"']],
    ["a"],
  ],
  [
    "in a renamed loop",
    [[loop("turn", step("a", 1))], [loop("round", step("a", 2)), 'turn: "round"']],
    ["turn", "turn.a"],
  ],
  [
    "renamed in a loop that is renamed too",
    [
      [loop("turn", step("a", 1))],
      [loop("round", step("b", 2)), 'turn: "round", "round.a": "round.b"'],
    ],
    ["turn", "turn.a"],
  ],
  [
    "in a renamed case of a renamed branch",
    [
      [branch("route", "x", step("a", 1))],
      [branch("way", "y", step("b", 2)), 'route: "way", "route.x": "way.y", "way.y.a": "way.y.b"'],
    ],
    ["route", "route.x", "route.x.a"],
  ],
])("[S116] of a node %s", { tags: ["large"] }, async (_what, versions, stored) => {
  const plan = await lastOf(versions);
  expect(storedIn(plan)).toEqual(stored);
  // Once applied, a mapping is in the plan: generated again, it is the same.
  expect(await planOf(versions.at(-1)!, [plan])).toEqual(plan);
});

test("[S116] what was never merged leaves nothing: neither names nor functions", async () => {
  const action = (name: string) => `.step("${name}", { action: () => 1 })`;
  const baseline = await lastOf([[step("a", 1)]]);
  const names = ["x", "y", "z", "last"];
  const plan = await lastOf(
    [
      [step("a", 1)],
      ...names.map((name, at): Version => [
        step("a", 1) + action(name),
        at === 0 ? "" : `${names[at - 1]}: "${name}"`,
      ]),
    ],
    baseline,
  );
  expect(storedIn(plan)).toEqual(["a", "last"]);
  expect(plan.removed).toBeUndefined();
});

test.each<[what: string, versions: Version[], stored: string[]]>([
  [
    "renamed twice on a branch",
    [
      [step("b", 1), 'a: "b"'],
      [step("c", 1), 'a: "b", b: "c"'],
    ],
    ["a"],
  ],
  [
    "renamed, and its renaming deleted on a branch",
    [[step("b", 1), 'a: "b"'], [step("b", 2)]],
    ["a"],
  ],
  ["told to be renamed after a while", [[step("b", 1)], [step("b", 2), 'a: "b"']], ["a"]],
])("[S116] of a node of the main branch that is %s", async (_what, versions, stored) => {
  const baseline = await lastOf([[step("a", 1)]]);
  expect(storedIn(await lastOf(versions, baseline))).toEqual(stored);
});

test("[S116] the functions of a renamed action keep their names, so there is no tombstone", async () => {
  const action = (name: string) => `.step("${name}", { action: () => 1 })`;
  const before = toWritten((await compileSources(source(action("pay")))).plan);
  const now = source(action("charge"), 'pay: "charge"');
  const { files, plan } = await compileSources(now, before);
  const text = files.find(({ path }) => path === "_workflows/flow.ts")?.text ?? "";
  expect(text).toMatch(
    /export const pay: StepAction = own\.action\("pay", nodes\.charge\.action\)/,
  );
  expect(text).toContain('names: { charge: "pay" }');
  expect(text).not.toContain("removed");
  expect(plan.removed).toEqual([]);
});

const act = (name: string, more = "") => `.step("${name}", { action: () => 1${more} })`;

test.each<[what: string, before: string, now: string, stored: string[]]>([
  [
    "the handler of a parent",
    `.parent("a", { action: () => 1, children: () => [] })`,
    act("aOutput") + `.parent("a", { children: () => [] })`,
    ["aOutput2", "a"],
  ],
  ["an action in a case", branch("a", "b", act("c")), act("aBC"), ["aBC2"]],
  ["an action in a loop", loop("a", act("b")), loop("aB", act("c")), ["aB", "aB.c"]],
  ["an action, inside another node", act("aB"), loop("a", act("b")), ["a", "a.b2"]],
  [
    "a compensation",
    act("a", ", compensate: { action: () => 1 }"),
    act("a") + act("aCompensate"),
    ["a", "aCompensate2"],
  ],
  [
    "an action, whose completion it would be",
    act("a"),
    step("b", 1) + step("aDone", 1),
    ["b", "aDone2"],
  ],
  ["an action that would be its completion", act("aDone"), act("a"), ["a2"]],
  [
    "an action, and is no function itself",
    act("aB"),
    loop("a", `.step("b", { query: internal.x.y, args: () => ({}) })`),
    ["a", "a.b"],
  ],
])(
  "[S117] a new node leaves the functions to what was removed: %s",
  async (_what, before, now, stored) => {
    const main = await lastOf([[before]]);
    const plan = await planOf([now], [main], main);
    expect(storedIn(plan)).toEqual(stored);
    // Generated again on its branch, merged, and generated in the next version.
    expect(await planOf([now], [plan], main)).toEqual(plan);
    expect(await planOf([now], [plan], plan)).toEqual(plan);
  },
);

test("[S117] a node that exists gets no function that a removed action had, until that is dropped", async () => {
  const main = await lastOf([[act("a") + act("aCompensate")]]);
  const now = source(act("a", ", compensate: { action: () => 1 }"));
  const compiled = (last: readonly WrittenPlan[], drops = false) =>
    new Compiler({ once: true }).compileSources(now, undefined, () => ({ last, drops }));
  const { diagnostics } = await compiled([main]);
  expect(diagnostics.map(({ code, message }) => `${code} ${message}`)).toEqual([
    'SW1008 in workflow "flow" step "a", compensate would be compiled to a function named aCompensate, which a run may call that is at the removed "aCompensate"',
  ]);
  const without = await planOf([act("a")], [main]);
  expect((await compiled([without])).diagnostics).toHaveLength(1);
  expect((await compiled([without], true)).diagnostics).toEqual([]);
});

test("[S116] what a branch alone has generated keeps no name for itself: generated again, it is the same", async () => {
  const main = await lastOf([[step("a", 1)]]);
  const first = await planOf(['.sleep("a", "1h")'], [main], main);
  expect(storedIn(first)).toEqual(["a2"]);
  const second: Version = [loop("a", step("b", 1))];
  const plan = await planOf(second, [first], main);
  expect(storedIn(plan)).toEqual(["a2", "a2.b"]);
  expect(await planOf(second, [plan], main)).toEqual(plan);
});

test("[S117] a tombstone that a branch takes away, as it has the action again, is there when that is gone again", async () => {
  const main = await lastOf([[act("a") + act("b")], [act("b")]]);
  expect(main.removed).toMatchObject([{ stages: ["a"], nodes: [{ name: "a" }] }]);
  const again = await planOf([act("a") + act("b")], [main], main);
  expect(again.removed).toBeUndefined();
  expect((await planOf([act("b")], [again], main)).removed).toEqual(main.removed);
  // One that was dropped stays away.
  const dropped = { ...main, removed: [] };
  expect((await planOf([act("b")], [dropped], main)).removed).toBeUndefined();
});

const keyed = (kind: string) => (key: string) => {
  const [name, on] = kind === "branch" ? ["cases", "on: () => f(), "] : ["branches", ""];
  return `.${kind}("w", { ${on}${name}: { "${key}": (b) => b${step("s", 1)} } })`;
};

test.each<[before: string, now: string, stored: string]>([
  ["a-b", "aB", "aB2"],
  ["a-b", "a b", "aB2"],
  ["aB", "a-b", "aB2"],
  ["200", "case200", "case2002"],
  [
    "customer-support-request-refund",
    "customer-support-request-reorder",
    "customerSupportRequestRe2",
  ],
])(
  "[S116] a case %j that is gone leaves its storage name: not to %j",
  async (before, now, stored) => {
    for (const of of [keyed("branch"), keyed("parallel")]) {
      const main = await lastOf([[of(before)]]);
      const plan = await planOf([of(now)], [main], main);
      expect(storedIn(plan)).toEqual(["w", `w.${stored}`, `w.${stored}.s`]);
      // Generated again on its branch, merged, and generated in the next version.
      expect(await planOf([of(now)], [plan], main)).toEqual(plan);
      expect(await planOf([of(now)], [plan], plan)).toEqual(plan);
      // The key comes back before it was merged.
      expect(storedIn(await planOf([of(before)], [plan], main))).toEqual(storedIn(main));
      const renamed: Version = [of(now), `"w.${before}": "w.${now}"`];
      expect(storedIn(await planOf(renamed, [main], main))).toEqual(storedIn(main));
      // It was gone for a while, and then there is the other one, or it again.
      const gone = await planOf([of("other")], [main], main);
      expect(storedIn(await planOf([of(now)], [gone], gone))).toEqual(storedIn(plan));
      expect(storedIn(await planOf([of(before)], [gone], gone))).toEqual(storedIn(main));
    }
  },
);
