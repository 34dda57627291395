import { expect, test } from "vitest";
import { nodeKinds } from "../src/analyze/nodes/table.js";
import { Compiler } from "../src/compile.js";

/* Literals that no option can be, which plain JavaScript and `any` let through. */

const HEAD = 'import { child, defineWorkflow } from "@stepwise/workflow";\n';
const INNER = 'b => b.step("x", { query: () => 1 })';

/** What a node cannot do without beside the option in question. */
const needed: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  step: { action: "() => 1" },
  finalize: { action: "() => 1" },
  parent: { children: "() => []" },
  event: { schema: "z.any()" },
  branch: { on: "() => 'k'", cases: `{ k: ${INNER} }` },
  match: { of: "'input'", by: "'a'", cases: `{ k: ${INNER} }` },
  loop: { initial: "() => 0", body: INNER, until: "() => true", maxIterations: "3" },
  parallel: { branches: `{ k: ${INNER} }` },
  race: { cases: `{ k: ${INNER} }` },
  each: { of: "() => []", body: INNER },
};

const written = (fields: Readonly<Record<string, string>>): string =>
  `{ ${Object.entries(fields)
    .map(([name, value]) => `${name}: ${value}`)
    .join(", ")} }`;

async function messages(
  definitions: readonly string[],
  config = "{ limits: { l: { total: 1, unit: 'u', rate: { limit: 9, per: '1m' } } } }",
) {
  const text = HEAD + definitions.map((each, at) => `export const w${at} = ${each};\n`).join("");
  const read = (file: string) =>
    file === "stepwise.config.ts"
      ? `import { defineConfig } from "@stepwise/workflow";\nexport default defineConfig(${config});`
      : undefined;
  const sources = [{ file: "a.workflow.ts", text }];
  const { diagnostics } = await new Compiler({ once: true }).compileSources(sources, read);
  return (line: number) =>
    diagnostics.filter(({ place }) => place.line === line + 2).map(({ message }) => message);
}

const define = (
  options: Readonly<Record<string, string>>,
  nodes = '.step("s", { query: () => 1 })',
) => `defineWorkflow(${written({ input: "z.object({})", ...options })})${nodes}`;

test("an option of a node or a workflow that is null is refused by its name, whatever it is for", async () => {
  const ofNodes = [...nodeKinds].flatMap(([kind, { known = [] }]) =>
    known.map((option) => {
      const name = kind === "finalize" ? "" : '"n", ';
      const rest = kind === "step" && ["mutation", "query"].includes(option) ? {} : needed[kind];
      const isSole = ["schema", "anyOf"].includes(option);
      const options = written({ ...(isSole ? {} : rest), [option]: "null" });
      return [option, define({}, `.${kind}(${name}${options})`)] as const;
    }),
  );
  const ofWorkflows =
    "input retry timeout retention sensitive tags limits one priority fairness collect onEnd renamed renamedFrom"
      .split(" ")
      .map((option) => [option, define({ [option]: "null" })] as const);
  const key = "() => 'k'";
  const parts = {
    "one.key": define({ one: written({ otherwise: "'wait'", key: "null" }) }),
    "fairness.weight": define({ fairness: written({ key, weight: "null" }) }),
    "collect.atMost": define({
      collect: written({ key, quiet: "5", keep: "'last'", atMost: "new Date()" }),
    }),
    "retry.when": define({ retry: "{ maxAttempts: 3, when: null }" }),
    "limits.l": define({}, ".step('s', { action: () => 1, limits: { l: null } })"),
    "limits[0]": define({}, ".step('s', { action: () => 1, limits: [null] })"),
    "limits.l.spend": define(
      {},
      ".step('s', { action: () => 1, limits: { l: { estimate: 1, spend: 5 } } })",
    ),
    "limits.l.estimat": define(
      {},
      ".step('s', { action: () => 1, limits: { l: { estimat: 5 } } })",
    ),
    "reduce.step": define(
      {},
      ".each('s', { of: () => [], body: b => b.step('x', { query: () => 1 }), reduce: { initial: 0, step: null } })",
    ),
    duration: define({}, ".sleep('s', null)"),
    args: define({}, ".child('s', w0, null)"),
    output: define({}, ".step('s', { query: () => 1 }).end(null)"),
  };
  const all = [...ofNodes, ...ofWorkflows, ...Object.entries(parts)];
  const found = await messages(all.map(([, definition]) => definition));
  const silent = all.filter(([option], at) => !found(at).some((each) => each.includes(option)));
  expect(silent).toEqual([]);
  expect(all.length).toBeGreaterThan(70);
});

test("what only looks like a value is none: a bigint, a date, a list, an object, a function", async () => {
  const odd = {
    "1n": "a bigint",
    "new Date()": "a Date",
    "/x/": "a RegExp",
    "[]": "a list",
    "{}": "{}",
    "() => 5": "a function",
    "new Map()": "a Map",
  };
  const found = await messages(Object.keys(odd).map((each) => define({ timeout: each })));
  for (const [at, shown] of Object.values(odd).entries())
    expect(found(at)).toEqual([`workflow "w${at}" has \`timeout: ${shown}\`, which cannot be`]);
});

test("an own class of the name of one of JavaScript's may give anything", async () => {
  const own = "(() => { class Date {} return defineWorkflow; })() && 0; class Date {}; const w";
  const found = await messages([`0;\n${own} = 1`, define({ timeout: "new Date()" })]);
  expect(found(2)).toEqual([]);
});

test("what is undefined in an object is not there, also if a spread takes it away", async () => {
  const retry = (fields: string) => define({ retry: fields });
  const found = await messages([
    retry("{ maxAttempts: 3, base: undefined }"),
    retry("{ maxAttempts: 3, ...{ maxAttempts: undefined } }"),
    retry("{ maxAttempts: undefined }"),
    retry("{ ...{ maxAttempts: undefined }, maxAttempts: 3 }"),
  ]);
  expect([0, 1, 2, 3].map((at) => found(at).length)).toEqual([0, 1, 1, 0]);
});

test("what something may have changed is not refused: an element, a static field, a let of a namespace", async () => {
  const held = [
    ["const a0 = ['q']; a0[0] = '5m';", "a0[0]"],
    ["class A1 { static k: any = 'q' } A1.k = '5m';", "A1.k"],
    ["namespace A2 { export let k: any = 'q'; k = '5m' }", "A2.k"],
  ] as const;
  const pre = held.map(([text]) => text).join(" ");
  const found = await messages([
    `0; ${pre}`,
    ...held.map(([, timeout]) => define({ timeout })),
    "0; const a4 = ['q'] as const; class A4 { static readonly k = 'q' }",
    define({ timeout: "a4[0]" }),
    define({ timeout: "A4.k" }),
  ]);
  expect([1, 2, 3, 5, 6].map((at) => found(at).length)).toEqual([0, 0, 0, 1, 1]);
});

test("an option that is void 0, or undefined of another type, is not there", async () => {
  const found = await messages([
    define({}, ".step('s', { query: () => 1, retry: void 0, timeout: (undefined as never) })"),
    define(
      {},
      ".parent('p', { children: () => [], tolerate: { failures: 1, percentage: void 0 } })",
    ),
  ]);
  expect([...found(0), ...found(1)]).toEqual([]);
});
