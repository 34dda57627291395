/** @module-tag large */
import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { compile, messagesByLine } from "./compiler.js";

/** What the examples on the page use and do not show. */
const preamble = `
declare function split(text: string): Promise<{ chapters: string[] }["chapters"]>;
declare function nextMonday(text: string): number;
const summarize = defineWorkflow({ input: z.object({ chapter: z.string() }) }).step("summary", {
  action: async (_ctx, { input }) => ({ words: input.chapter.length }),
});
const begin = defineWorkflow({ input: z.object({ email: z.string(), seats: z.number() }) });
`;

const page = await readFile(new URL("../../../../docs/language.md", import.meta.url), "utf8");
const [first = "", ...blocks] = [...page.matchAll(/```ts\n(.*?)```/gs)].map(
  ([, code = ""]) => code,
);
/**
 * The nodes, and the types that they use. Blocks that begin with a comment are whole files, which
 * the test of all docs compiles.
 */
const fragments = blocks.filter((code) => code.startsWith("."));
const types = blocks.filter((code) => code.startsWith("interface "));

test("the examples of docs/language.md are right, and there is one of each node", async () => {
  const whole = first
    .replace("@stepwise/workflow", "../../src/definition/index.js")
    .replace("./_generated/api", "./references.js");
  const chains = fragments.map((code, n) => `export const example${n} = begin\n${code};\n`);
  const printed = await compile("page", [whole, preamble, ...types, ...chains].join("\n"));
  expect([...messagesByLine(printed).entries()].filter(([line]) => line >= 0)).toEqual([]);
  const shown = new Set([...fragments.join("\n").matchAll(/^\.(\w+)\(/gm)].map(([, node]) => node));
  expect([...shown].toSorted()).toEqual([
    "branch",
    "child",
    "each",
    "event",
    "finalize",
    "loop",
    "match",
    "parallel",
    "parent",
    "race",
    "sleep",
    "step",
  ]);
});
