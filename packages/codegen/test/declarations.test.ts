import { execFile } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { rm } from "../../../scripts/folders.mjs";
import { compilers, scratchFolder } from "./type-check.js";

/* The built declarations of `@stepwise/workflow`, as an app finds them in its node_modules. */

const root = new URL("../../..", import.meta.url).pathname;
const folder = scratchFolder("declarations");
const compilerOptions = {
  strict: true,
  noUncheckedIndexedAccess: true,
  skipLibCheck: true,
  target: "es2022",
  lib: ["es2023", "dom"],
  module: "esnext",
  moduleResolution: "bundler",
  types: [],
  declaration: true,
  emitDeclarationOnly: true,
  outDir: "out",
};

/** One workflow of each kind of node, and all kinds together. */
const KINDS = `
import { type Builder, type Each, child, childNamed, defineWorkflow } from "@stepwise/workflow";
import { v } from "convex/values";
import { z } from "zod";
const input = z.object({ n: z.number() });
export const steps = defineWorkflow({ input, sensitive: ["input.n"], retry: true })
  .step("a", {
    action: async (_ctx, { input }, { signal }) => (signal.aborted ? 0 : input.n),
    compensate: { mutation: async (_ctx, { output }) => output },
    recover: () => null,
  })
  .step("b", { mutation: (_ctx, { a }) => ({ a, list: [1, "2"] }) });
export const validated = defineWorkflow({ input: v.object({ n: v.number() }) })
  .step("a", { query: (_ctx, { input }) => input.n });
export const typedSignal = defineWorkflow({ input }).step("a", {
  action: async (_ctx, _scope, { signal }) => {
    // @ts-expect-error a signal has its type, also if \`lib\` has none
    signal.isAborted();
  },
});
export const slept = defineWorkflow({ input }).sleep("nap", ({ input }) => input.n);
export const waited = defineWorkflow({ input })
  .event("one", { schema: z.string() })
  .event("two", { anyOf: { x: z.string(), y: z.number() }, timeout: "1h" });
export const parents = defineWorkflow({ input })
  .parent("listed", { children: () => [child(steps, { n: 1 })] })
  .parent("handled", {
    action: async () => 3,
    children: () => ({ a: childNamed<string>("steps", { n: 1 }) }),
    tolerate: "all",
  })
  .parent("reduced", {
    children: () => [child(steps, { n: 1 })],
    reduce: { initial: 0, step: (sum: number) => sum + 1 },
    finalize: { query: (_ctx, { children }) => children },
  });
export const branches = defineWorkflow({ input: z.object({ k: z.enum(["x", "y"]) }) })
  .branch("way", {
    on: ({ input }) => input.k,
    cases: {
      x: (b) => b.step("inside", { query: () => 1 }),
      y: (b) => b.event("waits", { schema: z.string() }),
    },
  });
export const matches = defineWorkflow({ input: z.object({ k: z.enum(["x", "y", "z"]), ok: z.boolean() }) })
  .match("way", {
    of: "input",
    by: "k",
    cases: {
      x: (b) => b.step("inside", { query: () => 1 }),
      y: (b) => b.event("waits", { schema: z.string() }),
    },
    default: (b) => b.end(({ input }) => input.ok),
  })
  .match("all", {
    of: "input",
    by: "ok",
    cases: { true: (b) => b, false: (b) => b.step("no", { query: (_ctx, { way }) => way }) },
  });
export const loops = defineWorkflow({ input }).loop("again", {
  initial: () => 0,
  body: (b) => b.step("inside", { query: (_ctx, { loop }) => loop.state + 1 }),
  until: ({ loop }) => loop.iteration > 1,
  maxIterations: 2,
});
export const typed = defineWorkflow({ input }).loop("again", {
  state: z.object({ phase: z.enum(["look", "end"]), list: z.array(z.string()) }),
  initial: ({ input }) => ({ phase: "look", list: [String(input.n)] }),
  body: (b) => b.step("inside", { query: (_ctx, { loop }) => ({ phase: "end", list: loop.state.list }) }),
  until: ({ loop }) => loop.state.phase === "end",
  maxIterations: 2,
});
export const concurrent = defineWorkflow({
  input: z.object({ list: z.array(z.string()), record: z.record(z.string(), z.number()) }),
  onEnd: { mutation: (_ctx, { input, run }) => [input.list.length, run.state] },
})
  .parallel("facts", {
    branches: {
      first: (b) => b.step("inside", { action: async (_ctx, { input }) => input.list }),
      second: (b) => b.event("told", { schema: z.string() }),
      third: (b) => b.sleep("nap", "1s"),
    },
  })
  .race("raced", {
    cases: {
      asked: (b) => b.event("answer", { schema: z.string() }),
      lapsed: (b) => b.sleep("rest", "1s").step("late", { query: (_ctx, { facts }) => facts.first }),
    },
    first: "any",
  })
  .each("listed", {
    of: ({ input }) => input.list,
    body: (b) =>
      b.step("one", { query: (_ctx, { each }) => each.item.length + each.index })
        .child("ran", steps, ({ one }) => ({ n: one })),
    tolerate: "all",
  })
  .each("keyed", {
    of: ({ input }) => input.record,
    body: (b) => b.step("two", { query: (_ctx, { each }) => each.key + each.item }),
    reduce: { initial: "", step: (text, each, key) => text + each + key },
  });
/** A function that adds a node to the body of an each. */
export const counted = <Input, Around, Events>(
  b: Builder<Input, [["input", { n: number }], ["each", Each<string[]>]], Around, Events>,
) => b.step("counted", { query: (_ctx, { each }) => each.item.length });
export const counts = defineWorkflow({ input })
  .each("all", { of: () => ["a"], body: counted });
export const children = defineWorkflow({ input })
  .child("only", steps, () => ({ n: 1 }), { recover: () => null });
export const finalized = defineWorkflow({ input })
  .step("a", { query: () => 1 })
  .finalize({ query: (_ctx, { a }) => a });
export const all = defineWorkflow({ input })
  .event("e", { schema: z.string() })
  .parent("p", { children: () => [child(steps, { n: 1 })] })
  .sleep("s", "1s")
  .finalize({ query: (_ctx, { p, e }) => ({ p, e }) });
/** A function that adds nodes, for which the builder has a type. */
export const noted = <Input, Events>(
  b: Builder<Input, [["input", { n: number }]], null, Events>,
) => b.step("noted", { query: (_ctx, { input }) => input.n });
export const outside = noted(defineWorkflow({ input }));
export const tagged = defineWorkflow({
  input,
  tags: ({ input }) => ({ n: input.n, risk: undefined as "low" | "high" | undefined }),
}).step("a", { action: async (_ctx, _scope, info) => await info.tag("risk", "low") });
export const notedTags = noted(defineWorkflow({ input, tags: ({ input }) => ({ n: input.n }) }))
  .step("after", { query: (_ctx, { noted }) => noted });
/** The same as types of the app's own, for a case and for the body of an each. */
type Own = Builder<{ n: number }, [["input", { n: number }]], null>;
type InItem = Builder<{ n: number }, [["input", { n: number }], ["each", Each<string[]>]], null>;
export const own = (b: Own) => b.step("own", { query: (_ctx, { input }) => input.n });
export const inItem = (b: InItem) => b.step("own", { query: (_ctx, { each }) => each.item });
const tags = ({ input }: { input: { n: number } }) => ({ n: input.n });
export const fitsCase = defineWorkflow({ input, tags })
  .branch("way", { on: () => "own" as const, cases: { own } });
export const fitsBranch = defineWorkflow({ input, tags }).parallel("all", { branches: { own } });
export const fitsItem = defineWorkflow({ input, tags }).each("all", { of: () => ["a"], body: inItem });
export const countsTagged = defineWorkflow({ input, tags })
  .each("all", { of: () => ["a"], body: counted });
`;

/** What a compiler says of the workflows. */
async function saidBy(version: keyof typeof compilers, options: object): Promise<string> {
  const at = join(folder, version);
  await mkdir(at, { recursive: true });
  await writeFile(join(at, "kinds.ts"), KINDS);
  const config = { compilerOptions: { ...compilerOptions, ...options }, include: ["kinds.ts"] };
  await writeFile(join(at, "tsconfig.json"), JSON.stringify(config));
  const tsc = join(root, compilers[version], "bin/tsc");
  const run = promisify(execFile)(process.execPath, [tsc, "-p", at]);
  return await run.then(
    ({ stdout }) => stdout,
    (error: { stdout: string }) => error.stdout,
  );
}

beforeAll(() => rm(folder, { recursive: true, force: true }));
afterAll(() => rm(folder, { recursive: true, force: true }));

async function expectDeclarations(version: keyof typeof compilers): Promise<void> {
  const { version: found } = JSON.parse(
    await readFile(join(root, compilers[version], "package.json"), "utf8"),
  ) as { version: string };
  expect(found.startsWith(`${version}.`)).toBe(true);
  expect(await saidBy(version, { composite: true })).toBe("");
  const declared = await readFile(join(folder, version, "out/kinds.d.ts"), "utf8");
  expect(declared).toMatch(/Receives<"e", string>/);
  expect(declared).toMatch(/\["way", string \| number\], \[never, "all.false.no"\]/);
  expect(declared).not.toMatch(/import\(".*definition/);
}

test("[S144] [S174] TypeScript 7 writes declarations of every kind of node", async () =>
  await expectDeclarations("7"));

test.each(["5.9", "6"] as const)(
  "[S144] TypeScript %s writes declarations of every kind of node",
  { tags: ["large"] },
  expectDeclarations,
);

test(
  "[S144] definitions have their types without the dom library",
  { tags: ["large"] },
  async () => {
    expect(await saidBy("7", { lib: ["es2023"] })).toBe("");
  },
);
