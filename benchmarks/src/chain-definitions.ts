/** What a step counts on from: the name under which its scope has it, and the expression. */
interface Previous {
  readonly name: string;
  readonly value: string;
}

/** The options of a step that takes the result of the one before it, and counts on. */
const STEPS = {
  inlineAction: ({ name, value }) => `action: async (_ctx, { ${name} }) => ${value} + 1`,
  referencedAction: ({ name, value }) =>
    `action: internal.steps.act, args: ({ ${name} }) => ({ n: ${value} })`,
  busyAction: ({ name, value }) =>
    `action: internal.steps.actFor, args: ({ ${name === "input" ? name : `input, ${name}`} }) => ({ n: ${value}, ms: input.ms })`,
  /** Each step fails once. */
  failingAction: ({ name, value }) =>
    `action: async (_ctx, { ${name} }, { attempt }) => { if (attempt === 1) throw new Error("once"); return ${value} + 1; }, ` +
    "retry: { maxAttempts: 2, initialBackoffMs: 100, base: 2 }",
  mutation: ({ name, value }) => `mutation: async (_ctx, { ${name} }) => ${value} + 1`,
  isolatedMutation: ({ name, value }) =>
    `mutation: async (_ctx, { ${name} }) => ${value} + 1, isolate: true`,
  query: ({ name, value }) => `query: async (_ctx, { ${name} }) => ${value} + 1`,
} satisfies Record<string, (previous: Previous) => string>;

/** Nodes of other kinds: what follows the workflow's input, with an output of N. */
const SHAPES = {
  /** N children with a single action each. */
  fanOut: (length) => [
    `  .parent("all", { children: () => Array.from({ length: ${length} }, () => child(leaf, { n: 0, ms: 0 })),`,
    "    finalize: { query: (_ctx, { children }) => children.reduce((sum, n) => sum + n, 0) } })",
  ],
  /** N branches with a single action each. */
  branches: (length) => [
    '  .parallel("all", { branches: {',
    ...numbered(length, (i) => `    b${i}: (b) => b.step("s${i}", { action: async () => 1 }),`),
    "  } })",
    "  .finalize({ query: (_ctx, { all }) => Object.values(all).reduce((sum, n) => sum + n, 0) })",
  ],
  /** N branches with a single query each. */
  queryBranches: (length) => [
    '  .parallel("all", { branches: {',
    ...numbered(length, (i) => `    b${i}: (b) => b.step("s${i}", { query: () => 1 }),`),
    "  } })",
    "  .finalize({ query: (_ctx, { all }) => Object.values(all).reduce((sum, n) => sum + n, 0) })",
  ],
  /** N nodes of two such branches each. */
  pairs: (length) => [
    ...numbered(length, (i) =>
      [
        `  .parallel("p${i}", { branches: {`,
        `    a: (b) => b.step("a${i}", { query: () => 1 }),`,
        `    b: (b) => b.step("b${i}", { query: () => 0 }),`,
        "  } })",
      ].join("\n"),
    ),
    `  .finalize({ query: (_ctx, scope) => ${numbered(length, (i) => `scope.p${i}.a + scope.p${i}.b`).join(" + ")} })`,
  ],
  /** N branches with a query and then an action each. */
  mixedBranches: (length) => [
    '  .parallel("all", { branches: {',
    ...numbered(
      length,
      (i) =>
        `    b${i}: (b) => b.step("q${i}", { query: () => 1 }).step("s${i}", { action: async (_ctx, scope) => scope.q${i} }),`,
    ),
    "  } })",
    "  .finalize({ query: (_ctx, { all }) => Object.values(all).reduce((sum, n) => sum + n, 0) })",
  ],
  /** N cases with a single action each, the first of which wins. */
  cases: (length) => [
    '  .race("all", { cases: {',
    '    c1: (b) => b.step("s1", { action: async () => 1 }),',
    ...numbered(
      length - 1,
      (i) =>
        `    d${i}: (b) => b.step("t${i}", { action: async () => { await new Promise((done) => setTimeout(done, 1_000)); return 1; } }),`,
    ),
    "  } })",
    `  .finalize({ query: (_ctx, { all }) => (all.case === "c1" ? ${length} : 0) })`,
  ],
  /** N items with a single action each. */
  items: (length) => itemsOf(length, "{ each }", "each.item + 1"),
  /** … which reads a value from around it. */
  readingItems: (length) => itemsOf(length, "{ each, input }", "each.item + input.n + 1 - input.n"),
  /** … that takes some time. */
  busyFanOut: (length) => [
    `  .parent("all", { children: ({ input }) => Array.from({ length: ${length} }, () => child(busyLeaf, input)),`,
    "    finalize: { query: (_ctx, { children }) => children.reduce((sum, n) => sum + n, 0) } })",
  ],
  /** … the first of which fails, when the others are under way. */
  failingFanOut: (length) => [
    `  .parent("all", { children: ({ input }) => Array.from({ length: ${length} }, (_, n) => child(n === 0 ? failingLeaf : busyLeaf, input)) })`,
  ],
  /** N sleeps of a second. */
  sleeps: (length) => [
    ...numbered(length, (i) => `  .sleep("s${i}", 1_000)`),
    `  .finalize({ query: () => ${length} })`,
  ],
  /** N events, each of which counts one. */
  events: (length) => [
    ...numbered(length, (i) => `  .event("e${i}", { anyOf: { one: z.number() } })`),
    `  .finalize({ query: (_ctx, scope) => ${numbered(length, (i) => `scope.e${i}.value`).join(" + ")} })`,
  ],
  /** A sleep of `ms`, and then an action. */
  wakes: () => ['  .sleep("slept", ({ input }) => input.ms)', AFTERWARDS],
  /** An event, and then an action. */
  answered: () => ['  .event("asked", { anyOf: { one: z.number() } })', AFTERWARDS],
  /** An action, for the last of starts that come together. */
  collected: () => [AFTERWARDS],
} satisfies Record<string, (length: number) => string[]>;

/** An action of 200 ms, as those of the loads are. */
const AFTERWARDS =
  '  .step("after", { action: internal.steps.actFor, args: () => ({ n: 0, ms: 200 }) })';

function itemsOf(length: number, scope: string, result: string): string[] {
  return [
    `  .each("all", { of: () => Array.from({ length: ${length} }, () => 0),`,
    `    body: (b) => b.step("one", { action: async (_ctx, ${scope}) => ${result} }) })`,
    "  .finalize({ query: (_ctx, { all }) => all.reduce((sum, n) => sum + n, 0) })",
  ];
}

function numbered(length: number, line: (i: number) => string): string[] {
  return Array.from({ length }, (_, i) => line(i + 1));
}

export interface Chain {
  readonly kind: keyof typeof STEPS | keyof typeof SHAPES;
  readonly length: number;
}

/** The text of a definition file with a workflow `<kind><length>` for each chain. */
export function chainDefinitions(chains: readonly Chain[]): string {
  return [
    'import { child, defineWorkflow } from "@stepwise/workflow";',
    'import { z } from "zod";',
    'import { internal } from "./_generated/api";',
    `${HEAD("leaf")}\n  .step("act", { ${STEPS.inlineAction(FIRST)} })`,
    `${HEAD("busyLeaf")}\n  .step("act", { ${STEPS.busyAction(FIRST)} })`,
    `${HEAD("failingLeaf")}\n  .step("act", { action: internal.steps.fail, args: ({ input }) => input })`,
    ...chains.map(definition),
  ].join("\n");
}

const FIRST: Previous = { name: "input", value: "input.n" };

const HEAD = (name: string, options = "") =>
  `export const ${name} = defineWorkflow({ input: z.object({ n: z.number(), ms: z.number() })${options} })`;
const COLLECT = ', collect: { key: () => "one", quiet: "2s", atMost: "1m", keep: "last" }';

function definition({ kind, length }: Chain): string {
  const head = HEAD(`${kind}${length}`, kind === "collected" ? COLLECT : "");
  return [head, ...nodes(kind, length)].join("\n");
}

function nodes(kind: Chain["kind"], length: number): string[] {
  if (kind in SHAPES) return SHAPES[kind as keyof typeof SHAPES](length);
  const step = STEPS[kind as keyof typeof STEPS];
  return numbered(length, (i) => {
    const previous = i === 1 ? FIRST : { name: `s${i - 1}`, value: `s${i - 1}` };
    return `  .step("s${i}", { ${step(previous)} })`;
  });
}
