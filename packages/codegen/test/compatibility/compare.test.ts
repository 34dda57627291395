import { expect, test } from "vitest";
import { compileSources } from "../../src/compile.js";
import { compare } from "../../src/compatibility/compare.js";
import { longestCommon } from "../../src/compatibility/lines.js";
import type { WrittenPlan } from "../../src/plan/schema.js";
import { toWritten } from "../../src/plan/write.js";

async function planOf(
  nodes: string,
  more = "",
  options = "",
  before?: WrittenPlan,
  config?: string,
): Promise<WrittenPlan> {
  const text = `import { child, defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
import { internal } from "./_generated/api";
export const leaf = defineWorkflow({ input: z.object({}) }).step("only", { query: () => 1 });
export const flow = defineWorkflow({ input: z.object({})${options} })${nodes};
${more}`;
  const sources = [{ file: "flow.workflow.ts", text }];
  if (config !== undefined) sources.push({ file: "stepwise.config.ts", text: config });
  const { plan, diagnostics } = await compileSources(sources, before);
  expect(diagnostics.map(({ message }) => message)).toEqual([]);
  return toWritten(plan);
}

async function changes(before: string, now: string): Promise<string[]> {
  const then = await planOf(before);
  return compare(then, await planOf(now, "", "", then)).map(
    ({ workflow, node, compatibility }) =>
      `${workflow}${node === undefined ? "" : `.${node}`}: ${compatibility}`,
  );
}

const a = '.step("a", { action: () => 1 })';
const b = '.step("b", { action: (ctx, { input }) => input })';
const c = '.step("c", { mutation: () => 3 })';
const parent = (options: string) =>
  `.parent("p", { ${options}children: () => [child(leaf, {})], finalize: { action: () => 1 } })`;

const GATE = '.event("gate", { schema: z.string() })';
const a2 = a.replace("1", "2");
const undone = '.step("a", { action: () => 1, compensate: { action: () => 2 } })';
const sleep = (duration: string) => `.sleep("s", ${JSON.stringify(duration)})`;
const spread = (most: number) =>
  loop(a).replace(", maxIterations: 3", "").replace("initial", `...f(${most}), initial`);
const either = '.step("e", f() ? { action: () => 1 } : { action: () => 2, retry: true })';
const one = (workflow: string) => `.child("one", ${workflow}, () => ({}))`;
const branch = (cases: string) => `.branch("route", { on: () => f(), cases: { ${cases} } })`;
const loop = (body: string) =>
  `.loop("turn", { initial: () => 1, body: (b) => b${body}, until: () => true, maxIterations: 3 })`;

test("[S71] an event that a node takes no more is told, with where one goes that is sent", async () => {
  const ask = (names: string) => `.event("ask", { anyOf: { ${names} } })`;
  const both = ask("paid: z.string(), refunded: z.string()");
  const later = '.event("refunded", { schema: z.string() })';
  const state =
    '.loop("ask", { state: z.number(), initial: () => 1, body: (b) => b.sleep("s", 1), until: () => true, maxIterations: 3 })';
  const told = async (now: string) =>
    compare(await planOf(both), await planOf(now)).map(({ message }) => message);
  const goes = /"refunded" is not taken here any more.*sent goes to another node$/;
  expect(await told(ask("paid: z.string()") + later)).toContainEqual(expect.stringMatching(goes));
  // What a loop keeps is no event.
  expect((await told(state)).join()).not.toContain("is not taken here any more");
});

test.each<[what: string, before: string, now: string, compatibility: string[]]>([
  ["nothing", a + b, a + b, []],
  ["only the layout", a, '\n .step( "a", /* why */ { action: () => 1, })', []],
  ["[S113] code inside a node", a + b, a.replace("1", "2") + b, ["flow.a: safe"]],
  [
    "[S113] retry and timeout",
    a,
    a.replace("() => 1", "() => 1, retry: true, timeout: 5"),
    ["flow.a: safe"],
  ],
  [
    "[S113] another function under the name",
    a,
    '.step("a", { action: internal.x.y, args: () => ({}) })',
    ["flow.a: safe"],
  ],
  ["[S113] a node before one with a condition", a + either, a2 + either, ["flow.a: safe"]],
  ["[S113] what a condition gives", either, either.replace("() => 2", "() => 3"), ["flow.e: safe"]],
  ["[S113] a spread beside a body", spread(9), spread(3), ["flow.turn: safe"]],
  ["[S114] a node added at the end", a, a + b, ["flow.b: safe"]],
  ["[S114] a node added before others", b, a + b, ["flow.a: safe"]],
  [
    "[S115] a node that moved",
    a + b + c,
    b + c + a,
    ["flow.b: safe", "flow.c: safe", "flow.a: safe"],
  ],
  ["[S116] a renamed node", a + b + c, `${a}${b.replace('"b"', '"d"')}${c}`, ["flow.b: rename"]],
  [
    "[S116] a node with other code, which may be another one",
    a + c,
    a2.replace('"a"', '"d"') + c,
    ["flow.a: rename", "flow.d: safe"],
  ],
  [
    "[S116] a renamed node that makes the output of a case, which is read",
    `${branch(`yes: (b) => b${a}${b}`)}.step("read", { query: (_ctx, { route }) => route })`,
    `${branch(`yes: (b) => b${a}${b.replace('"b"', '"d"')}`)}.step("read", { query: (_ctx, { route }) => route })`,
    ["flow.route.yes.b: rename"],
  ],
  [
    "[S116] one of other code that makes the output of a case, which is read",
    `${branch(`yes: (b) => b${a}`)}.step("read", { query: (_ctx, { route }) => route })`,
    `${branch(`yes: (b) => b${a2.replace('"a"', '"d"')}`)}.step("read", { query: (_ctx, { route }) => route })`,
    ["flow.route: safe", "flow.route.yes.a: rename", "flow.route.yes.d: safe"],
  ],
  [
    "a removed node and an added one that is no other name for it",
    a + b,
    `${a}.step("d", { query: () => 1 })`,
    ["flow.b: stops", "flow.d: safe"],
  ],
  [
    "a removed node and an alike one elsewhere",
    a + b + c,
    `${a}${c}${b.replace('"b"', '"d"')}`,
    ["flow.b: stops", "flow.d: safe"],
  ],
  ["[S117] a removed node", a + b, a, ["flow.b: stops"]],
  ["an action that becomes a mutation", a, '.step("a", { mutation: () => 1 })', ["flow.a: safe"]],
  ["a mutation that becomes an action", c, '.step("c", { action: () => 3 })', ["flow.c: safe"]],
  ["a mutation that becomes a query", c, '.step("c", { query: () => 3 })', ["flow.c: safe"]],
  ["a parent that gets a handler", parent(""), parent("action: () => 1, "), ["flow.p: safe"]],
  ["a parent that loses its handler", parent("action: () => 1, "), parent(""), ["flow.p: stops"]],
  [
    "a parent that loses a query at which no run can be",
    a + parent("query: () => 1, "),
    a + parent(""),
    ["flow.p: safe"],
  ],
  ["one at which a run can be", parent("query: () => 1, "), parent(""), ["flow.p: safe"]],
  [
    "one with a transaction of its own",
    parent("query: () => 1, isolate: true, "),
    parent(""),
    ["flow.p: safe"],
  ],
  [
    "a parent that loses its finalize",
    parent(""),
    parent("").replace(/, finalize: .*/, " })"),
    ["flow.p: stops"],
  ],
  ...["mutation: () => 1", "query: () => 1, isolate: false"].map(
    (finalize): [string, string, string, string[]] => [
      `a parent that loses a finalize at which no run can be, ${finalize}`,
      parent("").replace("action: () => 1", finalize),
      parent("").replace(/, finalize: .*/, " })"),
      ["flow.p: safe"],
    ],
  ),
  [
    "a parent that loses a finalize with a transaction of its own",
    parent("").replace("action: () => 1", "mutation: () => 1, isolate: true"),
    parent("").replace(/, finalize: .*/, " })"),
    ["flow.p: stops"],
  ],
  [
    "a parent that becomes a step",
    parent(""),
    '.step("p", { action: () => 1 })',
    ["flow.p: stops", "flow.p: safe"],
  ],

  ["[S113] another duration of a sleep", sleep("1d"), sleep("2d"), ["flow.s: safe"]],
  [
    "a sleep that becomes a step",
    sleep("1d"),
    '.step("s", { action: () => 1 })',
    ["flow.s: stops", "flow.s: safe"],
  ],
  [
    "an event that becomes a sleep",
    '.event("s", { schema: z.any() })',
    sleep("1d"),
    ["flow.s: stops", "flow.s: safe"],
  ],
  ["another child", one("leaf"), one("leaf").replace("({})", "({ a: 1 })"), ["flow.one: safe"]],
  [
    "a child that becomes a parent",
    one("leaf"),
    parent("").replace('"p"', '"one"'),
    ["flow.one: stops", "flow.one: safe"],
  ],
  ["a step that gets a compensation", a, undone, ["flow.a: safe"]],
  ["[S117] a step that loses its compensation", undone, a, ["flow.a: safe", "flow.a: loses"]],
  [
    "[S117] a step that is removed, with its compensation",
    undone + b,
    b,
    ["flow.a: stops", "flow.a: loses"],
  ],
  [
    "[S117] a compensation of another kind",
    undone,
    undone.replace("action: () => 2", "mutation: () => 2"),
    ["flow.a: safe"],
  ],
  [
    "code in a case",
    branch(`x: (b) => b${a}`),
    branch(`x: (b) => b${a2}`),
    ["flow.route.x.a: safe"],
  ],
  [
    "[S114] a case that is added",
    branch("x: (b) => b"),
    branch("x: (b) => b, y: (b) => b"),
    ["flow.route: safe"],
  ],
  [
    "[S117] a case with another key that gives the same storage name",
    branch(`"a-b": (b) => b${a}`),
    branch(`aB: (b) => b${a}`),
    ["flow.route.a-b: stops", "flow.route: safe"],
  ],
  [
    "[S117] a branch of a parallel with another key that gives the same storage name",
    `.parallel("p", { branches: { "a-b": (b) => b${a} } })`,
    `.parallel("p", { branches: { aB: (b) => b${a} } })`,
    ["flow.p.a-b: stops", "flow.p.aB: safe"],
  ],
  [
    "[S117] a case that is removed, with what is in it",
    branch(`x: (b) => b, y: (b) => b${a}`),
    branch("x: (b) => b"),
    ["flow.route.y: stops", "flow.route: safe"],
  ],
  [
    "another choice",
    branch("x: (b) => b"),
    branch("x: (b) => b").replace("() =>", "(scope) =>"),
    ["flow.route: safe"],
  ],
  [
    "[S115] nodes of a body that change places",
    loop(a + b),
    loop(b + a),
    ["flow.turn: safe", "flow.turn.b: safe"],
  ],
  [
    "[S117] a node of a body that is removed",
    loop(a + b),
    loop(a),
    ["flow.turn: safe", "flow.turn.b: stops"],
  ],
  [
    "[S114] a node added at the end of a body",
    loop(a),
    loop(a + b),
    ["flow.turn: safe", "flow.turn.b: safe"],
  ],
  ["[S113] another end of a loop", loop(a), loop(a).replace("true", "false"), ["flow.turn: safe"]],
  ["[S117] a loop that is removed, with what is in it", b + loop(a), b, ["flow.turn: stops"]],
  [
    "a node that moves out of a body",
    loop(a + b),
    loop(a) + b,
    ["flow.b: safe", "flow.turn: safe", "flow.turn.b: stops"],
  ],
  [
    "a renamed node of a body, which nothing says",
    loop(a + b),
    loop(a + b.replace('"b"', '"d"')),
    ["flow.turn.b: rename"],
  ],
  [
    "a renamed loop, which nothing says",
    loop(a) + b,
    loop(a).replace('"turn"', '"round"') + b,
    ["flow.turn: rename"],
  ],
])(
  "%s: the compatibility of runs in flight",
  { tags: ["large"] },
  async (_what, before, now, compatibility) => {
    expect(await changes(before, now)).toEqual(compatibility);
  },
);

test.each<[what: string, before: string, now: string, renamed: string, compatibility: string[]]>([
  ["a node", a + b + c, `${a}${b.replace('"b"', '"d"')}${c}`, 'b: "d"', ["b: safe"]],
  [
    "a node that has changed too",
    a + b,
    a.replace('"a"', '"d"').replace("1", "2") + b,
    'a: "d"',
    ["a: safe", "d: safe"],
  ],
  [
    "a node whose kind is another",
    a + b,
    a.replace('"a"', '"d"').replace("action", "mutation") + b,
    'a: "d"',
    ["a: safe", "d: safe"],
  ],
  [
    "a loop, with what is in it",
    loop(a),
    loop(a).replace("turn", "round"),
    'turn: "round"',
    ["turn: safe"],
  ],
  [
    "a node in a loop",
    loop(a + b),
    loop(a + b.replace('"b"', '"d"')),
    '"turn.b": "turn.d"',
    ["turn.b: safe"],
  ],
  [
    "a case",
    branch(`x: (b) => b${a}`),
    branch(`y: (b) => b${a}`),
    '"route.x": "route.y"',
    ["route: safe"],
  ],
  [
    "a node in a case, and the branch around it",
    branch(`x: (b) => b${a}`),
    branch(`x: (b) => b${a.replace('"a"', '"d"')}`).replace("route", "way"),
    '"route.x.a": "way.x.d", route: "way"',
    ["route: safe", "route.x.a: safe"],
  ],
  [
    "the same, said the other way round",
    branch(`x: (b) => b${a}`),
    branch(`x: (b) => b${a.replace('"a"', '"d"')}`).replace("route", "way"),
    'route: "way", "route.x.a": "way.x.d"',
    ["route: safe", "route.x.a: safe"],
  ],
  ...["a", "b"].flatMap((was) =>
    ['a: "d", b: "d"', 'a: "b", b: "d"', 'b: "d", a: "b"'].map(
      (said): [string, string, string, string, string[]] => [
        `a node that was renamed twice, in runs since it was ${was}, said ${said}`,
        a.replace('"a"', `"${was}"`) + c,
        a.replace('"a"', '"d"') + c,
        said,
        [`${was}: safe`],
      ],
    ),
  ),
  [
    "a loop, then a node in it",
    loop(a + b),
    loop(a + b.replace('"b"', '"d"')).replace("turn", "round"),
    'turn: "round", "round.b": "round.d"',
    ["turn: safe", "turn.b: safe"],
  ],
])(
  "[S116] a renaming that the workflow knows of is safe: %s",
  async (_what, before, now, renamed, compatibility) => {
    const then = await planOf(before);
    const all = compare(then, await planOf(now, "", `, renamed: { ${renamed} }`, then));
    expect(
      all.flatMap(({ node, compatibility }) =>
        node === undefined ? [] : `${node}: ${compatibility}`,
      ),
    ).toEqual(compatibility);
  },
);

const b2 = a.replace('"a"', '"b"');
const d2 = a.replace('"a"', '"d"');
const changed = "changed: runs in flight go on, and run the new code when they get there";
const now = (name: string) =>
  `renamed to "${name}": runs that are at it go on there, and those that are past it keep its result`;
const gone = "the node is removed: runs that are at it stop; those before or after it go on";

test.each<
  [what: string, before: string, now: string, renamed: string, told: [string, string, string][]]
>([
  [
    "two nodes swap their names",
    a + b,
    a.replace('"a"', '"b"') + b.replace('"b"', '"a"'),
    'a: "b", b: "a"',
    [
      ["a", "safe", now("b")],
      ["b", "safe", now("a")],
    ],
  ],
  [
    "a node gets the name of one that gets another",
    a + b,
    a.replace('"a"', '"b"') + b.replace('"b"', '"d"'),
    'a: "b", b: "d"',
    [
      ["a", "safe", now("b")],
      ["b", "safe", now("d")],
    ],
  ],
  [
    "a node gets the name of one that is gone",
    b + a,
    b2,
    'a: "b"',
    [
      ["b", "stops", gone],
      ["a", "safe", now("b")],
    ],
  ],
  [
    "a new node gets the name of a renamed one",
    a,
    b2 + a2.replace("action", "mutation"),
    'a: "b"',
    [
      ["a", "safe", now("b")],
      ["a", "safe", "added at the end: runs in flight run it too"],
    ],
  ],
  [
    "two nodes become one that is new",
    a + b + c,
    d2.replace("1", "2") + c,
    'a: "d", b: "d"',
    [
      ["b", "stops", gone],
      ["a", "safe", now("d")],
      ["d", "safe", changed],
    ],
  ],
  [
    "one is led on to the name of the other",
    a + b,
    d2,
    'a: "b", b: "d"',
    [
      ["a", "stops", gone],
      ["b", "safe", now("d")],
      [
        "d",
        "rename",
        'the node seems to be what "a" was: runs that have done "b" hand the result of that to the readers of "d"',
      ],
    ],
  ],
  [
    "a node in a renamed loop",
    loop(b2 + a),
    loop(b2).replace("turn", "round"),
    'turn: "round", "turn.a": "round.b"',
    [
      ["turn", "safe", now("round")],
      ["turn.b", "stops", gone],
      ["turn.a", "safe", now("round.b")],
    ],
  ],
])(
  "[S116] each node is followed under its storage name: %s",
  async (_what, before, now, renamed, told) => {
    const then = await planOf(before);
    const all = compare(then, await planOf(now, "", `, renamed: { ${renamed} }`, then));
    expect(
      all.flatMap(({ node, compatibility, message }) =>
        node === undefined ? [] : [[node, compatibility, message]],
      ),
    ).toEqual(told);
  },
);

test("[S116] nodes that swap their names without `renamed` seem to be each other", async () => {
  const then = await planOf(a + b);
  const swapped = a.replace('"a"', '"b"') + b.replace('"b"', '"a"');
  const all = compare(then, await planOf(swapped, "", "", then));
  const renamed = all.filter(({ compatibility }) => compatibility === "rename");
  expect(renamed.map(({ node }) => node)).toEqual(["a", "b"]);
  expect(renamed[0]?.hint).toContain('`renamed: { b: "a" }`');
  expect(renamed[0]?.message).toContain('the node seems to be what "b" was');
});

test.each([
  ["the one that waits", a + GATE, GATE + a, "gate", "a"],
  ["the one that is passed", GATE + a, a + GATE, "a", "gate"],
])(
  "[S114] [S115] what is said of two nodes that change places holds for %s",
  async (_which, was, is, first, second) => {
    const all = compare(await planOf(was), await planOf(is));
    expect(all.map(({ node, compatibility, message }) => [node, compatibility, message])).toEqual([
      [
        first,
        "safe",
        `moved before "${second}": runs that are there or past it, and have not run it, do not run it, nor do those that have not begun`,
      ],
    ]);
  },
);

test("[S117] what stops in a branch or an item whose failures are tolerated counts as one of them", async () => {
  const parallel = (inside: string, options = "") =>
    `.parallel("p", { branches: { x: (b) => b${branch(`k: (b) => b${inside}`)} }${options} })`;
  const messages = async (options: string) =>
    compare(await planOf(parallel(a + b, options)), await planOf(parallel(b, options))).map(
      ({ message }) => message,
    );
  expect(await messages("")).toEqual([gone]);
  expect(await messages(', tolerate: "all"')).toEqual([
    gone.replace("stop;", "stop; it counts as failed for `tolerate`;"),
  ]);
});

test("[S117] [S263] what stops its run is not said to go on by a recover or a tolerate that is gone, or new", async () => {
  const parallel = (branches: string, options: string) =>
    `.parallel("p", { branches: { x: (b) => b${branches} }${options} })`;
  for (const option of [", recover: () => 1", ', tolerate: "all"'])
    for (const [was, is] of [
      [option, ""],
      ["", option],
    ] as const) {
      const node = compare(await planOf(parallel(a + b, was)), await planOf(parallel(b, is)));
      expect(node.map(({ message }) => message)).toContain(gone);
      const branch = compare(
        await planOf(parallel(`${a}, y: (b) => b${b}`, was)),
        await planOf(parallel(a, is)),
      );
      expect(branch.map(({ message }) => message)).toContain(
        "the branch is removed: runs that are in it stop",
      );
    }
});

test("[S117] what stops in a race inside an item whose failure is tolerated stops no run", async () => {
  const each = (inside: string, options = "") =>
    `.each("e", { of: () => [1], body: (b) => b.race("r", { cases: { x: (b) => b${inside}, y: (b) => b${a} } })${options} })`;
  const messages = async (was: string, is: string, options?: string) =>
    compare(await planOf(each(was, options)), await planOf(each(is, options))).map(
      ({ message }) => message,
    );
  const out = "stop; its case is then out of the race, and the";
  expect(await messages(a + b, b)).toEqual([
    gone.replace("stop;", `${out} run stops if no other case wins;`),
  ]);
  expect(await messages(a + b, b, ', tolerate: "all"')).toEqual([
    gone.replace(
      "stop;",
      `${out} race fails if no other case wins; it counts as failed for \`tolerate\`;`,
    ),
  ]);
});

test("[S117] a branch or a rival that is removed has no `on` that could keep it, and a rival is out of the race", async () => {
  const among = (kind: string, option: string, inside: string) =>
    `.${kind}("p", { ${option}: { x: (b) => b${a}${inside} } })`;
  const y = `, y: (b) => b${b}`;
  const found = async (kind: string, option: string) => {
    const [was, is] = [await planOf(among(kind, option, y)), await planOf(among(kind, option, ""))];
    return compare(was, is).find(({ node }) => node === "p.y");
  };
  expect(await found("parallel", "branches")).toMatchObject({
    message: "the branch is removed: runs that are in it stop",
    hint: "keep the branch until no run is in it any more",
  });
  expect(await found("race", "cases")).toMatchObject({
    message:
      "the case is removed: it stops in runs that are in it; it is then out of the race, and the run stops if no other case wins",
    hint: "keep the case until no run is in it any more",
  });
});

test("[S116] where a node seems to be renamed, what to write is the hint", async () => {
  const all = compare(await planOf(loop(a + b)), await planOf(loop(a + b.replace('"b"', '"d"'))));
  expect(all.find(({ compatibility }) => compatibility === "rename")?.hint).toContain(
    '`renamed: { "turn.b": "turn.d" }`',
  );
  const [top] = compare(await planOf(a + b), await planOf(a + b.replace('"b"', '"d"')));
  expect(top?.hint).toContain('`renamed: { b: "d" }`');
});

test("[S114] the nodes inside others that read an added one are named, by the one they are in", async () => {
  const reader = loop('.step("r", { query: (ctx, { a }) => a })');
  const without = loop('.step("r", { query: (ctx, { input }) => input })');
  const changed = compare(await planOf(without), await planOf(a + reader));
  expect(changed.find(({ node }) => node === "a")?.message).toContain('"turn" reads undefined');
  const inBody = compare(
    await planOf(loop('.step("r", { query: (ctx, { input }) => input })')),
    await planOf(loop(`${a}.step("r", { query: (ctx, { a }) => a })`)),
  );
  expect(inBody.find(({ node }) => node === "turn.a")?.message).toContain(
    '"turn.r" reads undefined',
  );
});

test.each([
  ["", "call `workflow.repair(ctx, workflows)`"],
  [', timeout: "1h"', "keep the node"],
])("[S117] an event that is removed: what is to be done%s", async (timeout, hint) => {
  const event = `.event("asked", { schema: z.string()${timeout} })`;
  const changed = compare(await planOf(a + event + b), await planOf(a + b));
  expect(changed).toMatchObject([{ node: "asked", compatibility: "stops" }]);
  expect(changed[0]?.hint).toContain(hint);
});

test("[S117] a case that is removed: what is to be done, and that it can be", async () => {
  const before = await planOf(branch(`x: (b) => b, y: (b) => b${a}, z: (b) => b`));
  const now = (on: string, cases: string) => `.branch("route", { on: ${on}, cases: { ${cases} } })`;
  const [gone, ...rest] = compare(before, await planOf(now(`() => "x"`, "x: (b) => b")));
  expect([gone?.node, ...rest.map(({ node }) => node)]).toEqual(["route.y", "route.z", "route"]);
  expect(gone?.hint).toContain('`(scope): "x" | "y" => …`');
  const kept = await planOf(now(`(scope): "x" | "y" => "x"`, `x: (b) => b, y: (b) => b${a}`));
  expect(
    compare(before, kept).map(({ node, compatibility }) => `${node}: ${compatibility}`),
  ).toEqual(["route.z: stops", "route: safe"]);
});

test("[S117] a removed case of a match is kept as a case alone", async () => {
  const made = '.step("made", { query: () => f() })';
  const match = (cases: string) => `${made}.match("route", { of: "made", cases: { ${cases} } })`;
  const before = await planOf(match(`x: (b) => b, y: (b) => b${a}`));
  const [gone] = compare(before, await planOf(match("x: (b) => b")));
  expect(gone).toMatchObject({
    node: "route.y",
    hint: "keep the case until no run is in it any more",
  });
});

test("[S118] a workflow that is removed stops its runs, a new one stops none", async () => {
  const more =
    'export const old = defineWorkflow({ input: z.object({}) }).step("a", { query: () => 1 });';
  const before = await planOf(a, more);
  const now = await planOf(a, more.replace("const old", "const young"));
  expect(compare(before, now)).toMatchObject([
    {
      workflow: "old",
      compatibility: "stops",
      hint: expect.stringContaining('keep the workflow "old"'),
    },
    { workflow: "young", compatibility: "safe" },
  ]);
});

test("[S114] the nodes that read an added one are named", async () => {
  const reader = '.step("r", { query: (ctx, { a }) => a })';
  const all = '.step("s", { query: (ctx, scope) => f(scope) })';
  const before = await planOf(a + reader + all);
  const [without, , ...rest] = compare(
    await planOf(reader.replaceAll("a }", "input }").replace("=> a", "=> input") + all),
    before,
  );
  expect(rest).toEqual([]);
  expect([without?.node, without?.message].join()).toContain("r");
  const added = compare(await planOf(b + all), await planOf(a + b + all)).find(
    ({ node }) => node === "a",
  );
  expect(added?.message).toContain('"s" reads undefined in them');
});

test("another input is told where only a const has changed that it names, or that an option names", async () => {
  const flow = (most: number, kept: string) => `export const most = z.number().max(${most});
const retention = "${kept}";
export const bounded = defineWorkflow({ input: z.object({ most }), retention }).step("a", { query: () => 1 });`;
  const [before, now] = [await planOf(a, flow(1, "1d")), await planOf(a, flow(2, "1d"))];
  const told = compare(before, now).map(({ workflow, message }) => `${workflow}: ${message}`);
  expect(told).toEqual([
    "bounded: input.most has another schema: runs that have not begun fail with invalidInput, unless their value fits, and runs that have begun keep what they have",
  ]);
  const longer = compare(before, await planOf(a, flow(1, "2d")));
  expect(longer.map(({ message }) => message)).toEqual([
    "other options: they hold for what starts from now on",
  ]);
});

test.each([
  "const { shape } = all",
  "const [shape] = [all.shape]",
  "const { own, ...shape } = all.shape",
])("what a pattern takes of a schema is not taken for all that it is of: %s", async (pattern) => {
  const flow = (more: string) => `const all = { shape: { own: z.string(), n: z.number() }${more} };
${pattern};
export const taken = defineWorkflow({ input: z.object(shape) }).step("a", { query: () => 1 });`;
  const [before, now] = [await planOf(a, flow("")), await planOf(a, flow(", more: z.string()"))];
  const told = compare(before, now).map(
    ({ compatibility, message }) => `${compatibility} ${message}`,
  );
  expect(told.map((each) => each.split(":")[0])).toEqual(["safe another input"]);
  expect(told.join()).toContain("check cannot see all of its fields");
});

test("another input and other options of a workflow are safe, and told", async () => {
  const before = await planOf(a);
  const [leaf, flow] = [before.workflows[1], before.workflows[0]];
  const now = {
    ...before,
    workflows: [{ ...flow!, input: "0", options: { retry: true }, hash: "0" }, leaf!],
  };
  expect(
    compare(before, now).map(({ message, compatibility }) => [
      compatibility,
      message.split(":")[0],
    ]),
  ).toEqual([
    ["safe", "another input"],
    ["safe", "another retry"],
  ]);
});

test("[S117] each compensation that is removed is named, with what to do", async () => {
  const inside = loop(undone.replace('"a"', '"inner"'));
  const gone = `export const gone = defineWorkflow({ input: z.object({}) })${undone};`;
  const before = await planOf(undone + inside + b, gone);
  const told = compare(before, await planOf(b)).filter(
    ({ compatibility }) => compatibility === "loses",
  );
  expect(told.map(({ workflow, node }) => [workflow, node])).toEqual([
    ["flow", "a"],
    ["flow", "turn.inner"],
    ["gone", "a"],
  ]);
  for (const { message, hint } of told) {
    expect(message).toMatch(/^its compensation is removed/);
    expect(hint).toMatch(/^keep the step with its compensation/);
  }
});

test("[S116] of a compensation that is there under the new name of its step nothing is told", async () => {
  const before = await planOf(undone + b);
  const renamed = undone.replace('"a"', '"a2"') + b;
  const told = (now: WrittenPlan) =>
    compare(before, now).filter(({ compatibility }) => compatibility === "loses");
  expect(told(await planOf(renamed, "", ', renamed: { a: "a2" }', before))).toEqual([]);
  expect(told(await planOf(renamed, "", "", before))).toMatchObject([{ node: "a" }]);
});

test.each([
  ["abc", "abc", "abc"],
  ["abcd", "bcda", "bcd"],
  ["abc", "cba", "a"],
  ["", "a", ""],
  ["abcde", "axbyd", "abd"],
])("the longest common order of %s and %s has the length of %s", (first, second, common) => {
  expect(longestCommon([...first], [...second])).toHaveLength(common.length);
});

test("generated code in another folder stops the runs of all workflows there are", async () => {
  const before = await planOf(a);
  const moved = { ...before, config: { output: "flows" } };
  const hint = 'keep `output: "_workflows"` until no run is in flight';
  expect(compare(before, moved)).toMatchObject([
    { workflow: "flow", compatibility: "stops", hint },
    { workflow: "leaf", compatibility: "stops", hint },
  ]);
  // To say the usual folder is to say nothing.
  expect(compare(before, { ...before, config: { output: "_workflows" } })).toEqual([]);
});

test("a component that is mounted under another name stops the runs of all workflows there are", async () => {
  const before = await planOf(a);
  const moved = { ...before, config: { component: "flows" } };
  expect(compare(before, moved)).toMatchObject([
    { workflow: "flow", compatibility: "stops", message: expect.stringContaining('"flows" now') },
    { workflow: "leaf", compatibility: "stops" },
  ]);
  expect(compare(before, { ...before, config: { component: "workflow", retry: true } })).toEqual(
    [],
  );
});

test("[S221] a one that is added, changed or removed is told, and stops nothing", async () => {
  const withOne = async (name: string | undefined, then?: WrittenPlan) => {
    const one = `, one: { key: ({ input }) => ${name}, otherwise: "wait" }`;
    return await planOf(a, "", name === undefined ? "" : one, then);
  };
  const told = async (from: string | undefined, to: string | undefined) => {
    const before = await withOne(from);
    return compare(before, await withOne(to, before));
  };
  const safe = (message: string) => [
    {
      workflow: "flow",
      compatibility: "safe",
      message: expect.stringContaining(message) as string,
    },
  ];
  expect(await told(undefined, '"k"')).toEqual(safe("added: runs that were started before do not"));
  expect(await told('"k"', '"other"')).toEqual(safe("changed: runs that were started before keep"));
  expect(await told('"k"', undefined)).toEqual(safe("removed: runs that wait by it begin when"));
  expect(await told('"k"', '"k"')).toEqual([]);
});

test("[S210] a priority that is added, changed or removed is told, and stops nothing", async () => {
  const told = async (from: string, to: string) => {
    const before = await planOf(a, "", from);
    return compare(before, await planOf(a, "", to, before)).map(
      ({ compatibility, message }) => `${compatibility}: ${message}`,
    );
  };
  const safe = (what: string) => [
    `safe: the priority is ${what}: runs that were started before keep what they have`,
  ];
  const [some, other] = [', priority: "30s"', ", priority: ({ input }) => 5"];
  expect(await told("", some)).toEqual(safe("added"));
  expect(await told(some, other)).toEqual(safe("changed"));
  expect(await told(other, "")).toEqual(safe("removed"));
  expect(await told(other, other)).toEqual([]);
});

test("[S211] a fairness that is added, changed or removed is told, and stops nothing", async () => {
  const told = async (from: string, to: string) => {
    const of = (weight: string) =>
      weight === "" ? "" : `, fairness: { key: ({ input }) => "k", weight: ${weight} }`;
    const before = await planOf(a, "", of(from));
    return compare(before, await planOf(a, "", of(to), before)).map(
      ({ compatibility, message }) => `${compatibility}: ${message}`,
    );
  };
  const safe = (what: string) => [
    `safe: the fairness is ${what}: runs that were started before keep what they have`,
  ];
  expect(await told("", "1")).toEqual(safe("added"));
  expect(await told("1", "2")).toEqual(safe("changed"));
  expect(await told("2", "")).toEqual(safe("removed"));
  expect(await told("2", "2")).toEqual([]);
});

test("[S197] limits of a workflow that are added, removed or have another key are told", async () => {
  const all = "tenant: { perKey: 3 }, old: { total: 1 }";
  const exports = "exports: { total: 5 }, ";
  const withLimits = async (of: string, then?: WrittenPlan, limits = exports + all) => {
    const config = `import { defineConfig } from "@stepwise/workflow";
export default defineConfig({ limits: { ${limits} } });`;
    return await planOf(a, "const shared = f();", of && `, limits: ${of}`, then, config);
  };
  const told = async (from: string, to: string, limits?: string, then?: string) => {
    const before = await withLimits(from, undefined, then);
    return compare(before, await withLimits(to, before, limits)).map(
      ({ workflow, compatibility, message }) => `${workflow} ${compatibility}: ${message}`,
    );
  };
  const gone = (name: string) =>
    `flow safe: its limit "${name}" is removed: actions that have begun or wait for it count as before, and those that runs come to from now on do not`;
  const added =
    'flow safe: its limit "old" is added: it holds for the actions that runs come to from now on';
  const keyed = '["exports", { tenant: ({ input }) => "a" }]';
  expect(await told(keyed, '["old"]')).toEqual([gone("exports"), gone("tenant"), added]);
  expect(await told(keyed, '{ tenant: ({ input }) => "b", exports: true }')).toEqual([
    'flow safe: its limit "tenant" has another key: actions that have begun or wait keep theirs',
  ]);
  const other = (what: string) => [
    `flow safe: its limit "old" has ${what}: actions that have begun or wait keep theirs`,
  ];
  const spend = "spend: ({ output }) => output";
  const counts = 'old: { perKey: 1, rate: { limit: 5, per: "1m" }, unit: "tokens" }';
  const starts = counts.replace(', unit: "tokens"', "");
  const key = '({ input }) => "a"';
  const estimated = `{ old: { estimate: 1, key: ${key} } }`;
  const ofEstimates = async (from: string, to: string, config = counts) =>
    (await told(from, to, config, counts)).filter((each) => each.startsWith("flow"));
  expect(await ofEstimates(estimated, `{ old: { key: ${key}, estimate: 2, ${spend} } }`)).toEqual(
    other("another estimate"),
  );
  expect(await ofEstimates(estimated, `{ old: { key: ${key}, estimate: 1, ${spend} } }`)).toEqual(
    [],
  );
  expect(await ofEstimates(estimated, `{ old: ${key} }`, starts)).toEqual(
    other("no estimate any more"),
  );
  // Nobody waits for a limit that the config does not have any more.
  expect(await told(keyed, "", all)).toEqual([
    expect.stringContaining('"exports" is removed or renamed: actions that wait for it begin'),
    gone("tenant"),
  ]);
  // The names are not seen, so they may be others.
  expect(await told(keyed, "shared")).toHaveLength(3);
  expect(await told("shared", "shared")).toEqual([]);
});

test("[S197] limits that are new, changed, removed or renamed are told, and end nothing", async () => {
  const plan = await planOf(a);
  const withLimits = (limits: NonNullable<WrittenPlan["config"]>["limits"]) => ({
    ...plan,
    config: { limits },
  });
  const rate = (limit: number) => ({ api: { rate: { limit, per: "1m" } } });
  const same = { tenant: { perKey: 3 } };
  const api = rate(5);
  const before = withLimits({
    ...api,
    used: { ...api.api, unit: "tokens" },
    uses: api.api,
    ...same,
    exports: { total: 5 },
    asks: { total: 1 },
    old: { total: 1 },
  });
  const asks = { total: 1, maxWaiting: 9 };
  const counted = { used: { rate: api.api.rate }, uses: { ...api.api, unit: "tokens" } };
  const changed = { exports: { total: 2 }, asks, mails: { total: 1 }, ...counted };
  const now = withLimits({ ...rate(6), ...same, ...changed });
  expect(compare(before, now)).toEqual(
    [
      'the limit "old" is removed or renamed: actions that wait for it begin',
      'the limit "api" is changed: actions that it lets through now begin, and none is ended',
      'the limit "exports" is changed: actions that it lets through now begin, and none is ended',
      'the limit "asks" is changed: from now on, starts are refused by its new maxWaiting',
      'the limit "mails" is new: actions that run already do not count',
      'the limit "used" is changed: it counts starts now, and no tokens',
      'the limit "uses" is changed: it counts tokens, and an action that waits takes 1',
    ].map((message) => ({ workflow: "", compatibility: "safe", message })),
  );
  expect(compare(before, before)).toEqual([]);
});

test("[S114] who starts a workflow anew has no children with an output that another node made", async () => {
  const kid = (nodes: string) =>
    `export const kid = defineWorkflow({ input: z.object({}) })${nodes};`;
  const starts = a + one("kid");
  const told = async (was: string, is: string, more = "") => {
    const before = await planOf(was, kid(a));
    return compare(before, await planOf(is, kid(a + c) + more, "", before)).flatMap(
      ({ node, message }) => (node === undefined && message.includes("another") ? [message] : []),
    );
  };
  const other =
    "export const other = defineWorkflow({ input: z.object({}) })" +
    '.child("first", kid, () => ({}));';
  expect(await told(a, starts, other)).toEqual([]);
  expect(await told(starts, starts, other)).toEqual([
    'another node makes its output now: of children that have ended, "one" of flow gets what the one before gave',
  ]);
});

test("[S214] a collect that is added, changed or removed is told, and stops runs if their input is another", async () => {
  const told = async (from: string | undefined, to: string | undefined) => {
    const of = async (fields: string | undefined, then?: WrittenPlan) => {
      const collect = `, collect: { key: ({ input }) => "k", quiet: "30s", ${fields} }`;
      return await planOf(a, "", fields === undefined ? "" : collect, then);
    };
    const before = await of(from);
    return compare(before, await of(to, before)).map(
      ({ compatibility, message }) => `${compatibility}: ${message}`,
    );
  };
  const [last, all] = ['keep: "last"', 'keep: "all"'];
  const rows = [
    [undefined, last, /^safe: the collect is added: starts from now on are collected$/],
    [last, 'keep: "first"', /^safe: the collect is changed: a run that collects already begins/],
    [all, `${all}, size: 5`, /^safe: the collect is changed/],
    [last, undefined, /^safe: the collect is removed: what is collected begins when it would/],
    [last, all, /^stops: the collect is changed: the input of runs is `\{ items \}` and was/],
    [undefined, all, /^stops: the collect is added/],
    [all, undefined, /^stops: the collect is removed: .* with a run for each start$/],
    ["...more", all, /^stops: the collect is changed/],
  ] as const;
  for (const [from, to, message] of rows)
    expect(await told(from, to)).toEqual([expect.stringMatching(message)]);
});
